"""The data of a group: many times id and report, as bytes or as rows of an array."""

import zlib

import numpy as np
import numpy.typing as npt

from deniable.collect.stores.store import ID_BYTES


def rows_of(data: bytes, step: int) -> npt.NDArray[np.uint8]:
    """A row of so many bytes for each report."""
    return np.frombuffer(data, np.uint8).reshape(-1, step)


def checksum(data: bytes, plan: int) -> int:
    """The CRC-32 of the data of a group of a plan, which any single bit that flips changes."""
    return zlib.crc32(data, plan)


def is_damaged(data: bytes, plan: int, size: int, crc: int | None) -> bool:
    """Whether data are no group of a plan whose reports have so many bytes; early groups have no checksum."""
    return not data or len(data) % (ID_BYTES + size) > 0 or crc not in (None, checksum(data, plan))


def keys_of(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each row as numbers in the same order."""
    return np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype(np.uint64)


def ids_in(data: bytes, size: int) -> bytes:
    """The ids, one after another, where reports have so many bytes."""
    return rows_of(data, ID_BYTES + size)[:, :ID_BYTES].tobytes()


def report_in(data: bytes, id: bytes, size: int) -> bytes | None:
    """The report that sorted data hold by an id, by bisection."""
    step = ID_BYTES + size
    low, high = 0, len(data) // step
    while low < high:
        middle = (low + high) // 2
        found = data[middle * step : middle * step + ID_BYTES]
        if found == id:
            return data[middle * step + ID_BYTES : (middle + 1) * step]
        low, high = (middle + 1, high) if found < id else (low, middle)
    return None
