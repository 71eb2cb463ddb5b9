"""The demo: every step of a survey on made-up answers, from the plan to the page, with the truth beside estimates."""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.client import report
from deniable.counts.count import count
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.respondent_group import Group, margin
from deniable.files import check_target
from deniable.inference.one_feature import Axis
from deniable.page.page import check_extra, write_page
from deniable.reports.randomize import randomize
from deniable.reports.reports import Reports
from deniable.survey.describe import answer_in_words, describe
from deniable.survey.plan import Plan
from deniable.survey.privacy import in_one_sentence
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.tables import BOLD, Row, aligned, coloured, paint

RESPONDENTS = 20_000  # The made-up survey has this many respondents.
EPSILON = 3.0  # The privacy budget of the whole report.
AGES = ("18-29", "30-44", "45-64", "65+")
ALCOHOL = ("never", "now and then", "every day")
ILLNESSES = ("none", "diabetes", "depression", "addiction", "HIV")
# ARMS are the questions that each person may be asked, three together: each of the fifteen pairs stands in some arm.
ARMS = (
    ("age", "alcohol", "cheated on taxes"),
    ("age", "cheated on taxes", "hides debts"),
    ("age", "had an affair", "illness"),
    ("alcohol", "hides debts", "had an affair"),
    ("alcohol", "hides debts", "illness"),
    ("cheated on taxes", "had an affair", "illness"),
)
# SHOWN are the tables that are printed beside the truth: a flag given each answer to another feature.
SHOWN = (("age", "cheated on taxes"), ("alcohol", "hides debts"))
TITLE = "Things people do not say (a made-up survey)"

Answers = dict[str, npt.NDArray[np.generic]]


def schema() -> Schema:
    """The schema of the demo: six questions that few would answer openly."""
    return Schema(
        [
            Choice("age", AGES),
            Choice("alcohol", ALCOHOL),
            Flag("cheated on taxes"),
            Flag("hides debts"),
            Flag("had an affair"),
            Choice("illness", ILLNESSES),
        ]
    )


def made_up_answers(rng: np.random.Generator, n: int = RESPONDENTS) -> Answers:
    """Made-up true answers, in which age matters, debts go with drink and taxes, and some illnesses are rare."""
    age = rng.choice(4, n, p=[0.22, 0.27, 0.33, 0.18])
    alcohol = _drawn(rng, np.array([[0.15, 0.72, 0.13], [0.2, 0.65, 0.15], [0.25, 0.5, 0.25], [0.4, 0.35, 0.25]])[age])
    cheated = rng.random(n) < np.array([0.38, 0.3, 0.2, 0.06])[age]
    debts = rng.random(n) < np.array([0.08, 0.18, 0.45])[alcohol] + 0.3 * cheated
    affair = rng.random(n) < np.array([0.12, 0.22, 0.3, 0.18])[age]
    illness = _drawn(
        rng,
        np.array([[0.71, 0.1, 0.14, 0.04, 0.01], [0.66, 0.1, 0.14, 0.09, 0.01], [0.36, 0.1, 0.22, 0.31, 0.01]])[
            alcohol
        ],
    )
    return {
        "age": np.array(AGES)[age],
        "alcohol": np.array(ALCOHOL)[alcohol],
        "cheated on taxes": cheated,
        "hides debts": debts,
        "had an affair": affair,
        "illness": np.array(ILLNESSES)[illness],
    }


def _drawn(rng: np.random.Generator, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """A random code for each row of probabilities, by inverting its cumulative distribution."""
    return np.asarray((rng.random(len(shares))[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1))


def run(output: str | Path) -> None:
    """Run the demo: print every step, and write the page to `output`."""
    check_extra()
    check_target(output)
    colour = coloured(sys.stdout)
    plan = Plan(schema(), epsilon=EPSILON, arms=ARMS)
    answers = made_up_answers(np.random.default_rng(1978))
    print("A survey that nobody was asked: questions and answers are made up, so that the truth is known.")
    _say("1. The plan: who is asked what, and how the answers are randomized before they leave the device.")
    print(describe(plan, colour=colour))
    _say("2. On three devices: the questions that chance picked, the true answers to them, and the bytes that leave.")
    sent = [_sent(plan, answers, row) for row in range(3)]
    print(*aligned(("asked", "true answers", "sent"), sent, numbers=(), rule=True, colour=colour), sep="\n")
    _say("3. What that means to a respondent.")
    print(textwrap.fill(in_one_sentence(plan), 100))
    reports = randomize(answers, plan)
    counts = count(reports)
    _say(f"4. {len(reports):,} respondents later: what the reports tell, with 95 % intervals, beside the truth.")
    estimates = [estimate(counts, names) for names in SHOWN]
    rows = [row for est in estimates for row in _beside_truth(est, answers)]
    head = ("share of", "among", "truth", "estimate", "from", "to")
    print(*aligned(head, rows, numbers=(2, 3, 4, 5), rule=True, colour=colour), sep="\n")
    print("\n" + textwrap.fill(_without_a_design(estimates), 100))
    write_page(counts, output, title=TITLE)
    _say("5. A page of all results: every question, what goes together, and what could not be answered.")
    print(f"Open {Path(output).resolve()}")


def _sent(plan: Plan, answers: Answers, row: int) -> Row:
    """What one respondent's device asks, the true answers to that, and the bytes that it sends."""
    record = {name: column[row].item() for name, column in answers.items()}
    sent = report(record, plan.to_json())
    (asked,) = (part.plan.schema for part in Reports.from_bytes([sent], plan).arms if len(part))
    true = [answer_in_words(feature, record[feature.name]) for feature in asked]
    return ", ".join(asked.names), ", ".join(true), sent.hex(" ")


def _without_a_design(estimates: Sequence[Estimate]) -> str:
    """How many people it would have taken to ask everybody everything, in a sentence."""
    needed = people_needed(Plan(schema(), epsilon=EPSILON), estimates)
    return (
        f"Each of these people was asked three questions of six, together. Asking everybody all six, each apart, would "
        f"have taken about {needed:,} people for such intervals at the same epsilon."
    )


def people_needed(plan: Plan, estimates: Sequence[Estimate]) -> int:
    """How many respondents of a plan that asks everybody everything make what is shown vary as little, to two digits.

    The variances are those that both plans have at the tables that were estimated, in the mean over all that is shown;
    those of a plan that asks everybody fall as 1 / n.
    """
    here = sum(variance for est in estimates for variance in _variances(est))
    there = sum(variance for est in estimates for variance in _variances(_asked_by(plan, est)))
    return int(float(f"{estimates[0].n * there / here:.1e}"))


def _asked_by(plan: Plan, est: Estimate) -> Estimate:
    """What an estimate would be had as many respondents been asked by another plan, and the same come out."""
    axes = tuple(
        Axis.of(plan[name], centred=True).weighted(margin(est.truth, [k])[1:] / est.n)
        for k, name in enumerate(est.names)
    )
    return Estimate(est.features, (Group(est.n, axes, est.truth),), est.method, est.subject)


def _variances(est: Estimate) -> list[float]:
    """The variance of each conditional proportion that is shown."""
    return [row["stderr"] ** 2 for row in _conditional(est)]


def _say(heading: str) -> None:
    """Print the heading of a step."""
    print(f"\n{paint(heading, BOLD, colour=coloured(sys.stdout))}\n", flush=True)


def _beside_truth(est: Estimate, answers: Answers) -> Iterator[Row]:
    """Rows of conditional proportions, the truth beside the estimate."""
    given, what = est.names
    for row in _conditional(est):
        truth = float(np.mean(answers[what][answers[given] == row[given]]))
        shares = (truth, row["proportion"], row["low"], row["high"])
        yield what, f"{given}: {row[given]}", *(f"{share:.1%}" for share in shares)


def _conditional(est: Estimate) -> list[dict[str, Any]]:
    """The proportions of a flag given each answer to another feature."""
    given, what = est.names
    return [row for row in est.conditional(what, given=given).to_pylist() if row[what]]
