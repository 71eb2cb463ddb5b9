"""The demo: every step of a survey on made-up answers, from the plan to the page, with the truth beside estimates."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deniable.client import report
from deniable.counts.count import count
from deniable.estimates.estimate import Estimate, estimate
from deniable.files import check_target
from deniable.page.page import check_extra, write_page
from deniable.reports.randomize import randomize
from deniable.survey.describe import describe
from deniable.survey.plan import Plan
from deniable.survey.privacy import in_one_sentence
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.tables import BOLD, Row, aligned, coloured, paint
from deniable.text.width import left

RESPONDENTS = 500_000  # The made-up survey has this many respondents.
EPSILON = 3.0  # The privacy budget of the whole report, split evenly over the six questions.
AGES = ("18-29", "30-44", "45-64", "65+")
ALCOHOL = ("never", "now and then", "every day")
ILLNESSES = ("none", "diabetes", "depression", "addiction", "HIV")
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
    plan = Plan(schema(), epsilon=EPSILON)
    answers = made_up_answers(np.random.default_rng(1978))
    print("A survey that nobody was asked: questions and answers are made up, so that the truth is known.")
    _say("1. The plan: what is asked, and how each answer is randomized before it leaves the device.")
    print(describe(plan, colour=colour))
    _say("2. On three devices: the true answers, and the bytes that leave.")
    for row in range(3):
        record = {name: column[row].item() for name, column in answers.items()}
        words = ", ".join(name if value is True else value for name, value in record.items() if value is not False)
        print(f"{left(words, 64)}  ->  {report(record, plan.to_json()).hex(' ')}")
    _say("3. What that means to a respondent.")
    print(textwrap.fill(in_one_sentence(plan), 100))
    reports = randomize(answers, plan)
    counts = count(reports, order=2)
    _say(f"4. {len(reports):,} respondents later: what the reports tell, with 95 % intervals, beside the truth.")
    rows = [
        *_beside_truth(estimate(counts, ["age", "cheated on taxes"]), answers),
        *_beside_truth(estimate(counts, ["alcohol", "hides debts"]), answers),
    ]
    head = ("share of", "among", "truth", "estimate", "from", "to")
    print(*aligned(head, rows, numbers=(2, 3, 4, 5), rule=True, colour=colour), sep="\n")
    write_page(counts, output, title=TITLE)
    _say("5. All of it on a page: every question, what goes together, and what could not be answered.")
    print(f"Open {Path(output).resolve()}")


def _say(heading: str) -> None:
    """Print the heading of a step."""
    print(f"\n{paint(heading, BOLD, colour=coloured(sys.stdout))}\n", flush=True)


def _beside_truth(est: Estimate, answers: Answers) -> Iterator[Row]:
    """Rows of conditional proportions, the truth beside the estimate: a flag given each answer to another feature."""
    given, what = est.names
    for row in est.conditional(what, given=given).to_pylist():
        if row[what]:
            truth = float(np.mean(answers[what][answers[given] == row[given]]))
            shares = (truth, row["proportion"], row["low"], row["high"])
            yield what, f"{given}: {row[given]}", *(f"{share:.1%}" for share in shares)
