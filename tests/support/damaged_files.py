"""Files with damage, and what reading them gives: the same data, an error of this library, or something worse."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn

SAME, REFUSED, DIFFERENT, UNDECLARED = "same data", "refused", "different data", "undeclared exception"


def flipped(raw: bytes, rng: np.random.Generator) -> bytes:
    """One bit is turned over."""
    place = int(rng.integers(8 * len(raw)))
    damaged = bytearray(raw)
    damaged[place // 8] ^= 1 << place % 8
    return bytes(damaged)


def cut(raw: bytes, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return raw[: int(rng.integers(len(raw)))]


def swapped(raw: bytes, rng: np.random.Generator) -> bytes:
    """Two pieces that do not overlap have changed places."""
    most = max(1, min(64, len(raw) // 4))
    size = int(rng.integers(1, most + 1))
    first, second = np.sort(rng.choice(len(raw) // size, 2, replace=False)) * size
    one, other = raw[first : first + size], raw[second : second + size]
    return raw[:first] + other + raw[first + size : second] + one + raw[second + size :]


def zeroed(raw: bytes, rng: np.random.Generator) -> bytes:
    """A piece was never written, as after a power cut."""
    size = int(rng.integers(1, max(2, len(raw) // 8)))
    first = int(rng.integers(len(raw) - size + 1))
    return raw[:first] + bytes(size) + raw[first + size :]


DAMAGES = (flipped, cut, swapped, zeroed)


@dataclass(frozen=True)
class Kind:
    """A kind of file: its ending, an undamaged one, and how it is read into something that can be compared."""

    ending: str
    raw: bytes
    read: Callable[[Path], Any]


def outcomes(kind: Kind, times: int, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """How often each kind of damage had each outcome, and the undeclared exceptions in words."""
    found: Counter[tuple[str, str]] = Counter()
    undeclared = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{kind.ending}"
        path.write_bytes(kind.raw)
        right = kind.read(path)
        for name, raw in damaged(kind.raw, times, seed):
            path.write_bytes(raw)
            try:
                outcome = SAME if kind.read(path) == right else DIFFERENT
            except dn.DeniableError:
                outcome = REFUSED
            except Exception as error:
                outcome = UNDECLARED
                undeclared.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
            found[name, outcome] += 1
    return found, undeclared


def damaged(raw: bytes, times: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many damaged copies, each kind of damage as often; those that happen to be whole are left out."""
    rng = np.random.default_rng(seed)
    for number in range(times):
        damage = DAMAGES[number % len(DAMAGES)]
        if (changed := damage(raw, rng)) != raw:
            yield damage.__name__, changed


def table(kinds: dict[str, Counter[tuple[str, str]]]) -> str:
    """A line for each kind of file and of damage, with how often each outcome was seen."""
    head = ("file", "damage", SAME, REFUSED, DIFFERENT, UNDECLARED)
    rows = [
        (file, damage.__name__, *(str(found[damage.__name__, one]) for one in head[2:]))
        for file, found in kinds.items()
        for damage in DAMAGES
    ]
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in [head, *rows])
