"""Files in object stores and on other file systems, by their addresses: s3://, gs://, abfs://, https://, memory://.

Packages of the fsspec family do the talking, and are imported when an address is first met. A `StoredFile` answers what
the rest of the house asks of a `Path` that it reads.
"""

import errno
import glob
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from deniable.errors import DeniableError

CHANGES = ("size", "ETag", "etag", "mtime", "LastModified", "created")  # What stores tell that a new file changes.
READ_ONLY = ("http", "https")  # What is behind these addresses is read, never written.
CACHES = ("simplecache", "filecache", "blockcache")  # These may stand before an address, and keep what was read.
HERE = re.compile(r"(file|local)://")  # What follows is a path of this machine, and is read and written as one.


def is_address(path: object) -> bool:
    """Whether a path is the address of something that is not on this machine's own file system."""
    return isinstance(path, StoredFile) or (
        isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+(://|::.*://)", path) is not None
    )


@dataclass(frozen=True)
class StoredFile:
    """A file by its address. What it is asked for, a `Path` is too."""

    address: str

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> "StoredFile":
        return StoredFile(f"{self.address.rstrip('/')}/{name}")

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        return PurePosixPath(self.address).suffix

    @property
    def name(self) -> str:
        """The last part of its address."""
        return PurePosixPath(self.address).name

    def is_file(self) -> bool:
        """Whether there is such a file."""
        fs, place = self._at()
        return bool(self._asked(fs.isfile, place))

    def is_dir(self) -> bool:
        """Whether there are files under this address."""
        fs, place = self._at()
        return bool(self._asked(fs.isdir, place))

    def resolve(self) -> "StoredFile":
        """Itself: an address has no links."""
        return self

    @property
    def spelled(self) -> "StoredFile":
        """The address that its store gives it, which other spellings of it (s3a:// for s3://) have, too."""
        if "::" in self.address:
            return self
        fs, place = self._at()
        return StoredFile(str(fs.unstrip_protocol(place)))

    def open(self, mode: str = "r", **options: Any) -> Any:
        """The open file, to be read from its start; an OSError, as of a path, if it cannot be opened."""
        fs, place = self._at()
        try:
            return fs.open(place, mode, **options)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "no such file", self.address) from None
        except Exception as error:  # each store has errors of its own
            raise OSError(errno.EIO, _told(error), self.address) from None

    def read_bytes(self) -> bytes:
        """All that it holds."""
        with self.open("rb") as file:
            return bytes(file.read())

    def ranges(self) -> Any:
        """The open file, of which ranges of bytes are fetched as they are asked for, and nothing beside them."""
        return self.open("rb", cache_type="none")

    @property
    def state(self) -> str:
        """What changes when the file does: its size, and the time or the tag that the store gives it."""
        fs, place = self._at()
        fs.invalidate_cache()  # what was listed before may have changed
        told = self._asked(fs.info, place)
        kept = [f"{key}={told[key]}" for key in CHANGES if key in told]
        return hashlib.sha256("/".join(kept).encode()).hexdigest()[:32]

    @property
    def size(self) -> int:
        """How many bytes it has."""
        fs, place = self._at()
        return int(self._asked(fs.size, place))

    def matches(self, endings: Mapping[str, str]) -> list["StoredFile"]:
        """The files that this address means: itself, those that match it as a glob, or those of a folder."""
        fs, place = self._at()
        fs.invalidate_cache()
        if self._asked(fs.isfile, place):
            return [self]
        if glob.has_magic(place) and not self._asked(fs.isdir, place):
            found = sorted(one for one in self._asked(fs.glob, place) if _hidden(one) <= _hidden(place))
        else:
            own = (one for one in self._places() if not PurePosixPath(one).name.startswith("."))
            found = sorted(one for one in own if PurePosixPath(one).suffix.lower() in endings)
        return [StoredFile(str(fs.unstrip_protocol(one))) for one in found]

    def put(self, file: Path) -> None:
        """Let it be a copy of a local file: whole, or not at all, as a store shows what has arrived to its end."""
        fs, place = self._at()
        with fs.transaction:
            self._asked(fs.put_file, str(file), place)

    def rename(self, target: "StoredFile") -> "StoredFile":
        """Let the store copy it to another address of its own, and forget it here."""
        fs, place = self._at()
        self._asked(fs.copy, place, target._at()[1])
        self.unlink()
        return target

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove it."""
        fs, place = self._at()
        if not missing_ok or self.is_file():
            self._asked(fs.rm_file, place)

    def remove(self) -> None:
        """Remove all that is under this address, if anything is."""
        fs, place = self._at()
        fs.invalidate_cache()
        if self.is_dir():
            self._asked(fs.rm, place, recursive=True)

    def names(self) -> list[str]:
        """The names of what is in a folder, without the mark that some programs put there for the folder itself."""
        return [PurePosixPath(one).name for one in self._places()]

    def _places(self) -> list[str]:
        fs, place = self._at()
        fs.invalidate_cache()
        there = self._asked(fs.ls, place, detail=False) if self._asked(fs.isdir, place) else []
        return [one for one in there if one.rstrip("/") != place.rstrip("/")]

    def check_written(self) -> None:
        """Refuse an address that nothing can be written to."""
        if self.address.split(":")[0] in READ_ONLY:
            raise DeniableError(f"{self}: cannot be written: it is an address to read from")

    def check_target(self) -> None:
        """Refuse what no file can be written to."""
        self.check_written()
        if self.address.endswith("/") or self.is_dir():
            raise DeniableError(f"{self}: cannot be written: it is a folder")

    def _at(self) -> tuple[Any, str]:
        """The file system, and the place on it."""
        if "::" in self.address and self.address.split("::")[0] not in CACHES:
            raise DeniableError(f"{self}: files are not read from within others, as archives; unpack it")
        try:
            from fsspec.core import url_to_fs

            found: tuple[Any, str] = url_to_fs(self.address)
        except ImportError as error:
            raise DeniableError(
                f"{self}: this address needs a package that is not here ({error}); "
                "pip install 'deniable[s3]' for s3://, or fsspec with the package of your store"
            ) from None
        except ValueError as error:
            raise DeniableError(f"{self}: {error}") from None
        return found

    def _asked(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """What the file system answers; its errors name the file."""
        try:
            return function(*arguments, **options)
        except FileNotFoundError:
            raise DeniableError(f"{self}: no such file") from None
        except Exception as error:  # each store has errors of its own
            raise DeniableError(f"{self}: {_told(error)}") from None


def _hidden(place: str) -> int:
    """How many of the folders and files of a path have a name that hides them."""
    return sum(name.startswith(".") for name in PurePosixPath(place).parts)


def _told(error: Exception) -> str:
    """The first line of what a store says, shortened."""
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return f"the store says: {first[:200]}"


AnyFile = Path | StoredFile


def file_at(path: str | AnyFile) -> AnyFile:
    """A file by its path, or by its address."""
    if isinstance(path, StoredFile):
        return path
    if isinstance(path, str) and (here := HERE.match(path)):
        return Path(path[here.end() :])
    return StoredFile(str(path)) if is_address(path) else Path(path)
