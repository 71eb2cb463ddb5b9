"""Where the bulk code's draws come from: a keystream under the system's key, or a seed."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.reports.randomness import secure, seeded


def test_secure_draws_are_aes_256_in_counter_mode_under_the_systems_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keystream of a known key is what the block cipher gives for counters, computed block by block."""
    asked: list[bytes] = []

    def counted(count: int) -> bytes:
        asked.append(bytes(range(len(asked), len(asked) + count)))
        return asked[-1]

    monkeypatch.setattr(os, "urandom", counted)
    drawn = secure()(1000).tobytes()
    assert [len(given) for given in asked] == [32, 16]
    key, start = asked[0], int.from_bytes(asked[1], "big")
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    blocks = [block.update((start + k).to_bytes(16, "big")) for k in range(125)]
    assert drawn == b"".join(blocks)


def test_secure_draws_are_keyed_afresh_and_run_on() -> None:
    one, two = secure(), secure()
    first, second, other = one(1000), one(1000), two(1000)
    assert first.dtype == np.uint16
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert len(one(1_000_001)) == 1_000_001  # more than its buffer


def test_secure_and_seeded_draws_look_uniform() -> None:
    """Chi-square over the high and the low byte, against 255 degrees of freedom; a biased stream is caught."""
    for draws in (secure(), seeded(np.random.default_rng(1))):
        drawn = draws(1 << 20)
        for stream in (drawn >> 8, drawn & 255):
            assert 130 < chi_square(stream) < 420
        assert chi_square(np.maximum(drawn >> 8, 1)) > 420


def chi_square(stream: npt.NDArray[Any]) -> float:
    expected = len(stream) / 256
    return float(((np.bincount(stream, minlength=256) - expected) ** 2 / expected).sum())


def test_seeded_draws_are_the_generators_words_from_their_low_end() -> None:
    words = np.random.default_rng(7).bit_generator.random_raw(5)
    expected = [int(word) >> 16 * part & 0xFFFF for word in words for part in range(4)]
    draws = seeded(7)
    for count, first in ((5, 0), (4, 8), (0, 12), (1, 12), (3, 16)):  # each call begins a word, and takes no more
        assert draws(count).tolist() == expected[first : first + count]
    assert seeded(0)(4).tolist() == seeded(np.random.default_rng(0))(4).tolist()
