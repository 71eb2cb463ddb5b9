"""`--plot` draws what a command prints, and `deniable table` loads no more than it needs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main


@pytest.fixture
def counts(tmp_path: Path) -> str:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "65+"])])
    of = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.5, 0.3, 0.2]})
    path = tmp_path / "counts.npz"
    dn.simulate.counts(of, dn.Plan(schema, epsilon=6.0), np.random.default_rng(1), n=5000).save(path)
    return str(path)


COMMANDS = {
    "table": ["smoker", "age"],
    "conditional": ["smoker", "--given", "age"],
    "associations": [],
    "difference": ["smoker", "--between", "age", "18-29,30-44", "65+"],
    "mean": ["age", "--by", "smoker", "--score", "18-29=24", "--score", "30-44=37", "--score", "65+=75"],
    "regress": ["smoker", "age", "--logistic"],
}


@pytest.mark.parametrize(("command", "more"), COMMANDS.items(), ids=COMMANDS)
def test_a_picture_is_written_beside_the_table(
    command: str, more: list[str], counts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, counts, *more]) == 0
    without = capsys.readouterr().out
    picture = tmp_path / "picture.svg"
    assert main([command, counts, *more, "--plot", str(picture)]) == 0
    printed = capsys.readouterr()
    assert printed.out == without
    assert f"Wrote {picture} (5,000 reports)." in printed.err
    assert "<svg" in picture.read_text()


def test_a_picture_of_no_kind_is_refused(counts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", counts, "smoker", "--plot", str(tmp_path / "x.doc")]) == 1
    assert "no picture ends in 'doc'" in capsys.readouterr().err
    assert not (tmp_path / "x.doc").exists()


def test_linear_algebra_has_one_thread_unless_somebody_said_otherwise(
    counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that wait for work would take more of the processors than the work."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    assert main(["table", counts, "smoker"]) == 0
    assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("1", "3")


def test_a_table_needs_neither_arrow_nor_data_frames(counts: str) -> None:
    """They would take longer to load than all the rest."""
    code = (
        f"import sys; from deniable.cli import main; main(['table', {counts!r}, 'smoker', 'age']); print(*sys.modules)"
    )
    *_, modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    loaded = {name.split(".")[0] for name in modules.split()}
    assert "numpy" in loaded
    assert not loaded & {"pyarrow", "pandas", "polars", "matplotlib", "numba", "narwhals", "cryptography"}
    assert "scipy.optimize" not in modules.split()
