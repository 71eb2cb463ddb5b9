"""Writing a file whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deniable.errors import DeniableError


def check_target(path: str | Path, *inputs: str | Path) -> Path:
    """Where `path` leads, if a file can be written there and it is none of the inputs: to ask before long work."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise DeniableError(f"{path}: cannot be written: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise DeniableError(f"{path}: cannot be written: it is there, and it is not an ordinary file")
    if target in (Path(source).resolve() for source in inputs):
        raise DeniableError(f"{path}: is read from, and would be written over; give another output")
    return target


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; rename it to `path` at the end, or remove it on any error.

    A link is followed, an old file's permissions are kept, and what is not an ordinary file is left alone.
    """
    target = check_target(path)
    mode = target.stat().st_mode if target.exists() else None
    temporary = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        temporary.touch()  # says at once if the folder cannot be written to
        yield temporary
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)  # noqa: PTH105 - atomic on every system
    except PermissionError as error:
        raise DeniableError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
