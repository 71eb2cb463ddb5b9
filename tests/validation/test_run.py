"""The whole validation, as the command runs it: figures and their numbers."""

from pathlib import Path

import pytest

from deniable.cli import main
from deniable.validation import every_result, interval_coverage, paper_figures, posterior_calibration


def test_a_file_is_no_folder_and_that_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert main(["validate", "-o", str(tmp_path / "taken")]) == 1
    assert "is a file, and the figures need a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_figures_are_written_with_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper_figures, "QUICK", 500)
    monkeypatch.setattr(paper_figures, "SIZES", (10, 200, 1_000))
    monkeypatch.setattr(posterior_calibration, "QUICK", 5)
    monkeypatch.setattr(interval_coverage, "QUICK", 2)
    monkeypatch.setattr(every_result, "QUICK", 2)
    monkeypatch.setattr(every_result, "TRUTHS", {"sparse": every_result.TRUTHS["sparse"]})
    assert main(["validate", "-o", str(tmp_path / "figures"), "--quick"]) == 0
    out = capsys.readouterr().out
    assert "points with a formula" in out
    assert out.count("\n  holds ") + out.count("\n  DOES NOT HOLD ") == 7
    assert len(out.splitlines()) < 30  # one screen
    assert all((tmp_path / f"figures/figure-{number}.png").stat().st_size > 20_000 for number in range(4, 9))
    assert {file.name for file in (tmp_path / "figures").glob("*.csv")} == {
        *(f"figure-{number}.csv" for number in (1, 2, 3, 4, 5, 6, 8)), "coverage-quick.csv", "every-result.csv"
    }  # fmt: skip
    verdict = (tmp_path / "figures/verdict.txt").read_text(encoding="utf-8")
    assert out.rstrip() in verdict
    assert "hold the truth" in verdict
    assert all(
        f"\n  {kind}" in verdict for kind in ("odds ratio", "known zeros", "regression", "listed pair", "compare")
    )
    assert (tmp_path / "figures/figure-6.csv").read_text(encoding="utf-8").startswith("cell,p_value,tenth 1")
    assert (tmp_path / "figures/figure-5.csv").read_text(encoding="utf-8").startswith("sets,n,formula,simulated")
    for number in (1, 2, 3):
        assert (tmp_path / f"figures/figure-{number}.png").stat().st_size > 20_000
        lines = (tmp_path / f"figures/figure-{number}.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "figure,panel,what,sets,n,simulated,error,formula,z"
        assert len(lines) > 15
