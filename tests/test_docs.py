"""The documents are true: code prints what stands below it, links lead somewhere, names exist, examples run."""

import contextlib
import io
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/*.md", "docs/[!_]*/*.md", "examples/*.md", "spec/*.md")
    for path in ROOT.glob(pattern)
)
MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "src").rglob("*.py"))
    if path.stem != "__main__"  # it is run, never imported
}


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str) -> list[tuple[str, str]]:
    """(language, text) of every fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", read(document), re.M | re.S)


def prose(document: str) -> str:
    """What is outside of fenced blocks."""
    return re.sub(r"^```.*?^```$", "", read(document), flags=re.M | re.S)


def anchors(document: str) -> set[str]:
    """Of the headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
@pytest.mark.parametrize("document", [name for name in DOCUMENTS if {"python", "console"} & {*dict(blocks(name))}])
def test_blocks_print_what_stands_below_them(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a document in order, in one folder: Python's in one session, the shell's one by one."""
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    found = blocks(document)
    for (language, text), (next_language, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        match language:
            case "toml":
                Path("survey.toml").write_text(text)
            case "console":
                run_in_shell(text)
            case "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(text, names)
                assert printed.getvalue() == (expected if next_language == "text" else "")


def run_in_shell(text: str) -> None:
    """Each command prints what stands below it, where a line of three dots stands for any lines."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
        )
        pattern = re.escape(expected).replace(re.escape("...\n"), r"(?:.*\n)*")
        assert re.fullmatch(pattern, done.stdout), done.stdout


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    here = (ROOT / document).parent
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", prose(document)):
        file = here / target if target else ROOT / document
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(str(file.resolve().relative_to(ROOT))), f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_in_documents_exist(document: str) -> None:
    for name in re.findall(r"`(deniable(?:\.\w+)+)`", prose(document)):
        pkgutil.resolve_name(name)


def test_code_and_tests_that_the_page_of_the_paper_names_exist() -> None:
    names = re.findall(r"`([^`]+)`", prose("docs/explain/paper.md"))
    code = [name for name in names if re.fullmatch(r"[a-z_]+(\.\w+)+", name)]
    tests = [name for name in names if re.fullmatch(r"(\w+/)?test_\w+", name)]
    assert len(code) > 20
    assert len(tests) > 20
    for name in code:
        pkgutil.resolve_name(f"deniable.{name}")
    assert [name for name in tests if not (ROOT / f"tests/{name}.py").exists()] == []


def test_the_reference_has_every_public_name() -> None:
    assert [name for name in dn.__all__ if f":: deniable.{name}\n" not in read("docs/reference/api.md")] == []


def test_the_internals_have_every_module_once() -> None:
    assert sorted(re.findall(r":: (deniable[\w.]*)$", read("docs/reference/internals.md"), re.M)) == sorted(MODULES)


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {dn.__version__}\n" in read("CITATION.cff")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_examples_print_what_their_index_says(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    after = read("examples/README.md").split(f"(../examples/{script.name})", 1)[1]
    assert capsys.readouterr().out == re.search(r"^```text\n(.*?)^```$", after, re.M | re.S)[1]  # type: ignore[index]
    assert len(script.read_text().splitlines()) <= 45


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """In a process of its own, as the site renames the modules of public classes; without the pages of source code."""
    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "trees"]
    quicker = ["-D", "extensions=myst_parser,sphinx.ext.autodoc,sphinx.ext.napoleon"]
    subprocess.run([sys.executable, "-m", "sphinx", *options, *quicker, ROOT / "docs", tmp_path / "site"], check=True)
    for page in (tmp_path / "site").rglob("*.html"):  # nothing is loaded from the network
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text())
        assert loaded == [], page


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_targets_of_make_exist(document: str) -> None:
    targets = set(re.findall(r"^(\w+):", read("Makefile"), re.M))
    named = set(re.findall(r"(?:`|^)make (\w+)", read(document), re.M))
    assert "test" in named
    assert named <= targets


def test_the_test_command_is_the_same_everywhere() -> None:
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == "make test"
    assert "make test" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_word_is_left_to_be_filled_in(document: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.S)
    assert not re.findall(r"\b(?:TODO|TBD|XXX|FIXME|MINUTES|COVERAGE|ACCURACY)\b", text)
