"""Where hardly anything is randomized, the interval of a cell about the population is nearly the exact binomial one."""

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

import deniable as dn
from deniable.inference.cumulants import Cumulants
from deniable.inference.trust import shaped

SCHEMA = dn.Schema([dn.Flag("a"), dn.Flag("b")])


def ends(plan: dn.Plan, n: int, c: int) -> tuple[float, float]:
    """The interval of both flags' being true, where c of n reports show both and all show the second."""
    est = dn.estimate(dn.Counts(plan, {("a", "b"): np.array([[n, n], [c, c]])}), ["a", "b"])
    return est.cell(a=True, b=True).confidence_interval()


@pytest.mark.parametrize("epsilon", [8.0, 12.0, 30.0])
def test_none_of_400_leaves_about_one_in_a_hundred(epsilon: float) -> None:
    """The upper end was 3.2 % because the quantile was that of Student's distribution with next to no degrees."""
    plan = dn.Plan(SCHEMA, {name: dn.RandomizedResponse(epsilon=epsilon) for name in "ab"})
    clopper_pearson = float(betaincinv(1, 400, 0.975))
    assert ends(plan, 400, 0)[1] == pytest.approx(clopper_pearson, rel=0.15)


@pytest.mark.parametrize("n", [100, 400, 2_000])
def test_intervals_of_what_is_not_randomized_hold_94_percent_of_every_share(n: int) -> None:
    plan = dn.Plan(SCHEMA, {"a": dn.Public(), "b": dn.Public()})
    found = np.arange(46)
    low, high = np.array([ends(plan, n, int(c)) for c in found]).T
    exact = betaincinv(found[5:] + 1, n - found[5:], 0.975)
    np.testing.assert_allclose(high[5:], exact, rtol=0.04)
    for share in np.linspace(0.2, 18, 200) / n:
        held = binom.pmf(found, n, share)[(low <= share) & (share <= high)].sum()
        assert held >= 0.939


def test_a_shape_with_a_smaller_variance_makes_the_variance_no_less_certain() -> None:
    """A binomial's variance estimate varies along with the estimate and by nothing besides, however rare the answer."""
    rare = Cumulants(*(np.array(0.02) for _ in range(6)))  # Poisson: all cumulants are alike
    found = shaped(Cumulants.normal(0.0, 0.0), rare)
    besides = found.variance_of_variance - found.covariance_with_variance**2 / found.variance
    assert besides == pytest.approx(0, abs=1e-12)


PLANS = {
    "arms": lambda epsilon: dn.Plan(SCHEMA, epsilon=epsilon, arms={("a", "b"): 0.6, ("a",): 0.2, ("b",): 0.2}),
    "apart": lambda epsilon: dn.Plan(SCHEMA, {name: dn.RandomizedResponse(epsilon=epsilon) for name in "ab"}),
    "block": lambda epsilon: dn.Plan(SCHEMA, epsilon=epsilon, together=[["a", "b"]]),
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("epsilon", [10.0, 30.0])
def test_empty_cells_are_known_no_worse_about_the_respondents(name: str, epsilon: float) -> None:
    """Over arms their standard error was up to 1.7 times that about the population."""
    rng, plan = np.random.default_rng(31), PLANS[name](epsilon)
    for shares in ([[0.6, 0.2], [0.2, 0.0]], [[0.5, 0.0], [0.5, 0.0]], [[0.9, 0.0], [0.0, 0.1]]):
        for n in (200, 2_000):
            of = dn.simulate.truth(SCHEMA, np.array(shares))
            est = dn.estimate(dn.simulate.counts(of, plan, rng, n=n), ["a", "b"])
            here, there = (est.about(whom) for whom in ("respondents", "population"))
            among, whole = (
                [row["stderr"] for own in (one.table(), one.conditional("a", given="b")) for row in own.to_pylist()]
                for one in (here, there)
            )
            known = np.isfinite(among) & np.isfinite(whole)
            assert known[:4].all()
            assert (np.array(among)[known] <= 1.005 * np.array(whole)[known]).all()
