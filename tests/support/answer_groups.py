"""One survey in every form that an estimate can have, for questions about groups of answers."""

from collections.abc import Callable
from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

import deniable as dn

AGES = ["18-29", "30-44", "45-64", "65+"]
SMOKES = ["yes", "no", "no answer"]
SCHEMA = dn.Schema([dn.Choice("smoker", SMOKES), dn.Choice("age", AGES), dn.Flag("drinks")])
NAMES = SCHEMA.names
# Shares by smoker, age, drinks: skewed, with a rare cell, and associated.
SHARES = np.array(
    [
        [[0.050, 0.080], [0.040, 0.050], [0.020, 0.030], [0.002, 0.008]],
        [[0.080, 0.050], [0.090, 0.060], [0.120, 0.060], [0.120, 0.040]],
        [[0.020, 0.010], [0.010, 0.010], [0.020, 0.005], [0.020, 0.005]],
    ]
)
TRUTH = dn.simulate.Truth(SCHEMA, SHARES)
PLAIN = dn.Plan(
    SCHEMA,
    {
        "smoker": dn.GRR(epsilon=2.0),
        "age": dn.UnaryEncoding.optimized(2.0),
        "drinks": dn.RandomizedResponse(epsilon=1.5),
    },
)
BLOCK = dn.Plan(SCHEMA, epsilon=3.0, together=[["smoker", "age"], ["drinks"]])
ARMS = dn.Plan(SCHEMA, epsilon=3.0, arms=[["smoker", "age", "drinks"], ["smoker", "age"], ["drinks"]])


def counts(plan: dn.Plan, seed: int, n: int = 30_000) -> dn.Counts:
    """A survey of the population."""
    return dn.simulate.counts(TRUTH, plan, np.random.default_rng(seed), n=n)


def estimates(about: str) -> dict[str, Callable[[], dn.Estimate]]:
    """The estimate of all features, about a subject, in every form."""

    def plain() -> dn.Estimate:
        return dn.estimate(counts(PLAIN, 1), NAMES).about(about)

    def likelihood() -> dn.Estimate:
        reports = dn.simulate.reports(TRUTH, PLAIN, 5_000, np.random.default_rng(5))
        return dn.maximum_likelihood(reports, NAMES).about(about)

    forms = {
        "plain": plain,
        "unbiased": lambda: dn.estimate(counts(PLAIN, 1), NAMES, method="unbiased").about(about),
        "feasible": lambda: dn.estimate(counts(PLAIN, 1), NAMES, method="feasible").about(about),
        "blocks": lambda: dn.estimate(counts(BLOCK, 2), NAMES).about(about),
        "arms": lambda: dn.estimate(counts(ARMS, 3), NAMES).about(about),
        "conditioned": lambda: plain().given({"age": dict(zip(AGES, SHARES.sum(axis=(0, 2)), strict=True))}),
        "added": lambda: plain() + dn.estimate(counts(BLOCK, 2), NAMES).about(about),
        "likelihood": likelihood,
    }
    if about == "population":
        forms["waves"] = lambda: dn.estimate([counts(PLAIN, 1), counts(ARMS, 3)], NAMES)
    return forms


FORMS = {f"{form}, {about}": make for about in ("population", "respondents") for form, make in estimates(about).items()}


@cache
def made(form: str) -> dn.Estimate:
    """The estimate of one form, made once."""
    return FORMS[form]()


def cells(schema: Any = SCHEMA, names: Any = NAMES) -> list[dict[str, Any]]:
    """All cells, one by one."""
    return [dict(zip(names, answers, strict=True)) for answers in product(*(schema[name].answers for name in names))]


def sum_of(est: dn.Estimate, some: list[dict[str, Any]]) -> float:
    """The share of several cells, one by one."""
    return sum(est.cell(one).value for one in some)


def covariance_of(est: dn.Estimate, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> float:
    """The covariance of the shares of several cells, pair by pair."""
    return sum(est.covariance(one, other) for one in left for other in right) / est.n**2


def held(truth: float, intervals: np.ndarray) -> float:
    """The share of intervals that hold the truth; all must be there."""
    assert np.isfinite(intervals).all()
    return float(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean())


def far_from_95(share: float, times: int) -> float:
    """How many Monte Carlo standard errors a share of intervals is from 95 %."""
    return (share - 0.95) / sqrt(0.95 * 0.05 / times)
