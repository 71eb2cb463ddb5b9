"""Error rates by simulation: Holm's over several contrasts, and logistic regression on a table of real answers."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import far_from_95, held

# How many surveys are made: of contrasts a fraction of them, whose p-values take longer.
SURVEYS = int(os.environ.get("DENIABLE_SURVEYS", "600"))
FRACTION = 12
TABLE = Path(os.environ.get("DENIABLE_DATA", "")) / "nltcs.csv"


@pytest.mark.slow
def test_holm_keeps_the_chance_of_any_false_finding() -> None:
    """Nothing differs between the groups, of unequal sizes. P-values by themselves, the control, find too much."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["a", "b", "c", "d"])])
    plan = dn.Plan(schema, epsilon=4.0, together=[["smoker", "age"]])
    truth = dn.simulate.truth(schema, {"smoker": 0.25, "age": [0.4, 0.3, 0.2, 0.1]})
    rng, surveys = np.random.default_rng(11), SURVEYS // FRACTION
    found = {"p_value": 0, "p_holm": 0}
    for _ in range(surveys):
        est = dn.estimate(dn.simulate.counts(truth, plan, rng, n=4_000), ["smoker", "age"])
        table = est.contrasts("smoker", by="age")
        for column in found:
            found[column] += min(table[column].to_pylist()) < 0.05
    error = np.sqrt(0.05 * 0.95 / surveys)
    assert found["p_holm"] / surveys < 0.05 + 3 * error, found
    assert found["p_value"] / surveys > 0.05 + 3 * error, found


def plain_fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Maximum likelihood on the true records, by Newton's method."""
    b = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ b)))
        b = b + np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (y - p))
    return b


@pytest.mark.slow
@pytest.mark.skipif(not TABLE.is_file(), reason="DENIABLE_DATA does not name a folder with nltcs.csv")
def test_logistic_regression_of_real_answers_agrees_with_the_plain_fit() -> None:
    """Four of the disabilities of a survey of the elderly; the control leaves out what randomizing adds."""
    with TABLE.open(encoding="utf-8") as file:
        records = np.array([[int(cell) for cell in row[:4]] for row in list(csv.reader(file))[1:]])
    b = plain_fit(np.column_stack([np.ones(len(records)), records[:, 1:]]), records[:, 0].astype(float))
    names = ["q0", "q1", "q2", "q3"]
    schema = dn.Schema([dn.Flag(name) for name in names])
    cells = np.zeros((2, 2, 2, 2))
    np.add.at(cells, tuple(records.T), 1 / len(records))
    shown = dn.Plan(schema, dict.fromkeys(names, dn.Public()))
    everybody = dn.randomize({name: records[:, k] == 1 for k, name in enumerate(names)}, shown)
    found = dn.regress(everybody, "q0", on=names[1:], kind="logistic")
    np.testing.assert_allclose(found.coefficients, b, atol=1e-6)
    plan = dn.Plan(schema, epsilon=4.0, together=[names])
    rng, ends, naive = np.random.default_rng(12), [], []
    for _ in range(SURVEYS):
        counts = dn.simulate.counts(dn.simulate.Truth(schema, cells), plan, rng, n=len(records))
        one = dn.regress(counts, "q0", on=names[1:], kind="logistic")
        low, high = one.confidence_interval()
        ends.append(np.array([low, high]).T)
        naive.append(np.array([one.coefficients - 1.96 * found.stderr, one.coefficients + 1.96 * found.stderr]).T)
    for k, true in enumerate(b):
        assert abs(far_from_95(held(true, np.array(ends)[:, k]), SURVEYS)) < 3.3, (k, held(true, np.array(ends)[:, k]))
        assert far_from_95(held(true, np.array(naive)[:, k]), SURVEYS) < -3.3
