"""Modules that docstrings and comments name exist: a name that was changed must not live on in words."""

import ast
import re
from pathlib import Path

import deniable as dn

ROOT = Path(dn.__file__).parent
MODULES = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in ROOT.rglob("*.py")}
ROOMS = {path.name for path in ROOT.iterdir() if path.is_dir()}


def named(text: str) -> set[str]:
    """What stands in backticks with a point and begins with a room, or with `deniable.` and one."""
    return {
        name.removeprefix("deniable.")
        for name in re.findall(r"`((?:deniable\.)?[a-z_]+\.[a-z_.]+)`", text)
        if name.removeprefix("deniable.").split(".")[0] in ROOMS
    }


def missing(text: str, modules: set[str]) -> set[str]:
    return {name for name in named(text) if not any(name == one or name.startswith(f"{one}.") for one in modules)}


def test_rooms_and_modules_in_docstrings_exist() -> None:
    modules = {name.removesuffix(".__init__") for name in MODULES}
    found = {}
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [
            node for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]  # fmt: skip
        texts = " ".join(ast.get_docstring(node) or "" for node in nodes)
        deep = {one for one in modules if "." in one} | {"page.html"}
        if wrong := missing(texts, deep):
            found[name] = wrong
    assert found == {}


def test_a_name_that_is_gone_is_noticed() -> None:
    assert missing("see `estimates.joint` and `reports.fields`", {"reports.fields"}) == {"estimates.joint"}
