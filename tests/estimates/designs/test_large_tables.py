"""What is made for many rows at once, in parts, against its simple form: row by row, with whole matrices."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.least_squares import Evidence, inverted
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Choice("c", values(4)), dn.Flag("d")])
PLAN = dn.Plan(
    SCHEMA,
    epsilon=3.0,
    arms=[["a", "b"], [["b"], ["a", "c"]], [["c"], ["a"], ["b"]], [["b"], ["d", "c"]], ["c"], ["a", "b", "c"]],
)
NAMES = ("c", "a", "b")
COLUMNS = (4, 1, 3)
LEVELS = (4, 2, 3)


def evidence() -> Evidence:
    of = dn.simulate.truth(SCHEMA, {"a": 0.2, "b": [0.6, 0.3, 0.1], "c": [0.1, 0.2, 0.3, 0.4], "d": 0.5})
    counts = dn.simulate.counts(of, PLAN, np.random.default_rng(1), n=30_000)
    return Evidence(COLUMNS, tuple(arm_kinds([counts], NAMES)))


KINDS = evidence().kinds


def simple_squares(kind: ArmKind, row: np.ndarray) -> np.ndarray:
    """E[(b z)^2 | cell] of one row by the outer product of the row with itself."""
    b = kind.by_block(row[None])[0]
    outer = np.multiply.outer(b, b)
    for k, channel in enumerate(kind._channels):
        outer = np.tensordot(outer, channel, axes=([0, len(kind.axes) - k], [0, 1]))
    return kind._by_table(outer[None])[0]


def simple_near_product(kind: ArmKind, row: np.ndarray, table: np.ndarray) -> tuple[float, float, float]:
    """Central moments of one row's closest product, by the distribution of a product over cells."""
    tensor, vectors = kind.by_block(row[None])[0], []
    while tensor.ndim > 1:
        left, sizes, right = np.linalg.svd(tensor.reshape(len(tensor), -1), full_matrices=False)
        vectors.append(left[:, 0])
        tensor = (sizes[0] * right[0]).reshape(tensor.shape[1:])
    each = [axis.cell_powers(vector[None]) for axis, vector in zip(kind.axes, [*vectors, tensor], strict=True)]
    by_cell = [reduce(np.multiply.outer, [powers[k][0] for powers in each]) for k in range(4)]
    mean, e2, e3, e4 = (float((one * kind.by_block(table[None])[0]).sum()) for one in by_cell)
    variance = e2 - mean**2
    third = e3 - 3 * mean * e2 + 2 * mean**3
    return variance, third, e4 - 4 * mean * e3 + 6 * mean**2 * e2 - 3 * mean**4 - 3 * variance**2


def by_outcome(kind: ArmKind, row: np.ndarray, table: np.ndarray) -> tuple[float, float]:
    """Third and fourth cumulant of one row where each block marks one value alone, outcome by outcome."""
    cells = [range(axis.columns if axis.m > 1 else 2) for axis in kind.axes]
    b, t = kind.by_block(row[None])[0], kind.by_block(table[None])[0]
    values, chances = [], []
    for shown in product(*cells):
        z, likely = [], []
        for axis, one, own in zip(kind.axes, shown, cells, strict=True):
            each = axis.m // axis.columns
            p = each * axis.p if axis.m > 1 else axis.p
            hit = np.array([one == cell for cell in own], float)
            if axis.m == 1:  # a flag: False is all but True
                z.append(np.array([1 - (one - p) / axis.d, (one - p) / axis.d]))
                likely.append(np.array([p, p + axis.d] if one else [1 - p, 1 - p - axis.d]))
            else:
                z.append((hit - p) / axis.d)
                likely.append(p + axis.d * hit)
        values.append((b * reduce(np.multiply.outer, z)).sum())
        chances.append((t * reduce(np.multiply.outer, likely)).sum())
    y, w = np.array(values), np.array(chances)
    assert w.sum() == pytest.approx(1)
    y = y - w @ y
    return w @ y**3, w @ y**4 - 3 * (w @ y**2) ** 2


def test_there_are_kinds_of_one_two_and_three_blocks() -> None:
    assert {len(kind.axes) for kind in KINDS} == {1, 2, 3}


@pytest.mark.parametrize("pairs", [1, 700, 1 << 21])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.blocks))
def test_moments_of_many_rows_are_those_of_each(kind: ArmKind, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.estimates.designs.arm_kinds.MOST_PAIRS", pairs)
    monkeypatch.setattr("deniable.inference.one_feature.CACHED", pairs)
    rng = np.random.default_rng(2)
    rows, table = rng.normal(size=(23, kind.cells)), rng.dirichlet(np.ones(kind.cells))
    rows[5] = 0
    found = kind.moments(rows, table)
    np.testing.assert_allclose(found.mean, rows @ table, atol=1e-12)
    squares = np.array([simple_squares(kind, row) for row in rows])
    np.testing.assert_allclose(found.squares, squares, rtol=1e-10, atol=1e-12)
    variance = squares @ table - (rows @ table) ** 2
    np.testing.assert_allclose(found.variance, variance, rtol=1e-10, atol=1e-12)
    for k, row in enumerate(rows):
        own, third, fourth = simple_near_product(kind, row, table)
        scale = variance[k] / own if own > 0 else 0.0
        expected = (third * scale**1.5, fourth * scale**2)
        if all(axis.m == 1 or axis.dependence.false[2] == 0 for axis in kind.axes):
            expected = by_outcome(kind, row, table)
        np.testing.assert_allclose((found.third[k], found.fourth[k]), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.blocks))
def test_over_the_table_is_the_transposed_matrix_of_sums(kind: ArmKind) -> None:
    sums = Evidence(COLUMNS, (kind,)).sums[0]
    rows = np.random.default_rng(3).normal(size=(5, kind.cells))
    np.testing.assert_array_equal(kind.over_table(rows, LEVELS), rows @ sums)


def test_least_squares_is_that_of_whole_matrices() -> None:
    seen = evidence()
    f = np.random.default_rng(4).dirichlet(np.ones(seen.cells))
    metric = seen.at(f)
    form, b = np.zeros((seen.cells, seen.cells)), np.zeros(seen.cells)
    for kind, sums, each in zip(seen.kinds, seen.sums, metric.scaled, strict=True):
        solved = kind.n * np.linalg.solve(kind.seconds(sums @ metric.table), sums)
        np.testing.assert_allclose(each, solved, rtol=1e-9, atol=1e-9 * np.abs(solved).max())
        form, b = form + sums.T @ solved, b + solved.T @ kind.shares
    np.testing.assert_allclose(metric.A, form, rtol=1e-9)
    np.testing.assert_allclose(metric.solution, np.linalg.solve(form, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(metric.inverse, np.linalg.inv(form), rtol=1e-8, atol=1e-18)


def test_an_inverse_by_cholesky_is_symmetric_and_needs_a_definite_matrix() -> None:
    root = np.random.default_rng(5).normal(size=(40, 40))
    matrix = root @ root.T
    found = inverted(matrix)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found @ matrix, np.eye(40), atol=1e-7)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverted(-matrix)
