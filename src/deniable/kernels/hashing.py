"""The hash of local hashing, a cubic polynomial modulo a prime, for many reports at once."""

import numpy as np
import numpy.typing as npt

from deniable.client import PRIME

Seeds = npt.NDArray[np.uint32]  # The four coefficients of each report's hash, shape (reports, 4).


def bucket(seed: Seeds, codes: npt.NDArray[np.integer], buckets: int) -> npt.NDArray[np.int16]:
    """Hash bucket of each report's code x: (c0 + c1 x + c2 x^2 + c3 x^3 modulo the prime) * buckets // prime."""
    x = codes.astype(np.uint64)
    h = seed[:, -1].astype(np.uint64)
    for c in seed.T[-2::-1]:
        h = _modulo_prime(h * x + c)
    return (h * np.uint64(buckets) // np.uint64(PRIME)).astype(np.int16)


def _modulo_prime(number: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers below 2^62 modulo the Mersenne prime 2^31 - 1, by adding the high bits to the low ones."""
    folded = (number & np.uint64(PRIME)) + (number >> np.uint64(31))  # 2^31 = 1 modulo 2^31 - 1
    return np.where(folded >= PRIME, folded - np.uint64(PRIME), folded)
