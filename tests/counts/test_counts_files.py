"""Files of counts that are forged: refused before they take memory, and so are counts that no reports can give."""

import io
import resource
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.counts import counts_files

PLAN = dn.Plan(
    dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["a", "b", "c"])]),
    {"smoker": dn.RandomizedResponse(epsilon=1.0), "age": dn.GRR(epsilon=1.0)},
)
TABLE = [[10, 5, 3, 2], [4, 2, 1, 1]]


@contextmanager
def little_memory(more: int) -> Iterator[None]:
    """At most so many bytes beyond what is taken now, so that taking more is an error at once."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def forged(path: Path, **entries: bytes) -> None:
    """A file of counts in which some entries are others."""
    dn.Counts(PLAN, {("smoker", "age"): TABLE}).save(path)
    with zipfile.ZipFile(path) as archive:
        whole = {one.filename: archive.read(one) for one in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in (whole | {f"{key.replace('_', ' ')}.npy": raw for key, raw in entries.items()}).items():
            archive.writestr(name, raw)


def npy(shape: tuple[int, ...], dtype: str = "<i8", data: bytes = b"") -> bytes:
    """An array as a file has it, whose header may lie."""
    file = io.BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(file, header)  # type: ignore[arg-type]
    return file.getvalue() + data


FORGED: dict[str, tuple[dict[str, bytes], str]] = {
    "a table of 80 TB": ({"table_0": npy((10**13,))}, "for which the file has no room"),
    "a plan of 4 TB": ({"plan": npy((), "<U1000000000")}, "or it is damaged"),
    "of more axes": ({"table_0": npy((2, 4, 1), data=bytes(64))}, r"must have shape \(2, 4\) by its plan"),
    "of floats": ({"table_0": npy((2, 4), "<f8", bytes(64))}, "holds float64, and counts are integers"),
    "of objects": ({"table_0": npy((2, 4), "|O", bytes(64))}, "holds object, and counts are integers"),
    "with more after it": ({"table_0": npy((2, 4), data=bytes(72))}, "goes on after its end"),
    "many patterns": ({"patterns_0": npy((99,), data=bytes(800)), "shown_0": npy((99,), data=bytes(800))}, "patterns"),
    "patterns before the first": (
        {
            "patterns_0": npy((2,), data=np.array([-1, 2]).tobytes()),
            "shown_0": npy((2,), data=np.array([4, 6]).tobytes()),
        },
        "or it is damaged",
    ),
    "a pattern twice": (
        {
            "patterns_0": npy((2,), data=np.array([2, 2]).tobytes()),
            "shown_0": npy((2,), data=np.array([4, 6]).tobytes()),
        },
        "or it is damaged",
    ),
    "one number for two patterns": (
        {"patterns_0": npy((2,), data=np.array([1, 2]).tobytes()), "shown_0": npy((1,), data=bytes([5] + [0] * 7))},
        "or it is damaged",
    ),
    "names in a square": ({"names_0": npy((1, 2), "<U6", bytes(48))}, r"must have 1 axes; found shape \(1, 2\)"),
    "numbers for names": (
        {"names_0": npy((2,), data=bytes(16))},
        r"must be a list of names; found int64, shape \(2,\)",
    ),
    "what counts have not": ({"weights_0": npy((1,), data=bytes(8))}, "is nothing that counts have"),
    "an n with axes": ({"n": npy((3,), data=bytes(24))}, "'n' must have 0 axes"),
}


@pytest.mark.parametrize(("entries", "message"), FORGED.values(), ids=FORGED.keys())
def test_forged_headers_are_refused_before_memory_is_taken(
    tmp_path: Path, entries: dict[str, bytes], message: str
) -> None:
    forged(tmp_path / "counts.npz")
    dn.Counts.load(tmp_path / "counts.npz")  # which is how it should be
    forged(tmp_path / "counts.npz", **entries)
    with little_memory(1 << 28), pytest.raises(dn.CountError, match=message):
        dn.Counts.load(tmp_path / "counts.npz")


MOMENTS = np.array([
    [9, 5, 4, 3, 2], [5, 5, 2, 2, 1], [4, 2, 4, 0, 0], [3, 2, 0, 3, 0], [2, 1, 0, 0, 2],
])  # fmt: skip
TWO_IN_ONE = MOMENTS.copy()
TWO_IN_ONE[2, 3] = TWO_IN_ONE[3, 2] = 1

IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "fewer than all": (
        {"tables": {"age": [10, 5, 3, 1]}},
        "'age', so that the counts of its values sum to 10; found",
    ),
    "more than all": ({"tables": {"age": [10, 5, 5, 1]}}, "sum to 10; found 11"),
    "inside a table": ({"tables": {("smoker", "age"): [[10, 5, 3, 2], [4, 2, 1, 0]]}}, r"sum to 4 at \(1,\); found 3"),
    "two values in one report": ({"moments": TWO_IN_ONE}, "moments of order 2: every report shows one value"),
    "above all": ({"tables": {"smoker": [10, 11]}}, "exceeds its margin"),
}


def test_counts_may_take_half_of_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged(tmp_path / "counts.npz")
    taken = 8 * sum(array.size for array in dn.Counts.load(tmp_path / "counts.npz").tables.values())
    monkeypatch.setattr(counts_files, "physical_memory", lambda: 2 * taken)
    dn.Counts.load(tmp_path / "counts.npz")
    monkeypatch.setattr(counts_files, "physical_memory", lambda: 2 * taken - 2)
    with pytest.raises(dn.CountError, match=r"take 0\.0 GB, more than half of the memory here"):
        dn.Counts.load(tmp_path / "counts.npz")


@pytest.mark.parametrize(("given", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_counts_that_no_reports_can_give_are_refused(given: dict[str, Any], message: str) -> None:
    dn.Counts(PLAN, moments=MOMENTS)
    with pytest.raises(dn.CountError, match=message):
        dn.Counts(PLAN, **given)


def test_subset_selection_always_shows_as_many() -> None:
    plan = dn.Plan(dn.Schema([dn.Choice("age", [*"abcdef"])]), {"age": dn.SubsetSelection(epsilon=1.0, size=2)})
    dn.Counts(plan, {"age": [10, 5, 5, 4, 3, 2, 1]})
    with pytest.raises(dn.CountError, match="every report shows 2 values of 'age'"):
        dn.Counts(plan, {"age": [10, 5, 5, 4, 3, 2, 2]})


def test_headers_say_no_more_than_the_limits() -> None:
    """Text of 2^28 bytes, four to a letter, in one piece or several; integers of what room there is."""
    letters = 1 << 26
    for shape, length, room, said in (
        ((), letters, 1 << 28, None),
        ((), letters + 1, 1 << 30, "counts are integers"),
        ((2,), letters // 2, 1 << 28, None),
        ((3,), letters // 2, 1 << 30, "for which the file has no room"),
        ((2,), 3, 24, None),
        ((2,), 3, 23, "for which the file has no room"),
    ):
        header = counts_files.Header("x", np.dtype(f"<U{length}"), shape, room)
        if said is None:
            header.check()
        else:
            with pytest.raises(dn.CountError, match=said):
                header.check()
    counts_files.Header("x", np.dtype(np.int64), (2, 3), 48).check()
    with pytest.raises(dn.CountError, match=r"'x' says that it has shape \(2, 3\), for which"):
        counts_files.Header("x", np.dtype(np.int64), (2, 3), 47).check()


def test_an_array_of_another_version_of_the_format_is_read(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array(TABLE), version=(2, 0))
    forged(tmp_path / "counts.npz", table_0=file.getvalue())
    assert dn.Counts.load(tmp_path / "counts.npz").array("smoker", "age").tolist() == TABLE
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array(TABLE), version=(3, 0))
    forged(tmp_path / "counts.npz", table_0=file.getvalue())
    with pytest.raises(dn.CountError, match="or it is damaged"):
        dn.Counts.load(tmp_path / "counts.npz")


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    forged(tmp_path / "counts.npz")
    with zipfile.ZipFile(tmp_path / "counts.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("table 0.npy", npy((2, 4), data=bytes(64)))
    with pytest.raises(dn.CountError, match="counts.npz: two arrays have one name"):
        dn.Counts.load(tmp_path / "counts.npz")


def test_a_source_is_kept_to_two_hundred_letters(tmp_path: Path) -> None:
    """Its name, a blank, and as much of its words as is left."""
    own = dn.Counts(PLAN, {("smoker", "age"): TABLE}).of_sources({"0123456789": "w" * 300, "b": "two words"})
    own.save(tmp_path / "counts.npz")
    assert dict(dn.Counts.load(tmp_path / "counts.npz").sources) == {"0123456789": "w" * 189, "b": "two words"}
