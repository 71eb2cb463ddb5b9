"""Cumulants of estimates over arms against enumeration: of one report per arm, and of all assignments to arms."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.least_squares import Evidence
from deniable.inference.about_whom import Subject
from tests.support.enumerated_designs import ExactDesign, floats
from tests.support.situations import values

Law = tuple[np.ndarray, np.ndarray]  # probabilities, and a row of z for each


@pytest.fixture(autouse=True)
def _at_the_table_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.estimates.designs.least_squares.SPREAD", 0.0)


def one_block_arms() -> ExactDesign:
    """Arms of one block each: joint by GRR, by subsets and by unary encoding, and one that asks a part alone."""
    a, b = dn.Flag("a"), dn.Choice("b", values(3))
    schema = dn.Schema([a, b])
    arms = [
        dn.Plan(schema, {("a", "b"): dn.GRR(epsilon=2.0)}),
        dn.Plan(schema, {("a", "b"): dn.UnaryEncoding.optimized(2.0)}),
        dn.Plan(dn.Schema([b]), {"b": dn.SubsetSelection(epsilon=1.0, size=2)}),
        dn.Plan(dn.Schema([a]), {"a": dn.RandomizedResponse(p=0.2, q=0.7)}),
    ]
    people = ((1, 2), (1, 2), (0, 0), (1, 1), (0, 2))
    return ExactDesign(dn.Plan(schema, arms=arms, unequal=True), ("b", "a"), people, (2, 1, 1, 1)).with_best_weights()


def two_block_arms() -> ExactDesign:
    """An arm of two blocks beside a joint one."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3))])
    arms = [
        dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=1.0), "b": dn.UnaryEncoding.optimized(1.0)}),
        dn.Plan(schema, {("a", "b"): dn.GRR(epsilon=2.0)}),
    ]
    people = ((1, 2), (1, 2), (0, 0), (1, 1))
    return ExactDesign(dn.Plan(schema, arms=arms), ("b", "a"), people, (2, 2)).with_best_weights()


def group_at_truth(design: ExactDesign, times: int = 1) -> ArmsGroup:
    """The library's group, with the true table in place of the estimated one, and so many times as many people."""
    columns = tuple(len(design.plan.schema[name].columns) for name in design.names)
    truth = floats(design.truth)
    seen = Evidence(columns, tuple(arm_kinds([design.counts()], design.names)))
    kinds = tuple(kind.scaled(times * kind.n, X @ truth) for kind, X in zip(seen.kinds, seen.sums, strict=True))
    seen = replace(seen, kinds=kinds)
    seen.__dict__["best"] = seen.at(truth)
    return ArmsGroup(times * design.n, seen, tuple(range(len(design.names))), waves=False)


def laws_of(design: ExactDesign, arm: int) -> list[Law]:
    """The law of z in an arm, for each respondent."""
    laws = []
    for person in range(design.n):
        chances, rows = zip(*design.law(arm, person), strict=True)
        laws.append((floats(np.array(chances, object)), floats(np.array(rows, object))))
    return laws


def mixture(laws: Sequence[Law]) -> Law:
    """The law of somebody drawn at random."""
    return np.concatenate([chances for chances, _ in laws]) / len(laws), np.concatenate([rows for _, rows in laws])


def central(chances: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Variance, third and fourth cumulants of a discrete law."""
    apart = y - chances @ y
    v = chances @ apart**2
    return np.array([v, chances @ apart**3, chances @ apart**4 - 3 * v**2])


def rows_for(group: ArmsGroup) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=(2, length)) for length in group.truth.shape]


def cell_weights(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Weights of all cells for every combination of rows: a flag's False is all but True, so entries add up."""
    lines = []
    for combination in product(*rows):
        over = []
        for line in combination:
            over.append(np.array([line[0], line[0] + line[1]]) if len(line) == 2 else line[0] + line[1:])
        lines.append(reduce(np.multiply.outer, over).reshape(-1))
    return np.array(lines)


def test_about_the_population_cumulants_add_over_arms() -> None:
    """Exactly, with the covariance of the estimate and its estimated variance, which moves with the table."""
    design = one_block_arms()
    group = group_at_truth(design)
    rows = rows_for(group)
    stated = group.cumulants(rows, Subject.POPULATION)
    weights, truth, n = cell_weights(rows), floats(design.truth), design.n
    laws = [laws_of(design, arm) for arm in range(len(design.sizes))]
    for place, w in enumerate(weights):
        expected, with_variance, of_variance = np.zeros(3), 0.0, 0.0
        gradient = np.zeros(len(truth))
        for arm, (size, of_arm) in enumerate(zip(design.sizes, group.seen.best.weights, strict=True)):
            b, x = w @ of_arm, floats(design.sums(arm))
            chances, z = mixture(laws[arm])
            expected += central(chances, z @ b) / size ** np.array([1, 2, 3])
            gradient += (squares_given_cell(design, arm, b) - 2 * (b @ x @ truth) * (b @ x)) / size
        for arm, (size, of_arm) in enumerate(zip(design.sizes, group.seen.best.weights, strict=True)):
            chances, z = mixture(laws[arm])
            y, v = z @ (w @ of_arm), z @ (gradient @ of_arm)
            y, v = y - chances @ y, v - chances @ v
            with_variance += chances @ (y * v) / size
            of_variance += chances @ v**2 / size
        found = stated.at(place)
        assert found.mean == pytest.approx(n * w @ truth)
        np.testing.assert_allclose(
            [found.variance, found.third, found.fourth], expected * n ** np.array([2, 3, 4]), rtol=1e-9
        )
        assert found.covariance_with_variance == pytest.approx(n**3 * with_variance, rel=1e-9)
        assert found.variance_of_variance == pytest.approx(n**4 * of_variance, rel=1e-9)


def squares_given_cell(design: ExactDesign, arm: int, b: np.ndarray) -> np.ndarray:
    """E[(b z)^2 | cell of the table], by enumeration; of cells nobody is in, of somebody who would be."""
    found = []
    for codes in product(*(range(level) for level in design.levels)):
        person = [0] * len(design.plan.schema)
        for name, code in zip(design.names, codes, strict=True):
            person[design.plan.schema.index(name)] = code
        there = replace(design, people=(tuple(person),))
        ((chances, z),) = laws_of(there, arm)
        found.append(chances @ (z @ b) ** 2)
    return np.array(found)


# -- several blocks ----------------------------------------------------------------------------------------------------


def two_blocks() -> tuple[ExactDesign, ArmKind]:
    design = two_block_arms()
    kind = next(kind for kind in arm_kinds([design.counts()], design.names) if len(kind.blocks) == 2)
    return design, kind


def test_of_several_blocks_the_variance_is_exact_whatever_the_weights() -> None:
    design, kind = two_blocks()
    rows = np.random.default_rng(2).normal(size=(4, kind.cells))
    found = kind.moments(rows, floats(design.truth))
    chances, z = mixture(laws_of(design, 0))
    for place, row in enumerate(rows):
        assert found.variance[place] == pytest.approx(central(chances, z @ row)[0], rel=1e-10)
        assert found.mean[place] == pytest.approx(chances @ z @ row)
        np.testing.assert_allclose(found.squares[place], squares_given_cell(design, 0, row), rtol=1e-10)


def test_of_several_blocks_third_and_fourth_are_exact_for_weights_that_are_a_product() -> None:
    """And not for others: of these the nearest product's are taken."""
    design, kind = two_blocks()
    rng = np.random.default_rng(2)
    products = np.array([np.multiply.outer(rng.normal(size=3), rng.normal(size=2)).reshape(-1) for _ in range(4)])
    chances, z = mixture(laws_of(design, 0))
    found = kind.moments(products, floats(design.truth))
    for place, row in enumerate(products):
        expected = central(chances, z @ row)
        np.testing.assert_allclose(
            [found.variance[place], found.third[place], found.fourth[place]], expected, rtol=1e-9
        )
    others = rng.normal(size=(4, kind.cells))
    found = kind.moments(others, floats(design.truth))
    thirds = [central(chances, z @ row)[1] for row in others]
    assert not np.allclose(found.third, thirds, rtol=0.01)


def test_three_blocks_in_any_order_have_exact_variances_and_product_thirds() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c"), dn.Flag("d")])
    protocols = {
        "b": dn.GRR(epsilon=1.0),
        ("a", "d"): dn.SubsetSelection(epsilon=1.0, size=2),
        "c": dn.RandomizedResponse(epsilon=1.0),
    }
    arms = [dn.Plan(schema, protocols), dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=3.0)]
    people = ((1, 2, 0, 1), (0, 0, 1, 1), (1, 1, 1, 0))
    design = ExactDesign(dn.Plan(schema, arms=arms, unequal=True), ("d", "b", "a", "c"), people, (2, 1))
    kind = next(kind for kind in arm_kinds([design.counts()], design.names) if len(kind.blocks) == 3)
    truth, rng = floats(design.truth), np.random.default_rng(2)
    chances, z = mixture(laws_of(design, 0))
    np.testing.assert_allclose(kind.seconds(truth), (chances[:, None] * z).T @ z, rtol=1e-10, atol=1e-10)
    row = reduce(np.multiply.outer, [rng.normal(size=length) for length in design.levels]).reshape(1, -1)
    found, expected = kind.moments(row, truth), central(chances, z @ row[0])
    np.testing.assert_allclose([found.variance[0], found.third[0], found.fourth[0]], expected, rtol=1e-9)
    joint = np.multiply.outer(rng.normal(size=(2, 2)), rng.normal(size=(3, 2)))  # (d, a), (b, c)
    found = kind.moments(joint.transpose(0, 2, 1, 3).reshape(1, -1), truth)
    y = z @ joint.transpose(0, 2, 1, 3).reshape(-1)
    assert found.variance[0] == pytest.approx(central(chances, y)[0], rel=1e-10)


# -- about the respondents ---------------------------------------------------------------------------------------------


def exact_among(design: ExactDesign, times: int, group: ArmsGroup, w: np.ndarray) -> tuple[float, float]:
    """The variance and the third cumulant over all assignments of these people, each so many times, and all reports.

    Given an assignment reports are independent, so both follow from conditional cumulants (total cumulance).
    """
    laws = [laws_of(design, arm) for arm in range(len(design.sizes))]
    sizes = [times * size for size in design.sizes]
    own = np.array(  # of each arm and person: mean, variance and third cumulant of their part of the estimate
        [
            [[chances @ (z @ b), *central(chances, z @ b)[:2]] for chances, z in laws[arm] for _ in range(times)]
            for arm, b in enumerate(w @ B / size for B, size in zip(group.seen.best.weights, sizes, strict=True))
        ]
    )
    found = np.array([own[list(assigned), range(times * design.n)].sum(axis=0) for assigned in every(sizes)])
    mean, variance, third = found.T
    apart = mean - mean.mean()
    whole = third.mean() + 3 * (apart * (variance - variance.mean())).mean() + (apart**3).mean()
    return (apart**2).mean() + variance.mean(), whole


def every(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """The arm of each respondent, for every way to fill arms of these sizes."""
    found = []

    def fill(arm: int, free: tuple[int, ...], assigned: tuple[int, ...]) -> None:
        if arm == len(sizes):
            found.append(assigned)
            return
        for chosen in combinations(free, sizes[arm]):
            now = list(assigned)
            for person in chosen:
                now[person] = arm
            fill(arm + 1, tuple(one for one in free if one not in chosen), tuple(now))

    fill(0, tuple(range(sum(sizes))), (0,) * sum(sizes))
    return found


def small_noise() -> ExactDesign:
    """Two arms with little noise, so that much of the skewness is that of who falls into which arm."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    arms = [
        dn.Plan(schema, {("a", "b"): dn.GRR(epsilon=3.5)}),
        dn.Plan(schema, {("a", "b"): dn.SubsetSelection(epsilon=3.0, size=2)}),
    ]
    people = ((0, 0), (0, 0), (0, 1), (1, 1))
    return ExactDesign(dn.Plan(schema, arms=arms, unequal=True), ("a", "b"), people, (3, 1))


def test_about_the_respondents_the_third_cumulant_is_right_to_one_part_in_n() -> None:
    """As variances are, with S for S2; the population's third cumulants are off by far more."""
    design = small_noise()
    errors, of_population = [], []
    rows = [np.array([[1.0, -1.0], [0.0, 1.0]])] * 2
    for times in (1, 2, 4):
        group = group_at_truth(design, times)
        n = group.n
        stated, sampled = (group.cumulants(rows, subject) for subject in (Subject.RESPONDENTS, Subject.POPULATION))
        off = []
        for place, w in enumerate(cell_weights(rows)):
            variance, third = exact_among(design, times, group, w)
            assert stated.at(place).variance == pytest.approx(n**2 * variance, rel=1.5 / n)
            size = n**3 * variance**1.5  # of skewness, which itself falls with the root of n
            off.append([abs(one.at(place).third - n**3 * third) / size for one in (stated, sampled)])
        worst = np.max(off, axis=0)
        errors.append(n**1.5 * worst[0])
        of_population.append(n**1.5 * worst[1])
    assert max(errors) < 1
    assert errors == sorted(errors, reverse=True)
    assert min(of_population) > 10  # the control
    assert of_population == sorted(of_population)
