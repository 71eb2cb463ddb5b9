"""Bit planes in memory: their length, where they start and how far they are apart; and hashes of many reports."""

import numpy as np
import pytest

from deniable.client import PRIME
from deniable.kernels.bitplanes import new_planes, words_for
from deniable.kernels.hashing import bucket


@pytest.mark.parametrize(("reports", "words"), [(0, 0), (1, 64), (4096, 64), (4097, 128), (8192, 128), (8193, 192)])
def test_a_plane_has_whole_steps_of_64_words(reports: int, words: int) -> None:
    assert words_for(reports) == words


@pytest.mark.parametrize("rows", [*range(1, 20), 100])
def test_planes_start_at_cache_lines_with_one_between_them(rows: int) -> None:
    """Rows of 64 words of 8 bytes and a line of 64 bytes, and one line more in all, to start at a line."""
    for _ in range(5):
        planes = new_planes(rows, 100)
        assert planes.shape == (rows, 64)
        assert planes.strides == (64 * 8 + 64, 8)
        assert planes.ctypes.data % 64 == 0
        assert not planes.any()
        assert planes.base is not None
        assert planes.base.nbytes == rows * (64 * 8 + 64) + 64


@pytest.mark.parametrize("buckets", [2, 3, 5, 4096])
def test_hashes_by_exact_integers(buckets: int) -> None:
    """Also where a sum is the prime itself, which is 0: the last two seeds, at 1 and at 2."""
    rng = np.random.default_rng(buckets)
    seeds = rng.integers(PRIME, size=(300, 4), dtype=np.uint32)
    seeds[0], seeds[-2], seeds[-1] = PRIME - 1, (PRIME - 1, 1, 0, 0), (PRIME - 2, 1, 0, 0)
    for codes in (np.zeros(300, int), np.ones(300, int), np.full(300, 2), rng.integers(4096, size=300)):
        exact = [
            sum(c * x**k for k, c in enumerate(seed)) % PRIME * buckets // PRIME
            for seed, x in zip(seeds.tolist(), codes.tolist(), strict=True)
        ]
        assert bucket(seeds, codes, buckets).tolist() == exact
