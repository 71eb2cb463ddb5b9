"""A folder that several processes fill is whole, or as it was before; what they write too late is not in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import deniable as dn
from deniable.errors import DeniableError
from deniable.files import replacing
from deniable.files.filling import empty_folder, filled
from deniable.files.stores import AnyFile, StoredFile, file_at
from tests.support.situations import MIXED
from tests.support.surveys import some_reports

NAMES = ["part-00000.parquet", "part-00001.parquet"]


@pytest.fixture(params=["here", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path) if request.param == "here" else "memory://filled"
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def written(folder: AnyFile, name: str) -> None:
    with replacing(folder / name) as temporary:
        temporary.write_text(name)


def fill(folder: AnyFile, files: Sequence[str], kept: Sequence[str], then: Callable[[AnyFile], object] = bool) -> None:
    """Fill a folder with files, of which some are kept; something else happens before it is done."""
    with filled(folder) as new:
        for name in files:
            written(new.hidden, name)
        new.names = kept
        then(new.hidden)


class BrokenError(Exception):
    pass


def names_in(folder: AnyFile) -> list[str]:
    """Everything in a folder, hidden or not."""
    if isinstance(folder, StoredFile):
        return sorted(folder.names())
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def test_files_come_when_all_are_there(place: str) -> None:
    folder = empty_folder(f"{place}/deep/out/")

    def look(_: AnyFile) -> None:
        for pattern in ("", "/*", "/**/*.parquet"):
            with pytest.raises(DeniableError, match="no Parquet files in this folder|no file matches"):
                dn.count(f"{place}/deep/out{pattern}")

    fill(folder, [*NAMES, "of-nobody.parquet"], NAMES, look)
    assert names_in(folder) == NAMES
    assert [(folder / name).read_bytes().decode() for name in NAMES] == NAMES
    with pytest.raises(DeniableError, match=r"deep/out: is not empty; reports go to a new folder"):
        empty_folder(f"{place}/deep/out")


@pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt])
def test_after_an_error_nothing_is_left_and_nothing_can_come(place: str, error: type[BaseException]) -> None:
    folder = empty_folder(f"{place}/out")
    hidden: list[AnyFile] = []

    def broken(where: AnyFile) -> None:
        hidden.append(where)
        raise error

    with pytest.raises(error):
        fill(folder, NAMES[:1], NAMES, broken)
    assert names_in(folder) == []
    assert isinstance(folder, StoredFile) or not folder.exists()
    if isinstance(folder, Path):
        with pytest.raises(DeniableError, match="there is no folder"):
            written(hidden[0], NAMES[1])
    else:  # a store makes folders by itself
        written(hidden[0], NAMES[1])
    fill(empty_folder(f"{place}/out"), NAMES[:1], NAMES[:1])
    assert [name for name in names_in(folder) if not name.startswith(".")] == NAMES[:1]


def test_who_writes_while_the_folder_is_taken_away_finds_it_no_more(tmp_path: Path) -> None:
    folder = empty_folder(tmp_path / "out")
    with ExitStack() as writing:

        def broken(hidden: AnyFile) -> None:
            writing.enter_context(replacing(hidden / NAMES[0])).write_text("late")
            raise BrokenError

        with pytest.raises(BrokenError):
            fill(folder, [], NAMES, broken)
        with pytest.raises(FileNotFoundError):
            writing.close()
    assert not folder.exists()


def test_a_folder_that_was_there_stays_and_one_that_another_job_filled(place: str, tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    with pytest.raises(DeniableError):
        fill(empty_folder(there), [], NAMES)
    assert there.is_dir()
    assert names_in(there) == []
    folder = empty_folder(f"{place}/out")
    with pytest.raises(DeniableError, match="is not empty"):
        fill(folder, NAMES, NAMES, lambda _: fill(folder, ["other.parquet"], ["other.parquet"]))
    assert names_in(folder) == ["other.parquet"]


def test_a_file_that_does_not_come_takes_the_others_away(place: str) -> None:
    """As where workers write to a disk of their own: what they wrote is not where the driver looks."""
    folder = empty_folder(f"{place}/out")
    with pytest.raises(DeniableError, match=r"part-00001.parquet: "):
        fill(folder, NAMES[:1], NAMES)
    assert names_in(folder) == []


def test_what_is_no_folder_is_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for wrong, match in (
        ("", "go to a folder"),
        (" ", "go to a folder"),
        ("memory://", "go to a folder"),
        ("file://", "go to a folder"),
        (5, "go to a folder, by its path or address; found 5"),
        ("/", "/: is not empty"),
        ("file", "file: is a file"),
        ("file/x", "file/x: cannot be a folder: a part of its path is a file"),
        ("file/x/y", "file/x/y: cannot be a folder: a part of its path is a file"),
        ("https://127.0.0.1/out", "an address to read from"),
    ):
        with pytest.raises(DeniableError, match=match):
            empty_folder(wrong)
    with pytest.raises(DeniableError, match="/proc/x: cannot be written"), filled(empty_folder("/proc/x")):
        pass
    assert empty_folder("new") == tmp_path / "new"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_the_mark_of_a_folder_does_not_fill_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some programs put an empty object `out/` into a store, for the folder itself."""
    monkeypatch.setattr(MemoryFileSystem, "isdir", lambda *_: True)
    monkeypatch.setattr(MemoryFileSystem, "ls", lambda *_, **__: ["/b/out/", "/b/out/.old.writing"])
    assert empty_folder("memory://b/out") == file_at("memory://b/out")


def test_hidden_files_of_a_store_are_found_by_their_own_name_alone() -> None:
    some_reports(MIXED, 10).save("memory://b/.old.writing/r.parquet")
    assert dn.count("memory://b/.old.writing/*.parquet", order=1).n == 10
    with pytest.raises(dn.ReportError, match="no file matches"):
        dn.count("memory://b/**/*.parquet", order=1)
    MemoryFileSystem.store.clear()
