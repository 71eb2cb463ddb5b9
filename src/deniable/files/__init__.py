"""Files: finding those that are meant, and writing one whole or not at all, also when a signal asks to stop."""

import errno
import glob
import hashlib
import os
import platform
import secrets
import signal
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.errors import DeniableError
from deniable.files.stores import AnyFile, StoredFile, file_at

# The signals that have asked the process to stop since the `stopping` in force began, in the order they came.
_stop_signals: list[int] = []
# The temporary files that this process writes now.
_own_writing: set[Path] = set()


def expanded(
    source: str | AnyFile | Sequence[str | AnyFile], kinds: Mapping[str, str], error: type[DeniableError]
) -> list[AnyFile]:
    """The files that a path, a glob (`**` for any depth), a folder or a list of these means, each once.

    A list keeps its order. The files of a glob are sorted by name, and so are those in a folder that are of one of the
    kinds, which are named by the endings of files: `{".csv": "CSV"}`.
    """
    found: list[AnyFile] = []
    sources = [source] if isinstance(source, str | Path | StoredFile) else source
    if not sources:
        raise error("no files are given: the list is empty")
    for one in sources:
        if not str(one).strip():
            raise error("the path of a file is empty; is a variable of the shell not set?")
        matches = _matches(one, kinds)
        if not matches:
            files = " or ".join(dict.fromkeys(kinds.values()))
            wild = "no file matches" if glob.has_magic(str(one)) else "no such file"
            raise error(f"{one}: {f'no {files} files in this folder' if file_at(one).is_dir() else wild}")
        found += matches
    resolved = [_spelled(_resolved(path, error)) for path in found]
    if len(set(resolved)) < len(resolved):
        twice = next(path for path, own in zip(found, resolved, strict=True) if resolved.count(own) > 1)
        raise error(f"{twice} is given more than once, and everybody in it would be counted more than once")
    return found


def _matches(one: str | AnyFile, kinds: Mapping[str, str]) -> list[AnyFile]:
    """The files that one path, glob or folder means, sorted by name; none if there is nothing there."""
    path = file_at(one)
    if isinstance(path, StoredFile):
        return [*path.matches(kinds)]
    if path.is_file():
        return [path]
    if path.is_dir():
        seen = (file for file in path.iterdir() if not file.name.startswith("."))
        return [*sorted(file for file in seen if file.suffix.lower() in kinds)]
    return [*sorted(map(Path, glob.glob(str(path), recursive=True)))]  # noqa: PTH207 - it takes any path


def _spelled(file: AnyFile) -> AnyFile:
    """A file by the one address that it has for its store, so that two spellings are known to be the same."""
    return file.spelled if isinstance(file, StoredFile) else file


def _resolved(path: str | AnyFile, error: type[DeniableError]) -> AnyFile:
    """The path that links lead to; those that lead in a circle are an error."""
    try:
        return file_at(path).resolve()
    except (OSError, RuntimeError):  # Python before 3.13 raises the latter
        raise error(f"{path}: links lead in a circle, and to no file") from None


def check_target(path: str | AnyFile, *inputs: str | AnyFile) -> AnyFile:
    """The resolved path of a file that is about to be written, checked before long work starts.

    Its folder must exist, what is there must be an ordinary file, and it must be none of the inputs.
    """
    if not str(path).strip():
        raise DeniableError("the path to write to is empty; is a variable of the shell not set?")
    target = _resolved(path, DeniableError)
    if target in (_resolved(source, DeniableError) for source in inputs):
        raise DeniableError(f"{path}: is read from, and would be written over; give another output")
    if isinstance(target, StoredFile):
        target.check_target()
        return target
    if not target.parent.is_dir():
        raise DeniableError(f"{path}: cannot be written: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        what = "it is a folder" if target.is_dir() else "it exists and is not a regular file"
        raise DeniableError(f"{path}: cannot be written: {what}")
    return target


def check_ending(path: str | AnyFile, ending: str, what: str) -> None:
    """Refuse to write a file under a name that says it were of another kind; `what` says what is written to where."""
    if file_at(path).suffix.lower() != ending and str(path).strip():
        raise DeniableError(f"{path}: {what}; call it {Path(str(path)).with_suffix(ending).name}")


# Whose numbers are in something: for each source a random name, or that of a file as it is now, and words for it.
Sources = Mapping[str, str]


def new_source(words: str) -> dict[str, str]:
    """A source that is no other: two that happen to have the same content are not the same."""
    return {secrets.token_hex(16): words}


def file_source(path: str | AnyFile) -> dict[str, str]:
    """A file as it is now, for one that does not say what its source is: by its path, its length and its time."""
    file = _spelled(file_at(path).resolve())
    name = hashlib.sha256(f"{file}/{file_state(file)}".encode(errors="replace")).hexdigest()[:32]
    return {name: file.name}


def file_size(path: str | AnyFile) -> int:
    """How many bytes a file has."""
    file = file_at(path)
    return file.size if isinstance(file, StoredFile) else file.stat().st_size


def file_state(path: str | AnyFile) -> str:
    """What changes when a file does: its length and its time, or what a store has for these."""
    file = file_at(path)
    if isinstance(file, StoredFile):
        return file.state
    state = file.stat()
    return f"{state.st_size}/{state.st_mtime_ns}"


def joined_sources(first: Sources, second: Sources, error: type[DeniableError], what: str) -> Sources:
    """The sources of both; one that both have is an error, as everybody in it would be counted twice."""
    return all_sources([(first, what), (second, what)], error)


def all_sources(found: Iterable[tuple[Sources, str]], error: type[DeniableError]) -> Sources:
    """The sources of some things, each with words for it and what came before, for the error if these share one."""
    every: dict[str, str] = {}
    for sources, what in found:
        if both := [name for name in sources if name in every]:
            raise error(f"{what} share a source, {every[both[0]]}, and everybody in it would be counted twice")
        every.update(sources)
    return every


@contextmanager
def replacing(path: str | AnyFile) -> Iterator[Path]:
    """Write a file atomically: give a temporary name beside it to write to, and rename that at the end.

    On any error, and when the process was asked to stop, the temporary file is removed and an old file stays. A link is
    followed, an old file's permissions are kept, and what is not an ordinary file is left alone. The file is on the
    disk before it gets its name, so that not even a power cut leaves half of it there. For an address, the temporary
    file is in a folder of this machine, and is sent at the end.
    """
    target = check_target(path)
    if isinstance(target, StoredFile):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / (target.name or "file")
            yield temporary
            check_stopped()
            target.put(temporary)
        return
    mode = target.stat().st_mode if target.exists() else None
    _remove_leftovers(target)
    temporary = target.with_name(f".{_writers(target)}.{os.getpid()}.{secrets.token_hex(6)}.part")
    _own_writing.add(temporary)
    try:
        temporary.touch()  # says at once if the folder cannot be written to
    except OSError as error:
        _own_writing.discard(temporary)
        raise DeniableError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield temporary
        check_stopped()
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        on_disk(temporary)
        os.replace(temporary, target)  # noqa: PTH105 - atomic on every system
        on_disk(target.parent)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DeniableError(f"{path}: cannot be written: {os.strerror(error.errno)}") from None
    finally:
        temporary.unlink(missing_ok=True)
        _own_writing.discard(temporary)


def on_disk(path: Path) -> None:
    """Wait until a file, or on POSIX systems the names in a folder, are on the disk, if the file system says."""
    if path.is_dir() and os.name != "posix":
        return
    with suppress(OSError):
        number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _writers(target: Path) -> str:
    """What begins the temporary names of one target that processes of this machine write."""
    return hashlib.sha256(f"{platform.node()}/{target.name}".encode(errors="replace")).hexdigest()[:12]


def _remove_leftovers(target: Path) -> None:
    """Remove what processes of this machine that are no more, killed or crashed, left of writing the same target."""
    if os.name != "posix":  # elsewhere a process cannot be asked for without harm
        return
    with suppress(OSError):
        for left in target.parent.glob(f".{_writers(target)}.*.part"):
            number = left.name.split(".")[2]
            if number.isdecimal() and left not in _own_writing and not _lives(int(number)):
                left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    """Whether there is such another process, whoever runs it: in a container, those before had the same number."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


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
