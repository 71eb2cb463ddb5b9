"""Tables of likelihoods against every report's own, in every form; what is too large is refused."""

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import pattern_likelihoods
from deniable.estimates.likelihood import state
from deniable.estimates.pattern_likelihoods import patterns_of
from tests.support.situations import KINDS, tiny, values
from tests.support.surveys import skewed_reports, supports


def brute_force(reports: dn.Reports) -> np.ndarray:
    """The probability of every report's evidence for every cell, a row for each report, up to a factor by row."""
    plan = reports.plan
    rows = np.ones((len(reports), 1))
    for name in plan.schema.names:
        own = plan[name].likelihood(supports(plan, reports.table, name)[:, 1:])
        rows = (rows[:, :, None] * own[:, None, :]).reshape(len(reports), -1)
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_the_reports_counted(kind: str, form: str) -> None:
    plan, _ = tiny(kind)
    reports = skewed_reports(plan, 150)
    seen = patterns_of(reports, plan.schema.names)
    assert type(seen).__name__.lower() == form
    assert seen.h.sum() == pytest.approx(1)
    rows = brute_force(reports)
    t = np.random.default_rng(1).dirichlet(np.ones(rows.shape[1]))
    there = state(seen, t)
    each = rows @ t
    gradient = (rows / each[:, None]).mean(axis=0)
    np.testing.assert_allclose(there.gradient, gradient, rtol=1e-10)
    curvature = (rows / each[:, None]).T @ (rows / each[:, None]) / len(rows)
    weights = np.divide(seen.h, there.f**2, out=np.zeros_like(there.f), where=seen.h > 0)
    np.testing.assert_allclose(seen.curvature(weights), curvature, rtol=1e-10)
    other = state(seen, np.full(len(t), 1 / len(t)))
    assert there.likelihood - other.likelihood == pytest.approx(np.mean(np.log(each) - np.log(rows.mean(axis=1))))


def test_more_flags_than_reports_are_no_tree() -> None:
    names = [f"f{k}" for k in range(17)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=17.0)
    reports = dn.randomize({name: [True, False] for name in names}, plan, rng=np.random.default_rng(1))
    assert isinstance(patterns_of(reports, names), pattern_likelihoods.Grid)


def test_too_many_cells_are_refused() -> None:
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(2000)), dn.Choice("b", values(2000))]), epsilon=10.0)
    reports = dn.randomize({"a": ["v0"], "b": ["v1"]}, plan)
    with pytest.raises(
        dn.EstimateError, match="may have 1,048,576 cells; these features have 4,000,000. Ask for fewer"
    ):
        dn.maximum_likelihood(reports, ["a", "b"])
