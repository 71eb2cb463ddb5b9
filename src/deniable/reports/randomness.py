"""Where bulk randomizing gets its 16-bit draws from: a function from a count to that many draws.

`secure` is the keystream of AES-256 in counter mode under a key drawn from the operating system at each call: as
unpredictable as that source, and some twenty times faster. `seeded` repeats itself, for simulations and tests.
"""

import os

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError, abbreviated
from deniable.kernels.perturb import Draws

SLACK = 15  # Bytes after the last, for which the cipher wants room: a block of 16 less one.


def secure() -> Draws:
    """Cryptographically secure draws, which nobody can predict or repeat."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    stream = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    zeros = memoryview(bytes(1 << 18))

    def draw(count: int) -> npt.NDArray[np.uint16]:
        nonlocal zeros
        size = 2 * count
        zeros = zeros if size <= len(zeros) else memoryview(bytes(size))
        keystream = np.empty(size + SLACK, np.uint8)
        stream.update_into(zeros[:size], keystream.data)
        return keystream[:size].view("<u2")

    return draw


def seeded(rng: np.random.Generator | int) -> Draws:
    """Draws that a seed repeats. Never for answers that matter."""
    rng = checked_generator(rng)

    def draw(count: int) -> npt.NDArray[np.uint16]:
        words = rng.integers(0, 1 << 64, size=(count + 3) // 4, dtype=np.uint64)
        return words.astype("<u8", copy=False).view("<u2")[:count]

    return draw


def checked_generator(rng: object, error: type[DeniableError] = DeniableError) -> np.random.Generator:
    """A numpy Generator as it is, that of a seed, or an error of the kind that the caller raises."""
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    if not isinstance(rng, np.random.Generator):
        raise error(
            f"rng must be a numpy Generator such as np.random.default_rng(1), or a seed such as 1; "
            f"found {abbreviated(rng)}"
        )
    return rng
