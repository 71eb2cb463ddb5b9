"""Files are written whole or not at all, also when a signal asks to stop and its KeyboardInterrupt is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import deniable as dn
from deniable.errors import AnswerError, DeniableError
from deniable.files import all_sources, check_stopped, check_target, expanded, replacing, stopping


def test_a_new_file_takes_the_place_of_the_old_one_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_stays_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text(str(1 / 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_dead_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A process that was killed while it wrote; the same target, but by a process that lives; and another target."""
    write = "import os, sys; from deniable.files import replacing; held = replacing(sys.argv[1]); "
    write += "held.__enter__(); os._exit(1)"
    for name in ("file", "other"):
        subprocess.run([sys.executable, "-c", write, str(tmp_path / name)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(tmp_path / "file") as mine:  # of two, one is gone
        assert len(list(tmp_path.iterdir())) == 2
        with replacing(tmp_path / "file"):
            assert mine.exists()
    (left,) = [path for path in tmp_path.iterdir() if path.suffix == ".part"]
    with replacing(tmp_path / "other"):
        assert not left.exists()


def test_what_a_process_of_the_same_number_left_is_removed(tmp_path: Path) -> None:
    """As in a container that starts again, where the process that was killed and the one that writes are both 1."""
    with replacing(tmp_path / "file") as mine:
        left = tmp_path / mine.name.replace(mine.name.split(".")[3], "0" * 12)
        left.write_text("half")
        with replacing(tmp_path / "file") as second:
            assert mine.exists()
            assert second.exists()
            assert not left.exists()
        mine.write_text("whole")
    (file,) = tmp_path.iterdir()
    assert file.read_text() == "whole"


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    synced, replaced = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (events.append("fsync"), synced(number)))
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("rename"), replaced(*paths)))
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("whole")
    assert events == ["fsync", "rename", "fsync"]  # the file, its name, and the folder with the name


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    for ending in (".csv", ".parquet", ".toml", ".json", ".npz"):
        loop = tmp_path / f"loop{ending}"
        loop.symlink_to(loop)
        plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
        for take in (
            dn.Schema.load, dn.Plan.load, dn.Counts.load, dn.Reports.load, dn.count, plan.save,
            lambda path: dn.randomize(path, plan),
        ):  # fmt: skip
            with pytest.raises(DeniableError, match="loop"):
                take(loop)


def lose(number: signal.Signals) -> None:
    """Take a signal, and lose its exception."""
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def written_while_stopped(path: Path, number: signal.Signals) -> None:
    with stopping(signal.SIGINT, signal.SIGTERM), replacing(path) as temporary:
        check_stopped()
        lose(number)
        temporary.write_text("half of it")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_work_even_if_its_exception_is_lost(tmp_path: Path, number: signal.Signals) -> None:
    """As in a library's callback: the file is not put in its place, and the number of the signal is told."""
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as stopped:
        written_while_stopped(tmp_path / "file", number)
    assert stopped.value.args == (number,)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) is before
    check_stopped()  # what came before is over
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("whole")


def test_long_work_can_ask_whether_it_should_stop() -> None:
    with pytest.raises(KeyboardInterrupt), stopping(signal.SIGTERM):  # noqa: PT012 - the last line raises
        check_stopped()
        lose(signal.SIGTERM)
        check_stopped()


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert check_target(tmp_path / "other", tmp_path / "file") == tmp_path / "other"
    for path, message in (
        (tmp_path / "link", "is read from, and would be written over; give another output"),
        (tmp_path, "it is a folder"),
        (tmp_path / "none" / "file", "cannot be written: there is no folder"),
    ):
        with pytest.raises(DeniableError, match=message):
            check_target(path, tmp_path / "file")


def test_folders_and_globs_are_sorted_and_lists_are_not(tmp_path: Path) -> None:
    for name in ("b.csv", "a.CSV", "c.txt", ".d.csv"):
        (tmp_path / name).write_text("")
    kinds = {".csv": "CSV"}

    def names(*source: Path | str) -> list[str]:
        return [path.name for path in expanded(source, kinds, AnswerError)]

    assert names(tmp_path) == ["a.CSV", "b.csv"]
    assert names(tmp_path / "c.txt", tmp_path) == ["c.txt", "a.CSV", "b.csv"]
    assert names(f"{tmp_path}/*.[ct]*") == ["b.csv", "c.txt"]
    assert names(tmp_path / "b.csv", tmp_path / "a.CSV") == ["b.csv", "a.CSV"]
    (tmp_path / "empty").mkdir()
    for source, message in (
        (tmp_path / "empty", "empty: no CSV files in this folder"),
        (tmp_path / "none", "none: no such file"),
        (f"{tmp_path}/*.none", r"\*.none: no file matches"),
    ):
        with pytest.raises(AnswerError, match=message):
            names(source)
    with pytest.raises(AnswerError, match="b.csv is given more than once"):
        names(tmp_path, tmp_path / "b.csv")


def test_an_empty_path_is_not_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    for nothing in ("", " "):
        with pytest.raises(AnswerError, match="the path of a file is empty"):
            expanded(nothing, {".csv": "CSV"}, AnswerError)
        with pytest.raises(DeniableError, match="the path to write to is empty"):
            check_target(nothing)
    with pytest.raises(AnswerError, match="no files are given"):
        expanded([], {".csv": "CSV"}, AnswerError)


def test_sources_of_many_files_are_joined_in_no_time() -> None:
    """A copy of all of them for each file took ten seconds for these."""
    began = time.perf_counter()
    found = all_sources((({str(k): f"{k}.parquet"}, f"{k}") for k in range(20_000)), DeniableError)
    assert time.perf_counter() - began < 2
    assert len(found) == 20_000
    with pytest.raises(DeniableError, match=r"twice share a source, 7.parquet, and everybody in it"):
        all_sources([(found, ""), ({"7": "copy"}, "twice")], DeniableError)
