"""Every kernel with arguments to try it on: the table that tests and benchmarks both run over.

`compiled` and `plain` have the same functions. Each entry makes the arguments for `reports` reports and `columns`
evidence columns of a given density; the last argument is what the function adds to, if it returns nothing.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from deniable.client import PRIME
from deniable.kernels import compiled, plain
from deniable.kernels.bitplanes import new_planes

Arguments = tuple[Any, ...]


def planes(reports: int, columns: int, density: float, rng: np.random.Generator) -> Any:
    """Random planes, the first of them all ones."""
    made = new_planes(columns, reports)
    for row, plane in enumerate(made):
        packed = np.packbits((rng.random(reports) < density) | (row == 0), bitorder="little")
        plane.view(np.uint8)[: len(packed)] = packed
    return made


def _pairs(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    return planes(reports, columns, density, rng), np.zeros((columns,) * 2, np.int64)


def _triples(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    return planes(reports, columns, density, rng), np.zeros((columns,) * 3, np.int64)


def _table(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    """Features of 1, 2, 3, 1, ... columns, as many as there is room for."""
    sizes: list[int] = []
    while sum(sizes) + len(sizes) % 3 + 1 < columns and len(sizes) < 5:
        sizes.append(len(sizes) % 3 + 1)
    firsts = 1 + np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)
    heads = len(sizes) // 2
    shape = (int(np.prod(np.array(sizes[:heads]) + 1)), int(np.prod(np.array(sizes[heads:]) + 1)))
    bits = planes(reports, columns, density, rng)
    return bits, firsts.astype(np.int64), np.array(sizes, np.int64), heads, np.zeros(shape, np.int64)


def _flag_codes(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    addresses = _packed(reports, min(columns, 16), density, rng)
    return addresses, reports, np.zeros(0, np.int32), np.zeros(1 << len(addresses), np.int64)


def _mixed_codes(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    addresses = _packed(reports, min(columns, 9), density, rng)
    codes = rng.integers(7, size=reports, dtype=np.int32)
    return addresses, reports, codes, np.zeros(7 << len(addresses), np.int64)


def _copy(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    """Into every second row."""
    out = new_planes(2 * columns, reports)
    out[::2] = ~np.uint64(0)
    return _packed(reports, columns, density, rng), 2 * np.arange(columns), reports, out


def _packed(reports: int, columns: int, density: float, rng: np.random.Generator) -> Any:
    """Addresses of packed columns, which end with the last report and have rubbish in the bits after it."""
    buffers = [np.packbits(rng.random(reports) < density, bitorder="little") for _ in range(columns)]
    for packed in buffers:
        packed[-1] |= 0xFF << (reports % 8 or 8) & 0xFF
    PACKED.append(buffers)
    return np.array([packed.ctypes.data for packed in buffers])


PACKED: list[Any] = []  # kept alive for their addresses


def _one_hot(reports: int, columns: int, _density: float, rng: np.random.Generator) -> Arguments:
    return rng.integers(columns, size=reports).astype(np.int16), _rubbish(new_planes(columns, reports))


def _values(reports: int, columns: int, _density: float, rng: np.random.Generator) -> Arguments:
    return rng.integers(columns, size=reports).astype(np.int16), np.zeros(columns, np.int64)


def _shuffled_sets(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    """Sets of a third of the values, or of all but one where there are few."""
    values = max(2, columns)
    size = min(values - 1, 1 + values // 3)
    steps = np.array([rng.integers(values - 1 - place, size=reports) for place in range(size)], np.int16)
    out = np.full((values, (reports + 7) // 8), 0x5A, np.uint8)
    return rng.integers(values, size=reports).astype(np.int16), rng.random(reports) < density, steps, out


def _hashed(reports: int, columns: int, _density: float, rng: np.random.Generator) -> Arguments:
    seeds = rng.integers(PRIME, size=(reports, 4), dtype=np.uint32)
    seeds[0] = PRIME - 1
    seeds[-1] = (PRIME - 1, 1, 0, 0)  # its second hash is the prime, which is 0
    return seeds, rng.integers(5, size=reports).astype(np.uint16), 5, _rubbish(new_planes(columns, reports))


def _rubbish(out: Any) -> Any:
    """What stood in memory before, for functions that write over it."""
    out[:] = 0x0123456789ABCDEF
    return out


def _pack(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    bits = (rng.random((reports, 8 * -(-columns // 8))) < density).astype(np.uint8)
    return bits.view(np.uint64), new_planes(bits.shape[1], reports)


def _mix(_reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    """As many axes as there are columns, up to 18."""
    axes = min(columns, 18)
    return rng.random((axes, 2, 2)), rng.normal(density, size=1 << axes)


def _grow(reports: int, columns: int, _density: float, rng: np.random.Generator) -> Arguments:
    return rng.random(reports * columns), rng.random(reports * columns)


def _bends(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    """Roots and two steps on, the second of them partly in the direction of the first."""
    root, step, other = rng.normal(size=(3, reports * columns))
    return root, root + step, root + step + density * step + 0.1 * other


def _leap(reports: int, columns: int, density: float, rng: np.random.Generator) -> Arguments:
    return *_bends(reports, columns, density, rng), 1 + 100 * density, 0.2


COMPARISONS: dict[str, tuple[str, Callable[[int, int, float, np.random.Generator], Arguments]]] = {
    "pairs": ("pairs", _pairs),
    "triples": ("triples", _triples),
    "table": ("table", _table),
    "histogram of flags": ("histogram", _flag_codes),
    "histogram of flags and codes": ("histogram", _mixed_codes),
    "values": ("values", _values),
    "copy": ("copy", _copy),
    "one-hot": ("one_hot", _one_hot),
    "shuffled sets": ("shuffled_sets", _shuffled_sets),
    "hashed": ("hashed", _hashed),
    "pack": ("pack", _pack),
    "mix": ("mix", _mix),
    "grow": ("grow", _grow),
    "bends": ("bends", _bends),
    "leap": ("leap", _leap),
}


SIZES = [(1, 1), (63, 2), (64, 5), (33, 7), (34, 8), (65, 9), (700, 12), (20, 16), (5000, 17), (40_000, 70)]


def check(name: str, reports: int, columns: int, density: float) -> None:
    """The kernel makes of its output just what its twin does, twice over, so that adding shows."""
    function, make = COMPARISONS[name]
    if name == "triples":
        columns = min(columns, 20)
    fast = make(reports, columns, density, np.random.default_rng(reports))
    slow = make(reports, columns, density, np.random.default_rng(reports))
    for _ in range(2):
        ours, theirs = getattr(compiled, function)(*fast), getattr(plain, function)(*slow)
    if ours is None:
        ours, theirs = finished(name, fast[-1]), finished(name, slow[-1])
    if name in ("mix", "grow", "bends", "leap"):  # products may be fused with sums, and these be in another order
        np.testing.assert_allclose(ours, theirs)
    else:
        np.testing.assert_array_equal(ours, theirs)


def finished(name: str, out: np.ndarray) -> np.ndarray:
    """Leave out the cells that `pairs` and `triples` leave unfinished."""
    if name not in ("pairs", "triples"):
        return out
    index = np.indices(out.shape)
    return np.where((np.diff(index, axis=0) >= 0).all(axis=0), out, 0)


def check_everything() -> None:
    for name, (reports, columns) in product(COMPARISONS, SIZES):
        check(name, reports, columns, 0.3)
