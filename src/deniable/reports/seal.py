"""The seal of a Parquet file: a checksum of its footer, which has none, while each page has its own.

A reader of Parquet finds everything by the footer, at the end of the file, and so ends up anywhere if that is damaged.
The seal stands right before the footer, where readers do not look and rewriting leaves nothing of it:

    pages ...  MARK  source  SHA-256 of source and all that follows  footer  length of the footer  PAR1

The source is a random number that says whose reports these are: a copy has the same, other reports never do.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from deniable.errors import ReportError
from deniable.files.stores import AnyFile, StoredFile, file_at

MARK = b"deniable.footer:"  # It begins a seal.
SOURCE = 16  # The source of a file has so many bytes.
END = 8  # After the footer stand its length, 4 bytes with the lowest first, and the 4 letters PAR1.


def seal(path: Path, source: str) -> None:
    """Put a seal before the footer of a Parquet file that was just written; its source has 32 hexadecimal digits."""
    with path.open("r+b") as file:
        start = _footer(file)
        assert start is not None
        file.seek(start)
        rest = file.read()
        file.seek(start)
        own = bytes.fromhex(source)
        file.write(MARK + own + sha256(own + rest).digest() + rest)


def check_seal(path: str | AnyFile) -> str | None:
    """The source of a file; refused if its footer is not the one that was sealed. Without a seal, nothing is known."""
    own = file_at(path)
    with own.ranges() if isinstance(own, StoredFile) else own.open("rb") as file:
        start = _footer(file)
        size = len(MARK) + SOURCE + sha256().digest_size
        if start is None or start < size:
            return None
        file.seek(start - size)
        end = file.read()  # at once: each read asks a store
        mark, rest = end[: len(MARK)], end[len(MARK) :]
        source, digest, footer = rest[:SOURCE], rest[SOURCE : size - len(MARK)], rest[size - len(MARK) :]
        if mark != MARK:
            return None
        if sha256(source + footer).digest() != digest:
            raise ReportError(f"{path}: is damaged: its footer is not as it was written; get the file again")
        return source.hex()


def _footer(file: BinaryIO) -> int | None:
    """Where the footer of a file begins; None if its length cannot be right."""
    end = file.seek(0, os.SEEK_END)
    if end < END:
        return None
    file.seek(-END, os.SEEK_END)
    start = end - END - int.from_bytes(file.read(4), "little")
    return start if start >= 0 else None
