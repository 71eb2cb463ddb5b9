"""The whole job on a survey made up on the spot: ask, plan, randomize, count, and read what the reports tell."""

import numpy as np
import numpy.typing as npt

from deniable.client import report
from deniable.counting import count
from deniable.estimates import Estimate, estimate
from deniable.plan import Plan
from deniable.reports import randomize
from deniable.schema import Choice, Flag, Schema

RESPONDENTS = 50_000
AGES = ("18-29", "30-44", "45-64", "65+")

Answers = dict[str, npt.NDArray[np.generic]]


def made_up_answers(rng: np.random.Generator) -> Answers:
    """Answers to three sensitive questions in which age matters."""
    age = rng.choice(4, RESPONDENTS, p=[0.22, 0.27, 0.33, 0.18])
    cheated = rng.random(RESPONDENTS) < np.array([0.24, 0.18, 0.11, 0.05])[age]
    debts = rng.random(RESPONDENTS) < np.array([0.35, 0.30, 0.20, 0.10])[age]
    return {"age": np.array(AGES)[age], "cheated on taxes": cheated, "hides debts": debts}


def run() -> None:
    """Print the run."""
    plan = Plan(Schema([Choice("age", AGES), Flag("cheated on taxes"), Flag("hides debts")]), epsilon=3.0)
    print("1. The plan: what is asked, and how each answer is randomized before it leaves the device.\n")
    print(plan)

    answers = made_up_answers(np.random.default_rng(1978))
    print("\n2. On three devices: the true answers, and the bytes that leave.\n")
    for row in range(3):
        record = {name: column[row].item() for name, column in answers.items()}
        print(f"   {record}  ->  {report(record, plan.to_json()).hex(' ')}")

    reports = randomize(answers, plan)
    counts = count(reports, order=2)
    print(f"\n3. {len(reports):,} respondents later, what the reports tell, with 95 % intervals:\n")
    print(f"   {'':36}{'true share':>12}{'estimate':>12}{'from':>9}{'to':>9}")
    for name in ("cheated on taxes", "hides debts"):
        show(estimate(counts, [name, "age"]), answers)


def show(est: Estimate, answers: Answers) -> None:
    """Print the cells of a flag by age in which the flag is true, and their sum."""
    flag, choice = est.names
    for age in (None, *AGES):
        cell: dict[str, str | bool] = {flag: True} | ({} if age is None else {choice: age})
        truth = np.mean(np.logical_and.reduce([answers[name] == value for name, value in cell.items()]))
        answer = est.cell(cell)
        words = flag if age is None else f"{flag}, {age}"
        low, high = answer.confidence_interval()
        print(f"   {words:36}{truth:12.2%}{answer.value:12.2%}{low:9.2%}{high:9.2%}")
