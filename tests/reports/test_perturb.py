"""Hashes and buckets of the bulk code against exact integers, and that buckets are even."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import client
from deniable.kernels import perturb
from deniable.kernels.hashing import bucket
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import seeded


def test_bulk_hash_is_the_polynomial() -> None:
    rng = np.random.default_rng(3)
    for g in (2, 7, 4096):
        seed = rng.integers(client.PRIME, size=(500, 4), dtype=np.uint32)
        seed[:5] = [[client.PRIME - 1] * 4, [0] * 4, [1, 0, 0, 0], [0, 0, 0, client.PRIME - 1], [5, 6, 7, 8]]
        codes = rng.integers(4096, size=500).astype(np.int16)
        codes[:5] = 4095
        exact = [
            sum(int(c) * int(x) ** k for k, c in enumerate(row)) % client.PRIME * g // client.PRIME
            for row, x in zip(seed, codes, strict=True)
        ]
        assert bucket(seed, codes, g).tolist() == exact


def test_bulk_buckets_are_even() -> None:
    """A statistical test, with a control: chi-square below its 99.99 % point, and a shared seed fails it."""
    draws = seeded(np.random.default_rng(5))
    seed = perturb.seeds(200_000, draws)
    for values_used, low, high in ((seed, 0, 30.0), (np.repeat(seed[:100], 2000, axis=0), 300.0, np.inf)):
        count = np.bincount(bucket(values_used, np.full(200_000, 3, np.int16), 8), minlength=8)
        assert low <= ((count - 25_000) ** 2 / 25_000).sum() <= high


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 65])
def test_planes_have_a_byte_for_each_eight_records(count: int) -> None:
    draws, codes = seeded(np.random.default_rng(6)), np.zeros(count, np.int16)
    assert perturb.bit_planes(codes, range(3), 1000, 60_000, draws).shape == (3, -(-count // 8))
    assert perturb.subsets(codes, 40_000, 2, 5, draws).shape == (5, -(-count // 8))


def test_codes_are_given_for_each_feature_and_for_no_other() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0)
    draws, codes = seeded(np.random.default_rng(7)), np.zeros(9, np.int16)
    assert len(randomize_codes([codes, codes], plan, draws)) == 9
    for number in (1, 3):
        with pytest.raises(ValueError, match="zip"):
            randomize_codes([codes] * number, plan, draws)


def sizes_asked(work: Callable[[perturb.Draws], object]) -> list[int]:
    """How many draws at a time some work asks for, if all of them are zero."""
    asked: list[int] = []

    def zeros(count: int) -> npt.NDArray[np.uint16]:
        asked.append(count)
        return np.zeros(count, np.uint16)

    work(zeros)
    return asked


def test_records_are_randomized_in_blocks() -> None:
    """65 536 at a time; of sets so many, a multiple of 8, that all values of all records are 4 194 304 at most."""
    codes = np.zeros(65_537, np.int16)
    assert sizes_asked(lambda draws: perturb.bit_planes(codes, range(2), 1, 2, draws)) == [65_536] * 2 + [1] * 2
    assert sizes_asked(lambda draws: perturb.subsets(codes, 1, 1, 3, draws)) == [65_536] * 2 + [1] * 2
    assert sizes_asked(lambda draws: perturb.subsets(codes[:41_937], 1, 1, 100, draws)) == [41_936] * 2 + [1] * 2
    assert sizes_asked(lambda draws: perturb.subsets(codes[:1_025], 1, 1, 4_096, draws)) == [1_024] * 2 + [1] * 2
    assert sizes_asked(lambda draws: perturb.keep_or_uniform(codes, 1, 1, draws)) == [65_537] * 2  # drawn in any case
