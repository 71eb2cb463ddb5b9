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
