"""The plan in words and tables, for terminal and page."""

import math

from deniable.survey.plan import Plan
from deniable.text.tables import ALARM, DIM, aligned, paint


def describe(plan: Plan, *, colour: bool = False) -> str:
    """The plan as a small table that a privacy officer can read."""
    head = ("feature", "answers", "protocol", "epsilon", "true one marked", "any other marked")
    rows = []
    for feature, protocol in plan:
        answers = "true/false" if feature.levels == 2 and len(feature.columns) == 1 else f"one of {feature.levels}"
        if not protocol.protects:
            rows.append((feature.name, answers, "PUBLIC", "none", "always", "never"))
        else:
            shown = (f"{rounded_up(protocol.epsilon):.4f}", f"{protocol.q:.2%}", f"{protocol.p:.2%}")
            rows.append((feature.name, answers, protocol.name, *shown))
    lines = aligned(head, rows, numbers=(3, 4, 5), rule=True, colour=colour)
    public = plan.public
    if len(public) < len(plan.schema):
        lines += [
            "",
            f"Total epsilon {rounded_up(plan.epsilon):.4f}: one whole report changes nobody's odds of having given",
            f"any protected answers by more than {_odds(plan.epsilon)} times, whatever else is known.",
        ]
    if public:
        lines += ["", paint(f"NOT PROTECTED, shown as they are: {', '.join(public)}.", ALARM, colour=colour)]
    return "\n".join([*lines, "", paint(f"Fingerprint {plan.fingerprint}", DIM, colour=colour)])


def rounded_up(number: float, grid: int = 10_000) -> float:
    """Round up, so that no printed digit understates the loss of privacy."""
    return math.ceil(number * grid) / grid


def _odds(epsilon: float) -> str:
    return f"{rounded_up(math.exp(epsilon), 10):,.1f}" if epsilon < 20 else f"e^{rounded_up(epsilon):.4f}"
