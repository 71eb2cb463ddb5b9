"""Progress is told on terminals alone, and nothing is left of it."""

import os
import subprocess
import sys
from pathlib import Path

from deniable.text.progress import _line
from tests.support.terminals import seen


def test_the_time_left_is_what_is_left_at_this_speed() -> None:
    assert _line("rows", 100, 2.0, 350) == "100 rows, 50 per second, 5 s left"
    assert _line("rows", 100, 2.0, None) == "100 rows, 50 per second"


def test_long_climbs_tell_how_far_they_are() -> None:
    """On a terminal alone, and nothing is left of it."""
    read, write = os.openpty()
    code = """
import time
from deniable.text import progress
progress.EVERY = 0
print(list(progress.told(range(3), lambda k: f"step {k}")))
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=write, check=True, text=True)
    assert done.stdout == "[0, 1, 2]\n"
    printed = os.read(read, 10_000).decode()
    assert "step 0" in printed
    assert "step 2" in printed
    assert printed.endswith("\r\033[K")
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert quiet.stderr == ""


def test_progress_leaves_a_dumb_terminal_alone(tmp_path: Path) -> None:
    code = "from deniable.text import progress; progress.EVERY = 0; list(progress.told([1], str)); print('end')"
    dumb, other = seen([(code, {"TERM": "dumb"}), (code, {})], tmp_path)
    assert dumb == "end\r\n"
    assert "\033[K" in other
