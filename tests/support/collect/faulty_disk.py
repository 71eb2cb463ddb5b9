"""Disks that record what is written to them, so that power can be cut anywhere, or that fail at a chosen operation."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

Operation = tuple[Any, ...]  # (what, name of the file, ...)
SECTOR = 512


class Disk(apsw.VFS):
    """The machine's disk under another name, every operation of which goes through `before`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")

    def before(self, operation: Operation) -> None:
        raise NotImplementedError

    def xOpen(self, name: Any, flags: list[int]) -> "File":  # noqa: N802 - SQLite's names
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.before(("open", Path(path or "temporary").name))
        return File(self, name, flags, Path(path or "temporary").name)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        self.before(("delete", Path(name).name))
        super().xDelete(name, syncdir)


class File(apsw.VFSFile):
    """A file on such a disk."""

    def __init__(self, disk: Disk, name: Any, flags: list[int], short: str) -> None:
        super().__init__("", name, flags)
        self.disk, self.short = disk, short

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.disk.before(("read", self.short))
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.before(("write", self.short, offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.before(("sync", self.short))
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.before(("truncate", self.short, size))
        super().xTruncate(size)


class RecordingDisk(Disk):
    """A disk that remembers all that was done to it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.operations: list[Operation] = []

    def before(self, operation: Operation) -> None:
        if operation[0] not in ("read", "open"):
            self.operations.append(operation)


class ForgetfulDisk(RecordingDisk):
    """A disk whose sync fails now and then, and which forgets what was to be synced, as systems do afterwards."""

    def __init__(self, name: str, rng: random.Random, chance: float) -> None:
        super().__init__(name)
        self.rng, self.chance = rng, chance

    def before(self, operation: Operation) -> None:
        if operation[0] == "sync" and self.rng.random() < self.chance:
            self.operations.append(("forgotten", operation[1]))
            raise apsw.IOError("made to fail at a sync")
        super().before(operation)


class FailingDisk(Disk):
    """A disk whose operation of a certain number fails, and all after it until it is mended, if it is to last."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.count = 0
        self.fails_at: int | None = None
        self.lasting = False
        self.error: type[apsw.Error] = apsw.IOError
        self.failed = 0

    def set(self, fails_at: int, error: type[apsw.Error], lasting: bool) -> None:
        self.count, self.failed = 0, 0
        self.fails_at, self.error, self.lasting = fails_at, error, lasting

    def mend(self) -> None:
        self.fails_at = None

    def before(self, operation: Operation) -> None:
        if self.error is apsw.FullError and operation[0] not in ("write", "truncate", "sync"):
            return  # a full disk can be read
        self.count += 1
        if self.fails_at is not None and (self.count == self.fails_at or (self.lasting and self.count > self.fails_at)):
            self.failed += 1
            raise self.error(f"made to fail at {operation[0]} {self.count}")


def after_power_cut(operations: Sequence[Operation], rng: random.Random) -> dict[str, bytes]:
    """Files as they may be found: what was synced, and of later writes none, all or some, in any part of sectors."""
    files: dict[str, bytearray] = {}
    loose: dict[str, list[Operation]] = {}
    for operation in operations:
        what, name = operation[0], operation[1]
        if what == "sync":
            for one in loose.pop(name, []):
                _apply(files.setdefault(name, bytearray()), one)
        elif what == "delete":
            files.pop(name, None)
            loose.pop(name, None)
        elif what == "forgotten":  # it can be read until the power is cut, but no later sync writes it
            loose.pop(name, None)
        elif what in ("write", "truncate"):
            loose.setdefault(name, []).append(operation)
    for name, later in loose.items():
        mode = rng.choice(["none", "some", "some", "all"])
        for operation in later:
            if mode == "none" or (mode == "some" and rng.random() < 0.5):
                continue
            if operation[0] == "write" and rng.random() < 0.3:
                sectors = len(operation[3]) // SECTOR
                operation = (*operation[:3], operation[3][: SECTOR * rng.randrange(sectors + 1)])
            _apply(files.setdefault(name, bytearray()), operation)
    return {name: bytes(content) for name, content in files.items()}


def _apply(content: bytearray, operation: Operation) -> None:
    if operation[0] == "truncate":
        del content[operation[2] :]
        return
    _, _, offset, data = operation
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
