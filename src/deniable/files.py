"""Files: finding those that are meant, and writing one whole or not at all, also when a signal asks to stop."""

import errno
import glob
import os
import secrets
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from deniable.errors import DeniableError

# The signals that have asked the process to stop since the `stopping` in force began, in the order they came.
_stop_signals: list[int] = []


def expanded(
    source: str | Path | Sequence[str | Path], kinds: Mapping[str, str], error: type[DeniableError]
) -> list[Path]:
    """The files that a path, a glob (`**` for any depth), a folder or a list of these means, each once.

    A list keeps its order. The files of a glob are sorted by name, and so are those in a folder that are of one of the
    kinds, which are named by the endings of files: `{".csv": "CSV"}`.
    """
    found: list[Path] = []
    sources = [source] if isinstance(source, str | Path) else source
    if not sources:
        raise error("no files are given: the list is empty")
    for one in sources:
        if not str(one).strip():
            raise error("the path of a file is empty; is a variable of the shell not set?")
        matches = _matches(one, kinds)
        if not matches:
            files = " or ".join(kinds.values())
            wild = "no file matches" if glob.has_magic(str(one)) else "no such file"
            raise error(f"{one}: {f'no {files} files in this folder' if Path(one).is_dir() else wild}")
        found += matches
    resolved = [path.resolve() for path in found]
    if len(set(resolved)) < len(resolved):
        twice = next(path for path in found if resolved.count(path.resolve()) > 1)
        raise error(f"{twice} is given more than once, and everybody in it would be counted as often")
    return found


def _matches(one: str | Path, kinds: Mapping[str, str]) -> list[Path]:
    """The files that one path, glob or folder means, sorted by name; none if there is nothing there."""
    path = Path(one)
    if path.is_file():
        return [path]
    if path.is_dir():
        seen = (file for file in path.iterdir() if not file.name.startswith("."))
        return sorted(file for file in seen if file.suffix.lower() in kinds)
    return sorted(map(Path, glob.glob(str(one), recursive=True)))  # noqa: PTH207 - it takes any path


def check_target(path: str | Path, *inputs: str | Path) -> Path:
    """The resolved path of a file that is about to be written, checked before long work starts.

    Its folder must exist, what is there must be an ordinary file, and it must be none of the inputs.
    """
    if not str(path).strip():
        raise DeniableError("the path to write to is empty; is a variable of the shell not set?")
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise DeniableError(f"{path}: cannot be written: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        what = "it is a folder" if target.is_dir() else "it exists and is not a regular file"
        raise DeniableError(f"{path}: cannot be written: {what}")
    if target in (Path(source).resolve() for source in inputs):
        raise DeniableError(f"{path}: is read from, and would be written over; give another output")
    return target


def check_ending(path: str | Path, ending: str, what: str) -> None:
    """Refuse to write a file under a name that says it were of another kind; `what` says what is written to where."""
    if Path(path).suffix.lower() != ending and str(path).strip():
        raise DeniableError(f"{path}: {what}; call it {Path(path).with_suffix(ending).name}")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Write a file atomically: give a temporary name beside it to write to, and rename that at the end.

    On any error, and when the process was asked to stop, the temporary file is removed and an old file stays. A link is
    followed, an old file's permissions are kept, and what is not an ordinary file is left alone.
    """
    target = check_target(path)
    mode = target.stat().st_mode if target.exists() else None
    temporary = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        temporary.touch()  # says at once if the folder cannot be written to
    except OSError as error:
        raise DeniableError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield temporary
        check_stopped()
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)  # noqa: PTH105 - atomic on every system
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DeniableError(f"{path}: cannot be written: {os.strerror(error.errno)}") from None
    finally:
        temporary.unlink(missing_ok=True)


class Stopped(KeyboardInterrupt):
    """A signal asked to stop.

    Python remembers a plain KeyboardInterrupt that passes through `exec` of a string, as importing a dataclass does,
    and then ends the process by SIGINT whatever its exit status. Of a subclass it does not.
    """


@contextmanager
def stopping(*numbers: signal.Signals) -> Iterator[None]:
    """Let these signals raise `Stopped`, so that a file being written is removed before the process ends.

    The `Stopped` that leaves has the number of the last signal as its argument.
    """

    def stop(number: int, _frame: object) -> None:
        _stop_signals.append(number)
        raise Stopped

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(*_stop_signals[-1:]) from None
    finally:
        _stop_signals.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


def check_stopped() -> None:
    """Raise `Stopped` if a signal asked to stop: the first one may be lost in a library's callback."""
    if _stop_signals:
        raise Stopped
