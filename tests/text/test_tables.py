import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable.text import width as letters
from deniable.text.tables import aligned

ROWS = [("日本", "1.5", "a"), ("e\u0301te", "-12.25", "bb"), ("🎈🎈🎈", "not enough reports", None)]


def seen(code: str, cwd: Path, **environment: str) -> str:
    """What a program prints on a terminal, stdout and stderr."""
    read, write = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    env = kept | {"TERM": "xterm"} | environment
    subprocess.run([sys.executable, "-c", code], cwd=cwd, stdout=write, stderr=write, env=env, check=True)
    os.close(write)
    return os.read(read, 100_000).decode()


def test_columns_line_up_by_what_is_seen() -> None:
    head, rule, *lines = aligned(("name", "number", "word"), ROWS, numbers=(1,), rule=True, colour=False)
    ends = [letters.width(part) for part in re.split(r"(?<=-)  (?=-)", rule)]
    for line in (head, *lines[:2]):
        first = line.split("  ")[0]
        assert letters.width(line) <= letters.width(rule)
        rest = line[len(first) :].lstrip()
        number = rest.split()[0]
        before = line[: line.index(number, len(first)) + len(number)]
        assert letters.width(before) == ends[0] + 2 + ends[1]  # numbers end together
    assert lines[2].endswith("not enough reports")  # and goes on over the word's column
    assert letters.width(lines[2]) == letters.width(rule)
    assert lines[0].startswith("日本    ")  # six columns wide, as three balloons are


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🎈", 2), ("a\u200bb", 2), ("ﾊ", 1), ("Ａ", 2)]
)
def test_width_is_that_of_a_terminal(text: str, columns: int) -> None:
    assert letters.width(text) == columns


@pytest.mark.parametrize("most", range(1, 20))
@pytest.mark.parametrize("text", ["a long sentence of words", "日本語の長い名前", "🎈" * 9, "x" * 40])
def test_shortened_and_wrapped_text_fits(text: str, most: int) -> None:
    assert letters.width(letters.shortened(text, most)) <= max(most, 1)
    lines = letters.wrapped(text, max(most, 2))
    assert len(lines) <= 2
    assert all(letters.width(line) <= max(most, 2) for line in lines)
    assert text.startswith(lines[0])


def test_only_text_that_turns_is_closed_in() -> None:
    assert letters.isolated("größe 日本 🎈 é $x$ 5 %") == "größe 日本 🎈 é $x$ 5 %"
    for text in ("שלום", "\u202eabc", "\u2067abc"):
        closed = letters.isolated(text)
        assert (closed[0], closed[-1]) == ("\u2068", "\u2069")
        assert "\u2069" not in closed[1:-1]


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", ["日本", "x"])]), {"a": dn.Public()}, epsilon=1.0)
    dn.count(dn.randomize({"a": [True, False] * 3, "b": ["x"] * 6}, plan), order=2).save(tmp_path / "c.npz")
    plan.save(tmp_path / "plan.json")
    (tmp_path / "s.toml").write_text('[[features]]\nname = "a"\n[[features]]\nname = "b"\n')
    return tmp_path


TABLE = "from deniable.cli.cli import main; main('table c.npz a b'.split())"
PLAN = "from deniable.cli.cli import main; main('plan s.toml --epsilon 1 --public a -o p.json'.split())"


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


def test_progress_leaves_a_dumb_terminal_alone(tmp_path: Path) -> None:
    code = "from deniable.text import progress; progress.EVERY = 0; list(progress.told([1], str)); print('end')"
    assert seen(code, tmp_path, TERM="dumb") == "end\r\n"
    assert "\033[K" in seen(code, tmp_path)
