"""The search for the closest proper table ends where what is known leaves cells no room."""

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import quadratic

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["w", "x", "y", "z"])])
SHARES = np.array([[0.5, 0.3, 0.0, 0.0], [0.0, 0.0, 0.15, 0.05]])
MARGINS = {"a": {True: 0.2}, "b": {"w": 0.5, "x": 0.3, "y": 0.15, "z": 0.05}}


@pytest.mark.filterwarnings("ignore:.*standard errors away")
@pytest.mark.parametrize("seed", range(12))
def test_both_true_margins_of_a_table_with_empty_cells_can_be_known(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "MOST_ROUNDS", 200)
    for plan in (dn.Plan(SCHEMA, epsilon=1.0), dn.Plan(SCHEMA, epsilon=4.0)):
        for n in (300, 1_000):
            counts = dn.simulate.counts(dn.simulate.truth(SCHEMA, SHARES), plan, np.random.default_rng(seed), n=n)
            est = dn.estimate(counts, ["a", "b"]).about("population").given(MARGINS)
            proper = dn.estimate(counts, ["a", "b"], method="feasible").about("population").given(MARGINS)
            for table in (est.project("b").mean, proper.project("b").mean):
                np.testing.assert_allclose(table[1:] / n, [0.5, 0.3, 0.15, 0.05], atol=1e-8)
            assert proper.mean.min() >= 0
