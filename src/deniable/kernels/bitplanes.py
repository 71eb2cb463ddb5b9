"""Bit planes: one evidence column of many reports as bits, 64 reports to a word, in memory laid out for the kernels."""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

FEW_VALUES = 12  # Up to so many values of a column of codes are counted one by one, which is then the fastest way.
STEP = 64  # Words: the length of a plane is a multiple of this, so that kernels need no special last step.


def words_for(reports: int) -> int:
    """Number of 64-bit words in a bit plane of so many reports, a multiple of STEP."""
    return STEP * -(-reports // (64 * STEP))


def new_planes(rows: int, reports: int) -> Words:
    """New bit planes of zeros, aligned to cache lines of 64 bytes, each followed by one unused cache line.

    Without that line, planes whose length is a power of two would fall on the same sets of the cache and evict each
    other.
    """
    words = words_for(reports)
    memory = np.zeros(rows * (words + 8) + 8, np.uint64)
    start = -memory.ctypes.data // 8 % 8
    return memory[start : start + rows * (words + 8)].reshape(rows, words + 8)[:, :words]
