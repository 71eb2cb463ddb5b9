"""The plan in words and tables, for terminal and page."""

import math

from deniable.survey.plan import Plan
from deniable.survey.schema import SEPARATOR, Feature, Flag
from deniable.text.tables import ALARM, DIM, aligned, paint

# HEAD names the columns of the table of protocols; "sent if true" is the probability that an answer's evidence is sent
# by somebody who gave it, and "sent if not" by somebody who gave another one.
HEAD = ("feature", "answers", "protocol", "epsilon", "sent if true", "sent if not")


def protocol_rows(plan: Plan) -> list[tuple[str, ...]]:
    """The table of protocols below HEAD: how the answers to each feature are randomized, in words and percentages."""
    rows: list[tuple[str, ...]] = []
    for feature, protocol in plan:
        answers = "true/false" if isinstance(feature, Flag) else f"one of {feature.levels}"
        if not protocol.protects:
            rows.append((feature.name, answers, "PUBLIC, not protected", "none", "always", "never"))
        else:
            shown = (epsilon_in_words(protocol.epsilon), f"{protocol.q:.2%}", f"{protocol.p:.2%}")
            rows.append((feature.name, answers, protocol.name, *shown))
    return rows


def describe(plan: Plan, *, colour: bool = False) -> str:
    """The plan as a small table that a privacy officer can read, with its total epsilon and its fingerprint."""
    lines = aligned(HEAD, protocol_rows(plan), numbers=(3, 4, 5), rule=True, colour=colour)
    public = plan.public
    if len(public) < len(plan.schema):
        lines += [
            "",
            f"Total epsilon {epsilon_in_words(plan.epsilon)}: one whole report changes nobody's odds of having given",
            f"any protected answers by more than {_odds(plan.epsilon)} times, whatever else is known.",
        ]
    if public:
        lines += ["", paint(f"NOT PROTECTED, shown as they are: {', '.join(public)}.", ALARM, colour=colour)]
    return "\n".join([*lines, "", paint(f"Fingerprint {plan.fingerprint}", DIM, colour=colour)])


def short_name(feature: Feature) -> str:
    """The name of a feature without that of the question it belongs to: "tea" for "drinks: tea"."""
    question = feature.question if isinstance(feature, Flag) else None
    return feature.name if question is None else feature.name[len(question) + len(SEPARATOR) :]


def answer_in_words(feature: Feature, answer: str | bool) -> str:
    """An answer as people say it: yes or no for a flag."""
    if isinstance(feature, Flag):
        return "yes" if answer else "no"
    return str(answer)


def epsilon_in_words(epsilon: float) -> str:
    """Epsilon with four digits, rounded up, so that no printed digit understates the loss of privacy."""
    return f"{_rounded_up(epsilon, 10_000):.4f}"


def _odds(epsilon: float) -> str:
    """How many times odds can change, rounded up."""
    return f"{_rounded_up(math.exp(epsilon), 10):,.1f}" if epsilon < 20 else f"e^{epsilon_in_words(epsilon)}"


def _rounded_up(number: float, grid: int) -> float:
    return math.ceil(number * grid) / grid
