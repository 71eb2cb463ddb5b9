"""The demo: it runs, finds the truth that it made up, and does without a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deniable.cli import main
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
    assert "not enough reports" in page
    assert 'id="given-1"' in page
    rows = [line.split()[-4:] for line in lines if line.count("%") == 4]
    assert len(rows) == 7
    for truth, estimate, low, high in ([float(cell.rstrip("%")) for cell in row] for row in rows):
        assert low < estimate < high
        assert abs(estimate - truth) < 1.5 * (high - low)  # six standard errors


@pytest.mark.slow
def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    plain = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m deniable demo >&-"],
        cwd=tmp_path, capture_output=True, env=plain, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
