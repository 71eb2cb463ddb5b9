"""Files of counts: NumPy's .npz, a zip archive of arrays, with the plan inside.

Nothing is trusted before it is checked: of every array the header alone is read first, and its type and shape must be
what the plan gives and what the archive's entry has room for. So no file, however it was made, takes more memory than
counts of its plan do.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from deniable.counts.checks import checked_names
from deniable.counts.layout import UNKNOWN, Names, Repeats, patterns_shape
from deniable.errors import CountError, PlanError, SchemaError
from deniable.files import Sources, file_source, replacing
from deniable.files.stores import AnyFile, file_at
from deniable.files.wrong_kinds import instead_of
from deniable.kernels import physical_memory
from deniable.survey.plan import Plan

Arrays = dict[str, npt.NDArray[Any]]

MOST_TEXT = 1 << 28  # The plan, and each list of names, takes at most this many bytes.
MOST_OF_SOURCE = 200  # A source, its random name and words for it, takes at most so many letters.
OF_ALL = {"plan", "sources", "repeats"}  # These arrays are of all arms together.
TOLD = {"n": 0, "names": 1}  # These arrays have so many axes, and a shape that no plan gives.
# What a damaged archive or header raises, as NumPy and zipfile read it.
DAMAGED = (
    KeyError, ValueError, IndexError, AttributeError, EOFError, TypeError, RuntimeError, SyntaxError, BadZipFile,
    zlib.error, NotImplementedError, OverflowError, MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class Header:
    """What an array in a file says of itself: its type and its shape, and the room that the archive has for it."""

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    room: int

    @property
    def size(self) -> int:
        """How many bytes the array takes."""
        return prod(self.shape) * self.dtype.itemsize

    def check(self) -> None:
        """Refuse what is neither numbers nor text, or is larger than its place in the archive."""
        text = self.dtype.kind == "U"
        if not (text or self.dtype.kind in "iu") or self.dtype.itemsize > (MOST_TEXT if text else 8):
            raise CountError(f"{self.key!r} holds {self.dtype}, and counts are integers")
        if self.size > self.room or (text and self.size > MOST_TEXT):
            raise CountError(f"{self.key!r} says that it has shape {self.shape}, for which the file has no room")


def write_arrays(
    path: str | AnyFile, plan: Plan, of_arms: Sequence[Arrays], sources: Sources, repeats: Repeats
) -> None:
    """Write a plan, the arrays of each of its arms, whose reports these are and whether some stand twice.

    The file is written whole or not at all.
    """
    arrays = {"plan": np.array(plan.to_json())}
    if sources:
        arrays["sources"] = np.array([f"{name} {words}"[:MOST_OF_SOURCE] for name, words in sources.items()])
    if repeats.looked:
        arrays["repeats"] = np.array([repeats.looked, repeats.found])
    for place, own in enumerate(of_arms):
        prefix = f"arm {place} " if plan.has_arms else ""
        arrays |= {prefix + key: array for key, array in own.items()}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_arrays(path: str | AnyFile) -> tuple[Plan, list[Arrays], Sources, Repeats]:
    """The plan in a file of counts, the arrays of each arm, whose reports they are, and whether some stand twice.

    Headers are checked first. A file that does not say its sources, as those of version 0.1.0, is its own.
    """
    try:
        with file_at(path).open("rb") as file, ZipFile(file) as archive:
            headers = {header.key: header for header in map(_header(archive), archive.infolist())}
            if len(headers) < len(archive.infolist()):
                raise CountError("two arrays have one name")
            headers["plan"].check()
            for header in headers.values():
                header.check()
            plan = Plan.from_json(str(_array(archive, headers["plan"])))
            found = [
                {key: _array(archive, own[key]) for key in _checked(plan.arms[place], own, archive)}
                for place, own in enumerate(_of_arms(plan, headers))
            ]
            told = headers.get("sources")
            texts = [] if told is None else _array(archive, told).tolist()
            sources = dict(text.partition(" ")[::2] for text in texts) if texts else file_source(path)
            return plan, found, sources, _repeats(archive, headers.get("repeats"))
    except OSError as error:
        raise CountError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (CountError, PlanError, SchemaError) as error:
        raise CountError(f"{path}: {error}") from None
    except DAMAGED:
        raise CountError(
            f"{path}: {instead_of('counts', path) or 'is not a file of counts, or it is damaged'}"
        ) from None


def _repeats(archive: ZipFile, header: Header | None) -> Repeats:
    """What was found of reports that stand twice; nobody looked in a file that does not say."""
    if header is None:
        return UNKNOWN
    if header.shape != (2,) or header.dtype.kind not in "iu":
        raise CountError(f"'repeats' must be two integers; found {header.dtype}, shape {header.shape}")
    looked, found = _array(archive, header).tolist()
    if not 0 <= found <= looked:
        raise CountError(f"'repeats' says that {found:,} of {looked:,} runs of reports stand twice")
    return Repeats(looked, found)


def _header(archive: ZipFile) -> Callable[[ZipInfo], Header]:
    """What reads the header of an entry."""

    def read(entry: ZipInfo) -> Header:
        with archive.open(entry) as file:
            version = np.lib.format.read_magic(file)
            readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = readers[version](file)
        return Header(entry.filename.removesuffix(".npy"), dtype, shape, entry.file_size)

    return read


def _array(archive: ZipFile, header: Header) -> npt.NDArray[Any]:
    """An array, whose header has been checked; the archive's checksum is checked while it is read to its end."""
    with archive.open(f"{header.key}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):
            raise CountError(f"{header.key!r} goes on after its end")
    return array


def _of_arms(plan: Plan, headers: Mapping[str, Header]) -> Iterator[dict[str, Header]]:
    """The headers of each arm, by keys without the arm's prefix."""
    if not plan.has_arms:
        yield {key: header for key, header in headers.items() if key not in OF_ALL}
        return
    of_arm: dict[str, dict[str, Header]] = {str(place): {} for place in range(len(plan.arms))}
    for key in headers.keys() - OF_ALL:
        _, place, rest = key.split(" ", 2)
        of_arm[place][rest] = headers[key]
    yield from of_arm.values()


def _checked(plan: Plan, headers: Mapping[str, Header], archive: ZipFile) -> list[str]:
    """The keys of an arm's arrays, after a check that they have the shapes that its plan gives."""
    needed = 0
    for key, header in headers.items():
        kind, _, place = key.partition(" ")
        if kind in TOLD:
            if len(header.shape) != TOLD[kind]:
                raise CountError(f"{key!r} must have {TOLD[kind]} axes; found shape {header.shape}")
            continue
        names = () if kind == "moments" else _names(plan, archive, headers[f"names {place}"])
        shapes = _shapes(plan, kind, names, header)
        if header.shape not in shapes:
            raise CountError(f"{key!r} must have shape {shapes[0]} by its plan; found {header.shape}")
        needed += header.size
    if needed > physical_memory() // 2:
        raise CountError(f"its arrays take {needed / 1e9:,.1f} GB, more than half of the memory here")
    return list(headers)


def _names(plan: Plan, archive: ZipFile, header: Header) -> Names:
    """The units of a table, by the array of their names."""
    if header.dtype.kind != "U" or len(header.shape) != 1:
        raise CountError(f"{header.key!r} must be a list of names; found {header.dtype}, shape {header.shape}")
    return checked_names(plan, tuple(_array(archive, header).tolist()))


def _shapes(plan: Plan, kind: str, names: Names, header: Header) -> list[tuple[int, ...]]:
    """The shapes that an array of this kind may have."""
    if kind == "moments":
        size = 1 + sum(protocol.columns for protocol in plan.protocols)
        return [(size, size), (size, size, size)]
    if kind == "table":
        every = tuple(1 + plan.units[name].columns for name in names)
        return [every, tuple(len(plan.units.schema[name].shown) for name in names)]
    if kind in ("patterns", "shown"):
        shape = patterns_shape(plan, names)
        if shape is None or len(header.shape) != 1 or header.shape[0] > prod(shape):
            raise CountError(f"{header.key!r} has more patterns than its plan gives")
        return [header.shape]
    raise CountError(f"{header.key!r} is nothing that counts have")
