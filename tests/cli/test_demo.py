"""The demo: it runs, finds the truth that it made up, and does without a terminal."""

import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.cli.demo_survey import ARMS, EPSILON, SHOWN, made_up_answers, people_needed, schema
from deniable.reports.randomness import seeded


def test_demo_runs_and_finds_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deniable.reports.randomize.secure", lambda: seeded(np.random.default_rng(1)))  # the same page
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"Open {tmp_path / 'report.html'}"
    assert "made up" in lines[0]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "made-up" in page
    assert "says little" in page
    assert 'id="given-1"' in page
    rows = [line.split()[-4:] for line in lines if line.count("%") == 4]
    assert len(rows) == 7
    for truth, estimate, low, high in ([float(cell.rstrip("%")) for cell in row] for row in rows):
        assert low < estimate < high
        assert abs(estimate - truth) < 1.5 * (high - low)  # six standard errors
    assert "20,000 respondents later" in "\n".join(lines)
    assert int(re.search(r"about ([\d,]+) people", " ".join(lines))[1].replace(",", "")) > 500_000  # type: ignore[index]


@pytest.fixture(scope="module")
def shown() -> list[dn.Estimate]:
    """What the demo shows of its respondents."""
    counts = surveyed(dn.Plan(schema(), epsilon=EPSILON, arms=ARMS), 20_000)
    return [dn.estimate(counts, names) for names in SHOWN]


def surveyed(plan: dn.Plan, n: int) -> dn.Counts:
    return dn.count(dn.randomize(made_up_answers(np.random.default_rng(5), n), plan, rng=np.random.default_rng(6)))


def test_arms_of_the_demo_hold_every_pair_and_each_of_the_shown_ones_twice() -> None:
    pairs = [set(pair) for arm in ARMS for pair in combinations(arm, 2)]
    assert all(set(pair) in pairs for pair in combinations(schema().names, 2))
    assert [pairs.count(set(names)) for names in SHOWN] == [2, 2]


def test_intervals_of_the_demo_are_narrower_than_those_of_half_a_million_asked_everything(
    shown: list[dn.Estimate],
) -> None:
    counts = surveyed(dn.Plan(schema(), epsilon=EPSILON), 500_000)
    for est, names in zip(shown, SHOWN, strict=True):
        here, there = (
            [row["high"] - row["low"] for row in one.conditional(names[1], given=names[0]).to_pylist()]
            for one in (est, dn.estimate(counts, names))
        )
        assert all(own < other for own, other in zip(here, there, strict=True))


def test_how_many_people_are_needed_is_what_a_survey_of_everything_would_find(shown: list[dn.Estimate]) -> None:
    """Of the plan itself as many as there are; of another what its own survey tells, and not at another epsilon."""
    everything = dn.Plan(schema(), epsilon=EPSILON)
    counts = surveyed(everything, 300_000)
    own = [dn.estimate(counts, names) for names in SHOWN]
    assert people_needed(everything, own) == 300_000
    variances = [
        sum(row["stderr"] ** 2 for est in each for row in est.conditional(est.names[1], given=est.names[0]).to_pylist())
        for each in (own, shown)
    ]
    expected = 300_000 * variances[0] / variances[1]
    assert people_needed(everything, shown) == pytest.approx(expected, rel=0.1)
    assert people_needed(dn.Plan(schema(), epsilon=4.0), shown) != pytest.approx(expected, rel=0.3)


@pytest.mark.slow
def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    plain = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m deniable demo >&-"],
        cwd=tmp_path, capture_output=True, env=plain, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
