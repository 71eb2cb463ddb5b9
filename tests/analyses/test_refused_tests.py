"""A correlation whose test of independence is refused has a p-value that agrees with its interval."""

import numpy as np
import pytest

import deniable as dn

SCHEMA = dn.Schema([dn.Flag(name) for name in "abcd"])
OF = dn.simulate.truth(SCHEMA, {"a": 0.22, "b": 0.24, "c": 0.25, "d": 0.3})
PLANS = {
    "apart": (dn.Plan(SCHEMA, epsilon=30.0), 110),
    "arms": (dn.Plan(SCHEMA, epsilon=10.0, arms=[["a", "b"], ["c", "d"]]), 220),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_p_value_and_the_interval_of_a_correlation_come_from_one_distribution(name: str) -> None:
    plan, n = PLANS[name]
    refused = 0
    for seed in range(8):
        counts = dn.simulate.counts(OF, plan, np.random.default_rng(seed), n=n)
        for level in (0.5, 0.8, 0.95):
            for row in dn.associations(counts, level=level).to_pylist():
                if np.isnan(row["low"]):
                    continue
                pair = row["first"], row["second"]
                assert (row["low"] > 0 or row["high"] < 0) == (row["p_value"] < 1 - level)
                est = dn.estimate(counts, pair).about("population")
                assert est.correlation(*pair).confidence_interval(level) == pytest.approx((row["low"], row["high"]))
                refused += not est.independence(*pair).enough
    assert refused > 5
