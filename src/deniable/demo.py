"""The whole job on a survey made up on the spot: ask, plan, randomize, and read what can be read from the reports."""

import numpy as np
import pyarrow.compute as pc

from deniable.client import report
from deniable.plan import Plan
from deniable.reports import Reports, randomize
from deniable.schema import Choice, Flag, Schema

RESPONDENTS = 50_000
AGES = ("18-29", "30-44", "45-64", "65+")


def made_up_answers(rng: np.random.Generator) -> dict[str, np.ndarray]:
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
    print(f"\n3. {len(reports):,} respondents later, what the reports tell, give or take one standard error:\n")
    print(f"   {'':24}{'true share':>12}{'estimate':>12}{'+-':>8}")
    for name, value in [("age", age) for age in AGES] + [("cheated on taxes", True), ("hides debts", True)]:
        estimate, stderr = frequency(reports, name, value)
        truth = np.mean(answers[name] == value)
        print(f"   {name + ': ' + str(value):24}{truth:12.2%}{estimate:12.2%}{stderr:8.2%}")


def frequency(reports: Reports, name: str, value: str | bool) -> tuple[float, float]:
    """One value's unbiased frequency, (c/N - p) / (q - p), and the standard error that randomizing gives it."""
    n, protocol = len(reports), reports.plan[name]
    p, q = protocol.p, protocol.q
    share = pc.sum(pc.equal(reports.table[name], value)).as_py() / n
    t = (share - p) / (q - p)
    return t, float(np.sqrt((t * q * (1 - q) + (1 - t) * p * (1 - p)) / n) / (q - p))
