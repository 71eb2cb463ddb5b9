"""A folder of files that several processes fill: whole, or not at all.

They write into a hidden folder within it, of this job alone, which finding files passes over. Whoever began moves the
files into the folder when all are there, and after an error takes the hidden folder away. So what a process still
writes that nobody could stop never lies among the results.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from deniable.errors import DeniableError, abbreviated
from deniable.files import on_disk
from deniable.files.stores import AnyFile, StoredFile, file_at

MOVES = 16  # So many files are moved at once: a store takes a while for each.


@dataclass
class Filling:
    """Where files are written, and the names of those that are kept: whoever fills a folder says them at the end."""

    hidden: AnyFile
    names: Sequence[str] = ()


def empty_folder(path: Any) -> AnyFile:
    """The folder that a path or an address means, which must be empty or not there yet. It is not made."""
    if not isinstance(path, str | AnyFile) or not str(path).strip() or re.fullmatch(r"[^/]+:/*", str(path)):
        raise DeniableError(f"the files of a job go to a folder, by its path or address; found {abbreviated(path)}")
    folder = file_at(path)
    if isinstance(folder, StoredFile):
        folder = StoredFile(folder.address.rstrip("/"))
        folder.check_written()
    else:
        folder = folder.resolve()
    _check_empty(folder)
    return folder


def _check_empty(folder: AnyFile) -> None:
    if isinstance(folder, Path) and folder.is_file():
        raise DeniableError(f"{folder}: is a file; files go to a new folder")
    try:
        names = folder.names() if isinstance(folder, StoredFile) else [one.name for one in folder.iterdir()]
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise DeniableError(f"{folder}: cannot be a folder: a part of its path is a file") from None
    except OSError as error:
        raise DeniableError(f"{folder}: cannot be written: {error.strerror}") from None
    if not all(name.startswith(".") for name in names):
        raise DeniableError(f"{folder}: is not empty; reports go to a new folder, lest old ones be counted with them")


@contextmanager
def filled(folder: AnyFile) -> Iterator[Filling]:
    """Fill a folder that is empty, or not there: the files that are kept are in it at the end, after an error none."""
    own = Filling(folder / f".{token_hex(8)}.writing")
    made = isinstance(folder, Path) and not folder.exists()
    moved: list[AnyFile] = []
    try:
        if isinstance(own.hidden, Path):
            own.hidden.mkdir(parents=True)
        yield own
        _check_empty(folder)  # another job may have filled it meanwhile
        moved += [folder / name for name in own.names]
        with ThreadPoolExecutor(MOVES) as pool:
            list(pool.map(_move, [own.hidden / name for name in own.names], moved))
        if isinstance(folder, Path):
            on_disk(folder)
    except BaseException as error:
        for file in moved:
            file.unlink(missing_ok=True)
        _remove(own.hidden)
        if isinstance(folder, Path) and made:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        if isinstance(error, OSError):
            raise DeniableError(f"{folder}: cannot be written: {error.strerror or error}") from None
        raise
    _remove(own.hidden)


def _move(file: AnyFile, target: AnyFile) -> None:
    """Give a file that was written the name that it is to have."""
    try:
        file.rename(target)  # type: ignore[arg-type]  # both are of one kind
    except FileNotFoundError:
        raise DeniableError(
            f"{file}: was written, and is not here; the folder must be one that workers and driver share"
        ) from None


def _remove(hidden: AnyFile) -> None:
    """Take a hidden folder away, so that who still writes into it finds it no more."""
    if isinstance(hidden, StoredFile):
        hidden.remove()
        return
    gone = hidden.with_suffix(".gone")  # at once, while files that are being written are in it
    with suppress(OSError):
        hidden = hidden.rename(gone)
    shutil.rmtree(hidden, ignore_errors=True)
