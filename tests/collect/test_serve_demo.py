"""The demo of a whole survey, `make serve-demo`, with fewer respondents."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "collector" / "serve_demo.py"


@pytest.mark.slow
def test_the_demo_of_a_whole_survey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("serve_demo", SCRIPT)
    assert spec
    assert spec.loader
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    monkeypatch.setattr(demo, "RESPONDENTS", 150)
    monkeypatch.setattr(sys, "argv", ["serve_demo.py"])
    monkeypatch.chdir(tmp_path)
    demo.main()
    assert "150 made-up respondents have answered" in capfd.readouterr().out
    page = (tmp_path / "serve-demo.html").read_text("utf-8")
    assert "Do you smoke?" in page
    assert "of 150 respondents" in page
