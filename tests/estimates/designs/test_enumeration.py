"""Estimates over arms against enumeration in fractions: every assignment to arms, and every report."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.least_squares import Evidence, Metric
from deniable.inference.about_whom import Subject
from tests.support.enumerated_designs import ExactDesign, floats, fractions, mean_of, seconds_of
from tests.support.situations import values


def three_arms() -> ExactDesign:
    """One joint block by GRR; two blocks; one joint block by subset selection of 2."""
    schema = dn.Schema([dn.Flag("flag"), dn.Choice("choice", values(3))])
    arms = [
        dn.Plan(schema, {("flag", "choice"): dn.GRR(epsilon=1.0)}),
        dn.Plan(schema, {"flag": dn.RandomizedResponse(epsilon=0.5), "choice": dn.GRR(epsilon=0.5)}),
        dn.Plan(schema, {("flag", "choice"): dn.SubsetSelection(epsilon=1.0, size=2)}),
    ]
    people = ((1, 2), (1, 2), (0, 0), (0, 1))
    return ExactDesign(dn.Plan(schema, arms=arms), ("flag", "choice"), people, (2, 1, 1)).with_best_weights()


def mixed_arms() -> ExactDesign:
    """Unequal epsilons, a hashed block, a public column in every arm, and arms that ask a part of the table.

    The table has its features in another order than the schema, and one arm asks one of them in a block with a question
    that is not in the table.
    """
    a, b = dn.Flag("a"), dn.Choice("b", values(3))
    c, town = dn.Flag("c"), dn.Choice("town", ["here", "there"])
    shown = {"town": dn.Public()}
    arms = [
        dn.Plan(dn.Schema([a, b, town]), {("a", "b"): dn.LocalHashing(epsilon=2.0, buckets=3), **shown}),
        dn.Plan(
            dn.Schema([a, b, town]),
            {"a": dn.RandomizedResponse(p=0.25, q=0.5), "b": dn.UnaryEncoding.optimized(1.5), **shown},
        ),
        dn.Plan(dn.Schema([b, town]), {"b": dn.GRR(epsilon=0.5), **shown}),
        dn.Plan(dn.Schema([a, c, town]), {("a", "c"): dn.SubsetSelection(epsilon=1.0, size=2), **shown}),
    ]
    plan = dn.Plan(dn.Schema([a, b, c, town]), arms=arms, unequal=True)
    people = ((1, 2, 0, 1), (1, 2, 1, 1), (0, 0, 1, 0), (0, 1, 0, 0), (1, 0, 0, 0))
    return ExactDesign(plan, ("b", "town", "a"), people, (2, 1, 1, 1)).with_best_weights()


DESIGNS = {"three arms": three_arms(), "mixed arms": mixed_arms()}
every_design = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())


def sampling(design: ExactDesign) -> np.ndarray:
    """F - f f', the covariance of which cell one of these people is in."""
    f = design.truth
    return np.diag(f) - np.outer(f, f)


@every_design
def test_every_entry_of_the_covariance_of_arms_is_the_stated_one(design: ExactDesign) -> None:
    """(S2 + Noise_a) / n_a - S2 / N on the diagonal and -S2 / N off it; without -S2 / N no block of entries agrees."""
    means, covariances = design.enumerated()
    s2 = Fraction(design.n, design.n - 1) * sampling(design)
    for a, mean in enumerate(means):
        assert (mean == design.sums(a) @ design.truth).all()
    for (a, b), found in covariances.items():
        x, y = design.sums(a), design.sums(b)
        both = x @ s2 @ y.T
        own = (both + design.noise(a)) / design.sizes[a] if a == b else 0 * both
        assert (found == own - both / design.n).all()
        assert (found != own).any()  # the control


def test_the_enumeration_is_of_as_many_entries_as_arms_and_cells_have() -> None:
    _, covariances = three_arms().enumerated()
    assert sum(found.size for found in covariances.values()) == 324


# -- the library -------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _at_the_table_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics are evaluated at the true table, without the respondents that are spread over all cells."""
    monkeypatch.setattr("deniable.estimates.designs.least_squares.SPREAD", 0.0)


def kinds_of(design: ExactDesign) -> list[ArmKind]:
    kinds = arm_kinds([design.counts()], design.names)
    assert [kind.n for kind in kinds] == list(design.sizes)  # no two arms are alike
    return kinds


def evidence_of(design: ExactDesign) -> Evidence:
    columns = tuple(len(design.plan.schema[name].columns) for name in design.names)
    return Evidence(columns, tuple(kinds_of(design)))


def at_truth(design: ExactDesign) -> tuple[Evidence, Metric]:
    seen = evidence_of(design)
    seen.__dict__["best"] = seen.at(floats(design.truth))
    return seen, seen.best


@every_design
def test_second_moments_of_one_report_are_those_of_enumeration(design: ExactDesign) -> None:
    for arm, kind in enumerate(kinds_of(design)):
        law = design.mixture(arm)
        table = design.sums(arm) @ design.truth
        np.testing.assert_allclose(kind.seconds(floats(table)), floats(seconds_of(law)), rtol=1e-11, atol=1e-11)
        assert (mean_of(law) == table).all()


@every_design
def test_what_an_arm_says_is_the_mean_of_its_reports(design: ExactDesign) -> None:
    """Every report of one respondent, counted alone, gives the z of enumeration."""
    for arm, kind in enumerate(kinds_of(design)):
        possible = {tuple(np.round(floats(z), 9)) for person in range(design.n) for _, z in design.law(arm, person)}
        if kind.n == 1:
            assert tuple(np.round(kind.shares, 9)) in possible
        else:
            sums = {tuple(np.round(np.add(z, y) / 2, 8)) for z in possible for y in possible}
            assert tuple(np.round(kind.shares, 8)) in sums


@every_design
def test_the_weights_are_unbiased(design: ExactDesign) -> None:
    seen, best = at_truth(design)
    whole = sum(B @ X for B, X in zip(best.weights, seen.sums, strict=True))
    np.testing.assert_allclose(whole, np.eye(seen.cells), atol=1e-11)
    for arm, sums in enumerate(seen.sums):
        assert (fractions(sums) == design.sums(arm)).all()


def combined(weights: tuple[np.ndarray, ...], covariances: dict) -> np.ndarray:
    """The covariance of sum_a B_a y_a, in fractions, with the weights of the library as they are."""
    exact = [fractions(B) for B in weights]
    return sum(exact[a] @ found @ exact[b].T for (a, b), found in covariances.items())


def with_s_for_s2(design: ExactDesign, covariances: dict) -> dict:
    """The enumerated covariances with S = F - f f' in place of S2 = N / (N - 1) S, in both places."""
    s = sampling(design)
    apart = Fraction(design.n, design.n - 1) * s - s
    replaced = {}
    for (a, b), found in covariances.items():
        times = (Fraction(1, design.sizes[a]) if a == b else 0) - Fraction(1, design.n)
        replaced[a, b] = found - times * (design.sums(a) @ apart @ design.sums(b).T)
    return replaced


@every_design
def test_the_covariance_about_the_respondents_is_that_of_enumeration(design: ExactDesign) -> None:
    seen, best = at_truth(design)
    group = ArmsGroup(design.n, seen, tuple(range(len(design.names))), waves=False)
    _, covariances = design.enumerated()
    expected = floats(combined(best.weights, with_s_for_s2(design, covariances))) * design.n**2
    stated = group._matrices[Subject.RESPONDENTS]
    np.testing.assert_allclose(stated, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    with_s2 = floats(combined(best.weights, covariances)) * design.n**2
    difference = np.abs(stated - with_s2).max()
    assert 1e-6 < difference < np.abs(floats(sampling(design))).max() * design.n**2 / (design.n - 1)


@every_design
def test_the_covariance_about_the_population_is_that_of_enumeration(design: ExactDesign) -> None:
    """Each arm's respondents are drawn from these people, with replacement: arms are independent."""
    seen, best = at_truth(design)
    group = ArmsGroup(design.n, seen, tuple(range(len(design.names))), waves=False)
    covariances = {}
    for arm, size in enumerate(design.sizes):
        law = design.mixture(arm)
        mean = mean_of(law)
        covariances[arm, arm] = (seconds_of(law) - np.outer(mean, mean)) / size
    expected = floats(combined(best.weights, covariances)) * design.n**2
    stated = group._matrices[Subject.POPULATION]
    np.testing.assert_allclose(stated, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    of_weights = design.n**2 * seen.covariance(best.weights, floats(design.truth))
    np.testing.assert_allclose(of_weights, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@every_design
def test_no_other_unbiased_weights_have_less_variance(design: ExactDesign) -> None:
    """Weights that are moved along any direction that keeps them unbiased have more variance about the population."""
    seen, best = at_truth(design)
    rng, truth = np.random.default_rng(3), floats(design.truth)
    least = np.trace(seen.covariance(best.weights, truth))
    for _ in range(5):
        moved = [rng.normal(size=B.shape) for B in best.weights]
        off = sum(D @ X for D, X in zip(moved, seen.sums, strict=True))
        moved = [D - off @ B for D, B in zip(moved, best.weights, strict=True)]
        for step in (1e-2, -1e-2):
            other = [B + step * D for B, D in zip(best.weights, moved, strict=True)]
            np.testing.assert_allclose(
                sum(B @ X for B, X in zip(other, seen.sums, strict=True)), np.eye(seen.cells), atol=1e-9
            )
            assert np.trace(seen.covariance(other, truth)) > least


def test_a_public_column_is_known_about_the_respondents() -> None:
    """Its margin is counted, so that it is what was counted, and has no error about them."""
    design = mixed_arms()
    seen, _ = at_truth(design)
    group = ArmsGroup(design.n, seen, (0, 1, 2), waves=False)
    np.testing.assert_allclose(group.truth[0, :, 0], [5, 3, 2], rtol=1e-10)
    np.testing.assert_allclose(group.variances(Subject.RESPONDENTS)[0, :, 0], 0, atol=1e-9)
    assert group.variances(Subject.POPULATION)[0, 1, 0] == pytest.approx(5 * 0.6 * 0.4)
