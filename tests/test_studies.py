"""Studies of statistics: that they run, quickly, and that what they draw fast has the right distribution."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.survey.protocols.base import bound
from studies import whole_survey
from studies.planner_surveys import marked_by_sets
from tests.support.channels import channel
from tests.support.situations import values

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("m", "size"), [(4, 2), (5, 1), (5, 4), (6, 3)])
def test_sets_drawn_at_once_have_the_moments_of_sets_one_by_one(m: int, size: int) -> None:
    """Mean and covariance are those of every set that may be sent, in six standard errors."""
    protocol = bound(dn.SubsetSelection(epsilon=1.0, size=size), dn.Choice("a", values(m)))
    people, surveys = np.arange(3, 3 + m), 20_000
    mean, covariance = np.zeros(m), np.zeros((m, m))
    for code, count in enumerate(people):
        law = channel(protocol, code)
        bits, chances = np.array(list(law)), np.array([float(chance) for chance in law.values()])
        own = chances @ bits
        mean += count * own
        covariance += count * ((bits.T * chances) @ bits - np.outer(own, own))
    assert isinstance(protocol, dn.SubsetSelection)
    found = marked_by_sets(protocol, np.tile(people, (surveys, 1)), np.random.default_rng(size))
    assert (found.sum(axis=1) == size * people.sum()).all()
    assert np.abs(found.mean(axis=0) - mean).max() < 6 * np.sqrt(covariance.max() / surveys)
    assert np.abs(np.cov(found.T) - covariance).max() < 6 * covariance.max() * np.sqrt(2 / surveys)


@pytest.mark.slow
def test_the_study_of_the_planner_runs() -> None:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "studies", "planner", "--quick"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.count("as it must be") == 6
    assert "MISSED" not in run.stdout


@pytest.mark.slow
def test_the_study_of_the_whole_survey_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the classic tables: a line for each setting, tables of four further off than those of three."""
    monkeypatch.delenv("DENIABLE_DATA", raising=False)
    monkeypatch.setattr(whole_survey, "SETTINGS", ((4.0, 1),))
    whole_survey.run(quick=True)
    printed = capsys.readouterr().out
    lines = [
        list(map(float, line.replace(",", "").split()))
        for line in printed.splitlines()
        if line[:1] == " " and line.split()[0] != "N"
    ]
    assert [line[:2] for line in lines] == [[4, 30_000]]
    assert all(0 < three < four < 15 and 50 < held <= 100 for _, _, three, four, held, *_ in lines)
    assert "Left out: nltcs and adult" in printed
