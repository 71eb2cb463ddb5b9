"""Tables of the command line on terminals, coloured where that is wanted, and through pipes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from tests.support.terminals import seen


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", ["日本", "x"])]), {"a": dn.Public()}, epsilon=1.0)
    dn.count(dn.randomize({"a": [True, False] * 3, "b": ["x"] * 6}, plan), order=2).save(tmp_path / "c.npz")
    plan.save(tmp_path / "plan.json")
    (tmp_path / "s.toml").write_text('[[features]]\nname = "a"\n[[features]]\nname = "b"\n')
    return tmp_path


TABLE = "from deniable.cli import main; main('table c.npz a b'.split())"
PLAN = "from deniable.cli import main; main('plan s.toml --epsilon 1 --public a -o p.json'.split())"


def test_colour_is_for_terminals_that_want_it(counts: Path) -> None:
    painted = seen(TABLE, counts)
    assert "\033[1ma " in painted  # the head is bold
    assert "\033[2mnot enough reports" in painted  # and what is missing dim
    assert re.search(r"-----  ", painted)
    assert "\033[1;33mNOT PROTECTED" in seen(PLAN, counts)
    for code in (TABLE, PLAN):
        assert "\033" not in seen(code, counts, NO_COLOR="1")
        assert "\033" not in seen(code, counts, TERM="dumb")
        assert "\033" not in seen(code, counts, NO_COLOR="1", FORCE_COLOR="1")
    assert "\033[1m" in seen(TABLE, counts, NO_COLOR="")  # an empty one does not count


def test_pipes_get_plain_lines_a_row_each(counts: Path) -> None:
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", TABLE]
    done = subprocess.run(command, cwd=counts, capture_output=True, text=True, env=plain, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].split() == ["a", "b", "proportion", "stderr", "low", "high"]
    assert "\033" not in done.stdout
    forced = subprocess.run(
        command, cwd=counts, capture_output=True, text=True, env=plain | {"FORCE_COLOR": "1"}, check=True
    )
    off = subprocess.run(
        command, cwd=counts, capture_output=True, text=True, env=plain | {"FORCE_COLOR": "0"}, check=True
    )
    assert off.stdout == done.stdout
    assert re.sub(r"\033\[[\d;]*m", "", forced.stdout) == done.stdout != forced.stdout
