"""Every kernel against its plain twin, and every twin against brute force."""

import os
import subprocess
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from deniable.client import PRIME
from deniable.kernels import compiled, plain
from tests.support.kernel_twins import COMPARISONS, SIZES, check, finished, planes

every_kernel = pytest.mark.parametrize("name", COMPARISONS)


@every_kernel
@pytest.mark.parametrize(("reports", "columns"), SIZES)
def test_kernel_and_twin_agree(name: str, reports: int, columns: int) -> None:
    check(name, reports, columns, 0.3)


@every_kernel
@pytest.mark.parametrize("density", [0.0, 1.0])
def test_kernel_and_twin_agree_without_and_with_all_evidence(name: str, density: float) -> None:
    check(name, 130, 13, density)


@pytest.mark.slow
def test_the_other_innermost_step_agrees_too() -> None:
    """A processor without vector popcounts takes the carry-save adders (and one with them may stand in for it)."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    without = ",".join(("-" if "avx512" in name or not on else "+") + name for name, on in features.items())
    kept = Path(compiled.__file__).parent / "__pycache__/generic"  # compiling takes much longer than the checks do
    code = (
        "from tests.support import kernel_twins as t; from deniable.kernels import compiled as k;"
        "t.check_everything(); print(k.ROWS, k.LEVELS)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": without, "NUMBA_CACHE_DIR": str(kept)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == (["4", "0"] if "+neon" in without else ["1", "4"])


# -- plain kernels against brute force ---------------------------------------------------------------------------------


def matrix(bits: np.ndarray, reports: int) -> np.ndarray:
    """Planes as a matrix of integers, a row for each report."""
    return np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :reports].T.astype(np.int64)


@pytest.fixture
def evidence() -> tuple[np.ndarray, np.ndarray]:
    bits = planes(777, 7, 0.4, np.random.default_rng(4))
    return bits, matrix(np.ascontiguousarray(bits), 777)


def test_pairs_by_brute_force(evidence: tuple[np.ndarray, np.ndarray]) -> None:
    bits, x = evidence
    out = np.zeros((7, 7), np.int64)
    plain.pairs(bits, out)
    np.testing.assert_array_equal(out, np.triu(x.T @ x))


def test_triples_by_brute_force(evidence: tuple[np.ndarray, np.ndarray]) -> None:
    bits, x = evidence
    out = np.zeros((7, 7, 7), np.int64)
    plain.triples(bits, out)
    np.testing.assert_array_equal(out, finished("triples", np.einsum("ni,nj,nk->ijk", x, x, x)))


def test_table_by_brute_force(evidence: tuple[np.ndarray, np.ndarray]) -> None:
    bits, x = evidence
    out = np.zeros((2, 12), np.int64)
    plain.table(bits, np.array([1, 2, 5]), np.array([1, 3, 2]), 1, out)
    one = np.ones((777, 1), np.int64)
    axes = [np.hstack([one, x[:, columns]]) for columns in ([1], [2, 3, 4], [5, 6])]
    np.testing.assert_array_equal(out.reshape(2, 4, 3), np.einsum("ni,nj,nk->ijk", *axes))


def test_histogram_by_brute_force(evidence: tuple[np.ndarray, np.ndarray]) -> None:
    bits, x = evidence
    codes = np.arange(777, dtype=np.int32) % 3
    out = np.zeros(3 * 4, np.int64)
    plain.histogram(np.array([bits[1].ctypes.data, bits[2].ctypes.data]), 777, codes, out)
    expected = np.zeros(12, np.int64)
    for row, code in zip(x, codes, strict=True):
        expected[row[1] + 2 * row[2] + 4 * code] += 1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("columns", [1, 4, 12, 13])
def test_values_by_brute_force(columns: int) -> None:
    codes, out = COMPARISONS["values"][1](999, columns, 0, np.random.default_rng(1))
    plain.values(codes, out)
    assert out.tolist() == [codes.tolist().count(value) for value in range(columns)]


def test_hashed_by_brute_force() -> None:
    seeds, shown, buckets, out = COMPARISONS["hashed"][1](200, 11, 0, np.random.default_rng(1))
    plain.hashed(seeds, shown, buckets, out)
    exact = [
        [sum(int(c) * v**k for k, c in enumerate(seed)) % PRIME * 5 // PRIME == int(y) for v in range(11)]
        for seed, y in zip(seeds, shown, strict=True)
    ]
    np.testing.assert_array_equal(matrix(np.ascontiguousarray(out), 200), exact)


def test_mix_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    matrices, tensor = rng.normal(size=(6, 2, 2)), rng.normal(size=64)
    expected = reduce(np.kron, matrices) @ tensor
    plain.mix(matrices, tensor)
    np.testing.assert_allclose(tensor, expected)


def test_a_step_multiplies_shares_by_the_gradient() -> None:
    t, gradient = np.random.default_rng(1).random((2, 50))
    grown, shares = plain.grow(-np.sqrt(t), gradient)
    np.testing.assert_allclose(shares, t * gradient)
    np.testing.assert_allclose(grown, -np.sqrt(t * gradient))


def test_bends_by_brute_force() -> None:
    root, once, twice = np.random.default_rng(1).normal(size=(3, 20))
    step, bend = once - root, twice - 2 * once + root
    np.testing.assert_allclose(plain.bends(root, once, twice), (step @ step, step @ bend, bend @ bend))


def test_a_leap_goes_along_the_parabola_through_three_points() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3, 50))
    for length in (0.0, 1.0, 2.0, 17.5):
        expected = points[0] + 2 * length * (points[1] - points[0])
        expected += length**2 * (points[2] - 2 * points[1] + points[0])
        if length in (0.0, 1.0):
            np.testing.assert_allclose(expected, points[int(2 * length)])
        leapt, shares = plain.leap(*points, length, 0.0)
        np.testing.assert_allclose(leapt, np.abs(expected) / np.linalg.norm(expected))
        np.testing.assert_allclose(shares, leapt**2)
        assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("factor", [0.1, 0.9, 0.999])
def test_a_leap_can_end_where_steps_that_shrink_by_a_factor_would(factor: float) -> None:
    goal, way = np.random.default_rng(1).random((2, 50))
    goal /= np.linalg.norm(goal)
    steps = [goal + factor**k * way for k in range(3)]
    leapt, _ = plain.leap(*steps, 1 / (1 - factor), 0.0)
    np.testing.assert_allclose(leapt, goal, rtol=1e-6)


def test_a_leap_keeps_all_roots_above_the_least() -> None:
    leapt, shares = plain.leap(np.array([1.0, 0.5]), np.array([1.0, 0.25]), np.array([1.0, 0.125]), 2.0, 1e-3)
    np.testing.assert_allclose(leapt, np.array([1, 1e-3]) / np.sqrt(1 + 1e-6))
    assert shares.sum() == pytest.approx(1)


def test_a_tensor_that_does_not_fit_is_not_mixed() -> None:
    matrices = np.random.default_rng(1).random((8, 2, 2))
    for wrong in (np.ones(255), np.ones(512), np.ones(512)[::2], np.ones(256, np.float32)):
        with pytest.raises(ValueError, match="one after the other"):
            compiled.mix(matrices, wrong)
        assert (wrong == 1).all()
    with pytest.raises(ValueError, match="one after the other"):
        plain.mix(matrices, np.ones(512))
    with pytest.raises(ValueError, match="2 x 2"):
        compiled.mix(matrices[:, :, :1], np.ones(256))


@pytest.mark.parametrize("tools", [compiled, plain])
def test_matrices_may_be_in_any_order_in_memory(tools: ModuleType) -> None:
    rng = np.random.default_rng(1)
    matrices, tensor = rng.random((8, 2, 2)), rng.random(256)
    mixed = tensor.copy()
    tools.mix(np.asfortranarray(matrices), mixed)
    np.testing.assert_allclose(mixed, reduce(np.kron, matrices) @ tensor)
