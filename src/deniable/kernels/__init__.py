"""Bare loops over arrays, plain in numpy and compiled by numba; which of the two to use, and the memory there is.

`tools_for` gives `plain` or `compiled`, modules with the same functions and the same results. Loading numba and the
compiled functions takes half a second, and compiling them, once for a machine, some seconds more. So small jobs do
without: compiled code is loaded when a job, together with what numpy has done in this process so far, would take numpy
as long as loading does. Jobs of a few milliseconds are left to numpy, and do not count.
"""

import atexit
import os
import sys
from functools import cache
from shutil import rmtree
from tempfile import mkdtemp
from types import ModuleType

LOADING = 0.5  # Seconds that loading the compiled functions takes a process.
_spent = 0.0  # Seconds that numpy has taken in this process for jobs that compiled code would have sped up.


def tools_for(seconds: float) -> ModuleType:
    """Choose the kernels, compiled or plain, for a job that would take numpy so many seconds.

    Decided by estimates alone, without a clock: the same jobs in the same order always choose the same kernels.
    """
    from deniable.kernels import plain

    global _spent
    if seconds < LOADING / 100:  # about as long as the first call of a compiled function takes
        return plain
    if "deniable.kernels.compiled" not in sys.modules and _spent + seconds < LOADING:
        _spent += seconds
        return plain
    return _compiled() or plain


@cache
def _compiled() -> ModuleType | None:
    """The compiled kernels; where no folder can keep them, compiled anew for this process; None if nothing can be done.

    numba keeps compiled code beside the sources or in the user's cache folder, and refuses to load if it may write to
    neither, as in a container that can only be read.
    """
    try:
        from deniable.kernels import compiled
    except RuntimeError:  # "cannot cache function"
        from numba import config

        try:
            folder = mkdtemp(prefix="deniable-")
        except OSError:
            return None
        atexit.register(rmtree, folder, ignore_errors=True)
        config.CACHE_DIR = folder  # type: ignore[attr-defined]
        from deniable.kernels import compiled
    return compiled


def physical_memory() -> int:
    """Physical memory of this machine in bytes, or 8 GB where the machine does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30
