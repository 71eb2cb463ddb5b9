"""The house: its promised names, its rooms and what they may import, and how large things may get."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from radon.complexity import cc_visit
from radon.metrics import mi_visit

import deniable as dn
from tests.support.house import ORDER, cycles, wrong_way

ROOT = Path(dn.__file__).parent
FILES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
SOURCES = {
    ".".join(["deniable", *Path(file).with_suffix("").parts]).removesuffix(".__init__"): text
    for file, text in FILES.items()
}


# -- imports -----------------------------------------------------------------------------------------------------------


def test_imports_point_only_up_the_list_of_rooms() -> None:
    assert wrong_way(SOURCES) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycles(SOURCES) == []


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__", "late"} <= {room for rooms in ORDER for room in rooms}


PLANTED = {
    "a later room": ("survey.plan", "from deniable.counts.counts import Counts"),
    "a later room, as a module": ("survey.plan", "import deniable.counts.counts"),
    "a module of a later room": ("survey.plan", "from deniable.counts import counts"),
    "a later module at the root": ("survey.plan", "from deniable import simulate"),
    "inside a function": ("survey.plan", "def f():\n    from deniable.counts.counts import Counts"),
    "inside a method's branch": (
        "survey.plan",
        "class A:\n    def f(self):\n        if self:\n            import deniable.page.page",
    ),
    "for types alone": (
        "survey.plan",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from deniable.counts.counts import Counts",
    ),
    "relative": ("survey.plan", "from ..counts import counts"),
    "relative, of a room": ("survey.plan", "from ..counts.counts import Counts"),
    "a room beside it": ("page.page", "from deniable.validation import run"),
    "the client's only promise": ("client", "from deniable.text import width"),
    "late, when loaded": ("survey.plan", "from deniable.late import needed"),
    "the command line": ("page.page", "from deniable.cli import main"),
}
WITHOUT = {"deniable": "", "deniable.late": "from deniable.cli import main"} | {
    f"deniable.{module}": ""
    for module in (
        *("client", "text.width", "survey.plan", "survey.schema", "counts.counts"),
        *("simulate", "page.page", "validation.run", "cli"),
    )
}


@pytest.mark.parametrize(("module", "source"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_import_the_wrong_way_is_found(module: str, source: str) -> None:
    assert wrong_way(WITHOUT) == []
    (found,) = wrong_way(WITHOUT | {f"deniable.{module}": source})
    assert found.startswith(f"deniable.{module} -> deniable.")


RIGHT = {
    "an earlier room": ("counts.counts", "from deniable.survey.plan import Plan"),
    "its own room": ("survey.plan", "from deniable.survey import schema"),
    "its own room, relative": ("survey.plan", "from . import schema\nfrom .schema import Schema"),
    "another package": ("survey.plan", "import numpy as np\nfrom collections import Counter"),
    "late, inside a function": ("survey.plan", "def f():\n    from deniable import late\n    return late"),
    "the version": ("page.page", "from deniable import __version__"),
}


@pytest.mark.parametrize(("module", "source"), RIGHT.values(), ids=RIGHT.keys())
def test_imports_the_right_way_are_left_alone(module: str, source: str) -> None:
    assert wrong_way(WITHOUT | {f"deniable.{module}": source}) == []


def test_a_planted_circle_is_found() -> None:
    there = {"deniable.survey.schema": "from deniable.survey import plan"}
    assert cycles(WITHOUT | there) == []
    back = "from deniable.survey.schema import Schema"
    assert set(cycles(WITHOUT | there | {"deniable.survey.plan": back})) == {
        "deniable.survey.plan",
        "deniable.survey.schema",
    }
    for later in (f"def f():\n    {back}", f"if TYPE_CHECKING:\n    {back}"):  # no circle when it is loaded
        assert cycles(WITHOUT | there | {"deniable.survey.plan": later}) == []


# -- names -------------------------------------------------------------------------------------------------------------


def test_every_public_name_resolves() -> None:
    for name in dn.__all__:
        assert getattr(dn, name).__name__.removeprefix("deniable.") == name
        assert name in dir(dn)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dn.nothing


def test_the_directory_is_the_promised_names_and_nothing_else() -> None:
    """Also after every module was imported, though that makes the rooms attributes of the package."""
    promised = sorted([*dn.__all__, "__version__"])
    for module in SOURCES:
        if not module.endswith("__main__"):
            importlib.import_module(module)
    assert dir(dn) == promised
    code = "import deniable; print(*dir(deniable))"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert alone.split() == promised


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_the_root_has_few_entries() -> None:
    entries = [path for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert len(entries) <= 23


def test_rooms_have_few_modules() -> None:
    rooms = {path.parent for path in ROOT.rglob("__init__.py")} - {ROOT}
    many = {room.name: len(list(room.glob("*.py"))) - 1 for room in rooms}
    assert {room: modules for room, modules in many.items() if modules > 15} == {}


def most_lines(file: str) -> int:
    if file.startswith(("validation/", "kernels/compiled")):
        return 10**9
    return {"client.py": 727}.get(file, 300 if file.startswith("estimates/") else 400)


def test_files_are_short() -> None:
    lines = {file: len(text.splitlines()) for file, text in FILES.items()}
    assert {file: n for file, n in lines.items() if n > most_lines(file)} == {}


def test_no_function_is_complex() -> None:
    found = {
        f"{file}: {block.fullname}": block.complexity
        for file, text in FILES.items()
        for block in cc_visit(text)
        if block.letter != "C" and block.complexity > 15
    }
    assert found == {}


def test_every_file_can_be_maintained() -> None:
    """Radon's maintainability index is A above 19, with docstrings counted as comments.

    The client must stay one file, whatever a plan can say: it is allowed a little less.
    """
    found = {file: mi_visit(text, multi=True) for file, text in FILES.items()}
    least = {"client.py": 11}
    assert {file: round(index) for file, index in found.items() if index <= least.get(file, 19)} == {}
