"""Bit planes: one evidence column of many reports, 64 of them to a word; and which tools work on them."""

import os
import sys
from types import ModuleType

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

STEP = 64  # words: planes are a multiple of this long, as the kernels need it
WORTH = 2.0  # seconds of numpy from which on compiled kernels pay: loading takes half of one, compiling once some more


def words_for(reports: int) -> int:
    """Words of a plane of so many reports."""
    return STEP * -(-reports // (64 * STEP))


def new_planes(rows: int, reports: int) -> Words:
    """Planes of zeros, each 64-byte aligned, and one cache line longer than it need be.

    Columns a power of two apart would fall on the same places of the cache and push each other out.
    """
    words = words_for(reports)
    memory = np.zeros(rows * (words + 8) + 8, np.uint64)
    start = -memory.ctypes.data // 8 % 8
    return memory[start : start + rows * (words + 8)].reshape(rows, words + 8)[:, :words]


def physical_memory() -> int:
    """Bytes of memory this machine has, or 8 GB where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def tools_for(seconds: float) -> ModuleType:
    """The compiled `kernels` for work that would take numpy so many seconds, else their plain `twins`.

    Once they are loaded they pay for much less.
    """
    if seconds < (WORTH if "deniable.kernels.compiled" not in sys.modules else WORTH / 100):
        from deniable.kernels import plain

        return plain
    from deniable.kernels import compiled

    return compiled
