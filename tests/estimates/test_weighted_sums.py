"""Weighted sums of cells: what needs the whole covariance is refused where memory cannot hold it."""

import numpy as np
import pytest

import deniable as dn
from tests.support.situations import values
from tests.support.surveys import some_counts


def test_what_memory_cannot_hold_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the whole covariance is needed on the way to one number."""
    schema = dn.Schema([dn.Choice("a", values(40)), dn.Choice("b", values(30))])
    est = dn.estimate(some_counts(dn.Plan(schema, epsilon=8.0), 2000), ["a", "b"])
    monkeypatch.setattr("deniable.estimates.interface.physical_memory", lambda: 10_000_000)
    weights = np.random.default_rng(1).random(est.mean.shape)  # no product over features
    for ask in (est.covariance, lambda: est.linear(weights), lambda: est.association("a", "b")):
        with pytest.raises(dn.EstimateError, match="the covariance of 1,271 entries needs 0.0 GB"):
            ask()


def test_any_of_all_answers_is_everybody_without_an_error() -> None:
    schema = dn.Schema([dn.Choice("age", ["a", "b", "c"]), dn.Flag("smoker", missing="none")])
    told = dn.simulate.truth(schema, {"age": [0.2, 0.3, 0.5], "smoker": [0.5, 0.3, 0.2]})
    for plan in (
        dn.Plan(schema, epsilon=3.0, together=[["age", "smoker"]]),
        dn.Plan(schema, {"age": dn.UnaryEncoding.optimized(1.0)}, epsilon=3.0),
        dn.Plan(schema, epsilon=3.0, arms=[["age"], ["age", "smoker"]]),
    ):
        counts = dn.simulate.counts(told, plan, 1, n=4_000)
        for names in (["age"], ["age", "smoker"]):
            est = dn.estimate(counts, names)
            found = est.cell(age=["a", "b", "c"])
            assert (found.value, found.stderr, *found.confidence_interval()) == (1, 0, 1, 1)
            assert found.enough
            assert 0 < est.cell(age=["a", "b"]).value < 1  # a control
            if len(names) > 1:
                assert est.cell(age=["a", "b", "c"], smoker=True) == est.cell(smoker=True)
