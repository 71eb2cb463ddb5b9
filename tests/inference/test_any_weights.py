"""Cumulants of sums with any weights: against enumeration, and where weights are a product against the product form."""

from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.respondent_group import Group
from deniable.inference import any_weights
from deniable.inference.about_whom import Subject
from deniable.inference.tensors import flat
from tests.inference.test_cumulants import central, outcomes
from tests.support.situations import KINDS, METHODS, tiny, values
from tests.support.surveys import some_axes

PARTS = ("mean", "variance", "third", "covariance_with_variance", "variance_of_variance")


def shares_of(plan: dn.Plan) -> np.ndarray:
    levels = [feature.levels for feature in plan.schema.features]
    return np.random.default_rng(2).dirichlet(np.ones(np.prod(levels))).reshape(levels)


def group_of(plan: dn.Plan, method: str = "consistent") -> Group:
    """The estimate of 500 respondents; what it says is not looked at."""
    axes = tuple(some_axes(plan, method))
    return Group(500, axes, np.zeros([1 + axis.m for axis in axes]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_moments_of_any_weights_are_those_of_enumeration(kind: str, method: str) -> None:
    plan, _ = tiny(kind)
    group, shares = group_of(plan, method), shares_of(plan)
    weights = np.random.default_rng(3).normal(size=(2, group.truth.size))
    every = [outcomes(plan, person, method) for person in product(*map(range, shares.shape))]
    among, of = (group.sums_at(weights, shares, subject) for subject in (Subject.RESPONDENTS, Subject.POPULATION))
    for place, row in enumerate(weights):
        laws = [
            (np.array([chance for chance, _ in one]), np.array([row @ z.reshape(-1) for _, z in one])) for one in every
        ]
        cells = group.n * shares.reshape(-1)
        expected = cells @ np.array([central(*law)[:2] for law in laws])
        np.testing.assert_allclose([among.variance[place], among.third[place]], expected, rtol=1e-7)
        whole = np.concatenate([share * law[0] for share, law in zip(shares.reshape(-1), laws, strict=True)])
        expected = group.n * np.array(central(whole, np.concatenate([law[1] for law in laws]))[:2])
        np.testing.assert_allclose([of.variance[place], of.third[place]], expected, rtol=1e-7)


@pytest.mark.parametrize("subject", Subject)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_a_product_have_the_cumulants_of_the_product_form(kind: str, subject: Subject) -> None:
    plan, _ = tiny(kind)
    group, shares = group_of(plan), shares_of(plan)
    rng = np.random.default_rng(4)
    rows = [rng.normal(size=(2, length)) for length in group.truth.shape]
    truth = (group.of_cells @ (group.n * shares.reshape(-1))).reshape(group.truth.shape)
    stated = Group(group.n, group.axes, truth).cumulants(rows, subject)
    found = group.sums_at(flat(rows), shares, subject)
    for part in PARTS:
        expected = getattr(stated, part).reshape(-1)
        np.testing.assert_allclose(getattr(found, part), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_longer_features_after_shorter_ones_and_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", values(2)), dn.Choice("c", values(4))]), epsilon=4.0)
    group, shares = group_of(plan), shares_of(plan)
    rows = [np.random.default_rng(1).normal(size=(1, length)) for length in group.truth.shape]
    table = (group.of_cells @ (group.n * shares.reshape(-1))).reshape(group.truth.shape)
    stated = Group(group.n, group.axes, table).cumulants(rows, Subject.POPULATION)
    found = group.sums_at(flat(rows), shares, Subject.POPULATION)
    assert found.third[0] == pytest.approx(stated.third.item())
    monkeypatch.setattr(any_weights, "MOST_TERMS", 10)
    normal = group.sums_at(flat(rows), shares, Subject.POPULATION)
    assert (normal.third[0], normal.variance[0]) == (0, found.variance[0])
