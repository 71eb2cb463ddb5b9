"""Tables of the command line on terminals, coloured where that is wanted, and through pipes."""

import re
from pathlib import Path

import pytest

import deniable as dn
from tests.support.terminals import piped, seen


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
    refused = [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}]
    plain = [(code, environment) for code in (TABLE, PLAN) for environment in refused]
    painted, plan, empty, *without = seen([(TABLE, {}), (PLAN, {}), (TABLE, {"NO_COLOR": ""}), *plain], counts)
    assert "\033[1ma " in painted  # the head is bold
    assert "\033[2mnot enough reports" in painted  # and what is missing dim
    assert re.search(r"-----  ", painted)
    assert "\033[1;33mNOT PROTECTED" in plan
    assert len(without) == 6
    for (code, _), printed in zip(plain, without, strict=True):
        assert "\033" not in printed
        assert ("proportion" if code == TABLE else "NOT PROTECTED") in printed
    assert "\033[1m" in empty  # an empty one does not count


def test_pipes_get_plain_lines_a_row_each(counts: Path) -> None:
    done, forced, off = piped([(TABLE, {}), (TABLE, {"FORCE_COLOR": "1"}), (TABLE, {"FORCE_COLOR": "0"})], counts)
    told, *lines = done.splitlines()
    assert told == "About the population; 95% intervals; 6 reports."
    assert len(lines) == 5
    assert lines[0].split() == ["a", "b", "proportion", "stderr", "low", "high"]
    assert "\033" not in done
    assert off == done
    assert re.sub(r"\033\[[\d;]*m", "", forced) == done != forced
