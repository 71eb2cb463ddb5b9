"""The kernels written plainly in numpy: what the compiled ones must agree with, and what small jobs use.

Loading numba takes longer than a small job does. Names, arguments and results are those of `compiled`.
"""

import ctypes

import numpy as np
import numpy.typing as npt

from deniable.kernels.bitplanes import FEW_VALUES, Words
from deniable.kernels.hashing import bucket

Tallies = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

TILE = 2048  # Words of each plane that are counted at a time, which suits numpy.


def pairs(planes: Words, out: Tallies) -> None:
    """Count all pairs: out[i, j] += reports with bits i and j, for i <= j."""
    for i in range(len(planes)):
        out[i, i:] += _ones(planes[i] & planes[i:])


def triples(planes: Words, out: Tallies) -> None:
    """Count all triples: out[i, j, k] += reports with bits i, j and k, for i <= j <= k."""
    for i in range(len(planes)):
        for j, both in enumerate(planes[i] & planes[i:], start=i):
            out[i, j, j:] += _ones(both & planes[j:])


def table(planes: Words, firsts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], heads: int, out: Tallies) -> None:
    """Count one table: out[h, t] += reports with all bits of h, of the first `heads` features, and of t, of the others.

    Feature k owns `sizes[k]` planes from `firsts[k]` on; plane 0 is all reports. h and t count in C order with index 0
    of a feature meaning that it is not looked at.
    """
    for start in range(0, planes.shape[1], TILE):
        tile = planes[:, start : start + TILE]
        left = _products(tile, firsts[:heads], sizes[:heads])
        right = _products(tile, firsts[heads:], sizes[heads:])
        for h, plane in enumerate(left):
            out[h] += _ones(plane & right)


def _products(tile: Words, firsts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> Words:
    """Every AND of one plane, or none, of each feature, in C order."""
    rows = tile[:1]
    for first, m in zip(firsts, sizes, strict=True):
        options = np.concatenate([np.full_like(tile[:1], ~np.uint64(0)), tile[first : first + m]])
        rows = (rows[:, None] & options).reshape(-1, tile.shape[1])
    return rows


def histogram(addresses: npt.NDArray[np.int64], reports: int, codes: npt.NDArray[np.int32], out: Tallies) -> None:
    """Histogram of codes: out[code] += reports with that code, of bits packed at `addresses` with any `codes` above.

    The first address holds a code's lowest bit.
    """
    code = np.zeros(reports, np.int64)
    for k, address in enumerate(addresses.tolist()):
        code |= _unpacked(address, reports).astype(np.int64) << k
    if len(codes):
        code |= codes.astype(np.int64) << len(addresses)
    out += np.bincount(code, minlength=len(out))


def values(codes: npt.NDArray[np.int16], out: Tallies) -> None:
    """Histogram of a column of codes below len(out): out[v] += reports that show v."""
    if len(out) > FEW_VALUES:
        out += np.bincount(codes, minlength=len(out))
        return
    rest = len(codes)  # numpy compares and counts faster than it makes a histogram of few values
    for value in range(len(out) - 1):
        found = int(np.count_nonzero(codes == value))
        out[value] += found
        rest -= found
    out[-1] += rest


def copy(addresses: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], reports: int, out: Words) -> None:
    """Copy the packed bits of some columns, from addresses, into these rows of `out`; zeros follow the last report."""
    for address, row in zip(addresses.tolist(), rows, strict=True):
        _fill(out[row], _unpacked(address, reports))


def one_hot(codes: npt.NDArray[np.int16], out: Words) -> None:
    """One-hot encoding of a column of codes: bit i of plane v is 1 if report i shows v."""
    for v, plane in enumerate(out):
        _fill(plane, codes == v)


def hashed(seeds: npt.NDArray[np.uint32], shown: npt.NDArray[np.uint16], buckets: int, out: Words) -> None:
    """Evidence of local hashing: bit i of plane v is 1 if report i's hash sends v to the bucket it shows."""
    for v, plane in enumerate(out):
        _fill(plane, bucket(seeds, np.full(len(seeds), v), buckets) == shown)


def shuffled_sets(
    codes: npt.NDArray[np.int16], coin: npt.NDArray[np.bool_], steps: npt.NDArray[np.int16], out: npt.NDArray[np.uint8]
) -> None:
    """Sets of values as packed bits, a row for each value: the code if its coin says so, and others by a shuffle.

    `steps[k]` says which of the values left, all but the code, goes to place k of the shuffle (Fisher and Yates).
    """
    size, n = steps.shape
    values, rows, block = len(out), np.arange(n), codes.astype(np.intp)
    others = np.repeat(np.arange(values - 1, dtype=np.int16), n)  # those of one place of the shuffle stand together
    marked = np.zeros(values * n, bool)
    for place, step in enumerate(steps):
        at = (place + step.astype(np.intp)) * n + rows
        chosen = others[at].astype(np.intp)
        others[at] = others[place * n : (place + 1) * n]
        chosen += chosen >= block  # all values but the code
        if place == size - 1:
            chosen = np.where(coin, block, chosen)
        marked[chosen * n + rows] = True
    out[:] = np.packbits(marked.reshape(values, n), axis=1, bitorder="little")


def pack(bits: Words, out: Words) -> None:
    """Pack a matrix of 0 and 1, a byte each and a row for each report, in words of 8 columns, into bit planes."""
    for column, plane in zip(bits.view(np.uint8).T, out, strict=True):
        _fill(plane, column)


def mix(matrices: Numbers, tensor: Numbers) -> None:
    """Kronecker product of 2 x 2 matrices times a vector, in place: matrices[k] along axis k of a flat tensor."""
    if tensor.size != 1 << len(matrices):
        raise ValueError("a flat tensor has 2 numbers of 64 bits for each axis, one after the other")
    for k, ((a, b), (c, d)) in enumerate(matrices):
        lines = tensor.reshape(1 << k, 2, -1)
        low = lines[:, 0].copy()
        lines[:, 0] *= a
        lines[:, 0] += b * lines[:, 1]
        lines[:, 1] *= d
        lines[:, 1] += c * low


def grow(root: Numbers, gradient: Numbers) -> tuple[Numbers, Numbers]:
    """One step of expectation maximization (EM) in the roots of shares: the new roots, and the new shares."""
    grown = root * np.sqrt(gradient)
    return grown, grown**2


def bends(root: Numbers, once: Numbers, twice: Numbers) -> tuple[float, float, float]:
    """The inner products of SQUAREM: r.r, r.v and v.v.

    r is the first EM step, and v the change from the first step to the second.
    """
    step = once - root
    bend = twice - once - step
    return float((step**2).sum()), float((step * bend).sum()), float((bend**2).sum())


def leap(root: Numbers, once: Numbers, twice: Numbers, length: float, least: float) -> tuple[Numbers, Numbers]:
    """The extrapolation of SQUAREM, root + 2 length r + length^2 v: the new roots, and the new shares.

    r is the first EM step, and v the change from the first step to the second. No root is below `least`, before all are
    scaled for the shares to sum to 1.
    """
    step = once - root
    leapt = np.maximum(np.abs(root + 2 * length * step + length**2 * (twice - once - step)), least)
    leapt /= np.sqrt((leapt**2).sum())
    return leapt, leapt**2


def _ones(planes: Words) -> npt.NDArray[np.int64]:
    """Number of bits set in each plane."""
    return np.asarray(np.bitwise_count(planes).sum(axis=-1, dtype=np.int64))


def _unpacked(address: int, reports: int) -> npt.NDArray[np.uint8]:
    """A byte, 0 or 1, for each of so many bits that are packed at an address."""
    packed = np.ctypeslib.as_array((ctypes.c_uint8 * ((reports + 7) // 8)).from_address(address))
    return np.unpackbits(packed, count=reports, bitorder="little")


def _fill(plane: Words, bits: npt.NDArray[np.bool_ | np.uint8]) -> None:
    """Pack bits into a plane, with zeros after the last."""
    packed = np.packbits(bits, bitorder="little")
    octets = plane.view(np.uint8)
    octets[: len(packed)] = packed
    octets[len(packed) :] = 0
