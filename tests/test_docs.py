"""The blocks of code in the documents are run, and print what stands below them."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable import client

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "docs/counting.md", "docs/estimating.md", "docs/proper-tables.md", "docs/joint-answers.md"]


def blocks(document: str) -> list[tuple[str, str]]:
    """(language, text) of every fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / document).read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_python_blocks_print_what_stands_below_them(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = blocks(document)
    for (language, text), (next_language, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(text, names)
            assert printed.getvalue() == (expected if next_language == "text" else "")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_console_blocks_print_what_stands_below_each_command(document: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, text in blocks(document):
        if language == "toml":
            (tmp_path / "survey.toml").write_text(text)
        if language == "console":
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                done = subprocess.run(
                    ["sh", "-c", f"{command} 2>&1"],
                    cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True,
                )  # fmt: skip
                pattern = re.escape(expected).replace(re.escape("...\n"), r"(?:.*\n)*")
                assert re.fullmatch(pattern, done.stdout), done.stdout


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/report-format.md", "VISION.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text(encoding="utf-8")):
        assert ((ROOT / document).parent / target).exists(), target


def test_the_test_command_is_the_same_everywhere() -> None:
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == "make test"
    assert "make test" in (ROOT / "README.md").read_text()


def test_the_drawn_report_is_what_the_client_sends() -> None:
    """The picture in docs/report-format.md: a flag, five values by GRR, six by unary encoding."""
    values = dn.Choice("age", "abcde".replace("", " ").split()), dn.Choice("town", list("uvwxyz"))
    protocols = {"smoker": dn.Public(), "age": dn.Public(), "town": dn.UnaryEncoding(p=1 / 65536, q=65535 / 65536)}
    plan = json.loads(dn.Plan(dn.Schema([dn.Flag("smoker"), *values]), protocols).to_json())
    draws = iter([b"\1\0" * 6] * 2)  # above p, below q: only the true value's bit is 1
    sent = [
        client.report_from(lambda _: next(draws), {"smoker": True, "age": "d", "town": town}, plan)
        for town in ("v", "z")
    ]
    assert sent == [bytes([0b0010_011_1, 0b00]), bytes([0b0000_011_1, 0b10])]


def test_the_documented_plan_is_a_plan() -> None:
    document = json.loads(next(text for language, text in blocks("docs/report-format.md") if language == "json"))
    sealed = document | {"fingerprint": client.fingerprint(document)}
    assert sealed == document
    assert dn.Plan.from_json(json.dumps(document)).schema.names[-1] == "drinks: tea"
