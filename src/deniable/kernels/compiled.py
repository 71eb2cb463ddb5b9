"""Compiled kernels that count bit planes, and those of `compiled_shares`. Arrays in, arrays out.

A plane holds one evidence column, 64 reports to a word. Rows of an array of planes are a multiple of STEP words long,
with zeros after the last report. All counting of planes is one operation,

    out[i, j] += number of bits set in a[i] & b[j],

on tiles that stay in the cache. Its innermost step is written as LLVM vector code: where the processor counts bits in
vectors (AVX-512 VPOPCNTDQ, NEON) a block of 4 x 4 pairs is kept in registers; elsewhere carry-save adders (Harley and
Seal) reduce 16 vectors to one before any bits are counted.

`plain` has the same functions in numpy; `tests/support/kernel_twins.py` ties each to its twin, for benchmarks too.
"""

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic

from deniable.client import COEFFICIENTS, PRIME
from deniable.kernels.bitplanes import FEW_VALUES
from deniable.kernels.compiled_shares import WORD, bends, declare, grow, leap, mix

__all__ = [
    "bends", "copy", "grow", "hashed", "histogram", "leap", "mix", "one_hot", "pack", "pairs",
    "shuffled_sets", "table", "triples", "values",
]  # fmt: skip

TILE = 512  # Words of each plane that are counted at a time: 4 KiB, so that all planes of a tile stay in the cache.
SMALL = 1 << 17  # Codes up to which a histogram is tallied in 32 bits, as it then stays in the second-level cache.
RUN = 1 << 13  # Codes whose values are counted at a time, in 16 bits: they stay in the first-level cache.
STRIP = 64  # Planes of b that are counted at a time, so that they stay in the second-level cache.

# The bits, or bytes, of a word whose index among 8 lacks 4, 2 and 1: what `_exchange` leaves where it is.
BIT_MASKS = np.array([0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555], np.uint64)
BYTE_MASKS = np.array([0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF], np.uint64)


def vector_popcount() -> bool:
    """Whether the processor has an instruction that counts the bits of each word of a vector (population count)."""
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    return "+avx512vpopcntdq" in features or "+neon" in features


# Rows and columns of a block of pairs, words of a vector, and levels of carry-save adders, as suits the processor.
ROWS, COLUMNS, LANES, LEVELS = (4, 4, 8, 0) if vector_popcount() else (1, 1, 4, 4)


def block_counter(rows, columns):
    """Make the intrinsic that counts a block of pairs: out[r, c] += bits set in a[r] & b[c], over so many words.

    It takes addresses as integers and strides in bytes. Carry-save adders of level l keep a digit of weight 2^l; only
    the carry of the last level, one vector in 2^LEVELS, is counted inside the loop.
    """
    vector = ir.VectorType(WORD, LANES)
    group = 1 << LEVELS

    @intrinsic
    def count(typing_context, a, a_stride, b, b_stride, words, out, out_stride):  # noqa: ARG001 - numba's contract
        def generate(context, builder, signature, arguments):  # noqa: ARG001 - numba's contract
            a, a_stride, b, b_stride, words, out, out_stride = arguments
            popcount = declare(builder, f"llvm.ctpop.v{LANES}i64", vector, vector)
            total = declare(builder, f"llvm.vector.reduce.add.v{LANES}i64", WORD, vector)
            zero = ir.Constant(vector, [0] * LANES)
            pairs = [(r, c) for r in range(rows) for c in range(columns)]
            digits = {pair: [cgutils.alloca_once_value(builder, zero) for _ in range(LEVELS + 1)] for pair in pairs}

            def load(base, stride, row, offset, place):
                address = builder.add(builder.add(base, builder.mul(stride, WORD(row))), offset)
                address = builder.add(address, WORD(8 * LANES * place))
                value = builder.load(builder.inttoptr(address, vector.as_pointer()))
                value.align = 8
                return value

            def add(x, y, z):
                half = builder.xor(x, y)
                return builder.xor(half, z), builder.or_(builder.and_(x, y), builder.and_(half, z))

            steps = builder.udiv(words, WORD(LANES * group))
            with cgutils.for_range(builder, steps, intp=WORD) as loop:
                offset = builder.mul(loop.index, WORD(8 * LANES * group))
                lefts = [[load(a, a_stride, r, offset, place) for place in range(group)] for r in range(rows)]
                for c in range(columns):
                    rights = [load(b, b_stride, c, offset, place) for place in range(group)]
                    for r in range(rows):
                        both = [builder.and_(x, y) for x, y in zip(lefts[r], rights, strict=True)]
                        for level in range(LEVELS):
                            digit = builder.load(digits[r, c][level])
                            carries = []
                            for x, y in zip(both[::2], both[1::2], strict=True):
                                digit, carry = add(digit, x, y)
                                carries.append(carry)
                            builder.store(digit, digits[r, c][level])
                            both = carries
                        last = digits[r, c][LEVELS]
                        builder.store(builder.add(builder.load(last), builder.call(popcount, both)), last)

            for r, c in pairs:
                bits = builder.mul(builder.call(total, [builder.load(digits[r, c][LEVELS])]), WORD(group))
                for level in range(LEVELS):
                    rest = builder.call(popcount, [builder.load(digits[r, c][level])])
                    bits = builder.add(bits, builder.mul(builder.call(total, [rest]), WORD(1 << level)))
                address = builder.add(builder.add(out, builder.mul(out_stride, WORD(r))), WORD(8 * c))
                cell = builder.inttoptr(address, WORD.as_pointer())
                builder.store(builder.add(builder.load(cell), bits), cell)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 7), generate

    return count


count_block = block_counter(ROWS, COLUMNS)
count_pair = block_counter(1, 1)


@njit(nogil=True, cache=True)
def cross(a, b, upper, out):
    """Count shared bits: out[i, j] += bits set in a[i] & b[j]; if `upper`, only in blocks that hold some j >= i."""
    rows, words = a.shape
    left, right, to = a.ctypes.data, b.ctypes.data, out.ctypes.data
    left_stride, right_stride, to_stride = a.strides[0], b.strides[0], out.strides[0]
    for strip in range(0, b.shape[0], STRIP):
        end = min(strip + STRIP, b.shape[0])
        i = 0
        while i < (min(rows, end) if upper else rows):
            high = ROWS if i + ROWS <= rows else 1
            j = max(strip, i) if upper else strip
            while j < end:
                wide = COLUMNS if j + COLUMNS <= end else 1
                if high == ROWS and wide == COLUMNS:
                    count_block(
                        left + i * left_stride, left_stride, right + j * right_stride, right_stride, words,
                        to + i * to_stride + 8 * j, to_stride,
                    )  # fmt: skip
                else:
                    for r in range(i, i + high):
                        for c in range(j, j + wide):
                            count_pair(
                                left + r * left_stride, left_stride, right + c * right_stride, right_stride, words,
                                to + r * to_stride + 8 * c, to_stride,
                            )  # fmt: skip
                j += wide
            i += high


@njit(nogil=True, cache=True)
def pairs(planes, out):
    """Count all pairs: out[i, j] += reports with bits i and j, for i <= j; cells below the diagonal mean nothing."""
    for start in range(0, planes.shape[1], TILE):
        tile = planes[:, start : start + TILE]
        cross(tile, tile, True, out)


@njit(nogil=True, cache=True)
def triples(planes, out):
    """Count all triples: out[i, j, k] += reports with bits i, j and k, for i <= j <= k; other cells mean nothing."""
    both = np.empty((planes.shape[0], TILE), np.uint64)
    for start in range(0, planes.shape[1], TILE):
        tile = planes[:, start : start + TILE]
        words = tile.shape[1]
        for i in range(planes.shape[0]):
            for j in range(i, planes.shape[0]):
                for w in range(words):
                    both[j, w] = tile[i, w] & tile[j, w]
            cross(both[i:, :words], tile[i:], True, out[i, i:, i:])


@njit(nogil=True, cache=True)
def table(planes, firsts, sizes, heads, out):
    """Count one table: out[h, t] += reports with all bits of h, of the first `heads` features, and of t, of the others.

    Feature k owns `sizes[k]` planes from `firsts[k]` on; plane 0 is all reports. h and t count in C order with index 0
    of a feature meaning that it is not looked at.
    """
    left = np.empty((out.shape[0], TILE), np.uint64)
    right = np.empty((out.shape[1], TILE), np.uint64)
    for start in range(0, planes.shape[1], TILE):
        tile = planes[:, start : start + TILE]
        words = tile.shape[1]
        _products(tile, firsts[:heads], sizes[:heads], left)
        _products(tile, firsts[heads:], sizes[heads:], right)
        cross(left[:, :words], right[:, :words], False, out)


@njit(nogil=True, cache=True)
def _products(tile, firsts, sizes, out):
    """Every AND of one plane, or none, of each feature, in C order.

    Features are taken one by one, and each spreads the rows there are, from the last to the first.
    """
    words = tile.shape[1]
    out[0, :words] = tile[0]
    rows = 1
    for k in range(len(sizes)):
        m = sizes[k]
        for r in range(rows - 1, -1, -1):
            at = r * (m + 1)
            for v in range(m, 0, -1):
                plane = tile[firsts[k] + v - 1]
                for w in range(words):
                    out[at + v, w] = out[r, w] & plane[w]
            if at != r:
                out[at, :words] = out[r, :words]
        rows *= m + 1


def loader(bits):
    """Make the intrinsic that loads an unsigned integer of so many bits from an address, which need not be aligned."""

    @intrinsic
    def load(typing_context, address):  # noqa: ARG001 - numba's contract
        def generate(context, builder, signature, arguments):  # noqa: ARG001 - numba's contract
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            return builder.zext(value, WORD) if bits < 64 else value

        return types.uint64(types.intp), generate

    return load


load_word = loader(64)
load_octet = loader(8)


@njit(nogil=True, cache=True)
def histogram(addresses, reports, codes, out):
    """Histogram of codes: out[code] += reports with that code, of bits packed at `addresses` with any `codes` above.

    The first address holds a code's lowest bit. Up to SMALL codes are tallied in 32 bits first, to stay in the cache.
    """
    if len(out) <= SMALL and reports < 1 << 32:
        tally = np.zeros(len(out), np.uint32)
        _tally(addresses, reports, codes, tally)
        for code in range(len(out)):
            out[code] += tally[code]
    else:
        _tally(addresses, reports, codes, out)


@njit(nogil=True, cache=True)
def _tally(addresses, reports, codes, out):
    """Histogram of codes, in `out` of any integer type: reports are taken 512 at a time, and columns 8 at a time.

    Exchanging bits between 8 words, of 8 columns, gives 64 bytes, each of them the 8 bits of one report.
    """
    columns = len(addresses)
    groups = (columns + 7) // 8
    lanes = np.zeros((groups, 8, 8), np.uint64)  # group of columns, column, word
    octets = lanes.view(np.uint8).reshape(groups, 512)
    whole = reports // 512 * 512
    for start in range(0, whole, 512):
        for g in range(groups):
            for k in range(min(8, columns - 8 * g)):
                for word in range(8):
                    lanes[g, k, word] = load_word(addresses[8 * g + k] + start // 8 + 8 * word)
            for k in range(columns - 8 * g, 8):
                lanes[g, k] = 0  # the last group only
            _exchange(lanes[g], BIT_MASKS, 1)
        if len(codes) == 0 and groups == 2:  # the common case, without inner loops
            for k in range(512):
                out[np.uint64(octets[0, k]) | np.uint64(octets[1, k]) << np.uint64(8)] += 1
        else:
            for k in range(512):
                # octet (s, l, r) belongs to report 64 l + 8 r + s
                report = start + 64 * (k >> 3 & 7) + 8 * (k & 7) + (k >> 6)
                code = np.int64(codes[report]) << columns if len(codes) else 0
                for g in range(groups):
                    code |= np.int64(octets[g, k]) << (8 * g)
                out[code] += 1
    for report in range(whole, reports):
        code = np.int64(codes[report]) << columns if len(codes) else 0
        for k in range(columns):
            code |= np.int64(load_octet(addresses[k] + report // 8) >> np.uint64(report % 8) & np.uint64(1)) << k
        out[code] += 1


@njit(nogil=True, cache=True)
def values(codes, out):
    """Histogram of a column of codes below len(out): out[v] += reports that show v.

    Few values are compared with one by one, eight or more codes at a time; many are looked up.
    """
    if len(out) > FEW_VALUES:
        for i in range(len(codes)):
            out[codes[i]] += 1
        return
    last = len(out) - 1  # it has all the others
    for start in range(0, len(codes), RUN):
        run = codes[start : start + RUN]
        rest = len(run)
        for v in range(last):
            value, found = np.int16(v), np.int16(0)
            for i in range(len(run)):
                found += np.int16(run[i] == value)
            out[v] += found
            rest -= found
        out[last] += rest


@njit(nogil=True, cache=True)
def _exchange(lanes, masks, unit):
    """Transpose 8 x 8 parts of `unit` bits in place: part i of each eight in lane k becomes part k in lane i."""
    for halving in range(3):
        step = 4 >> halving
        shift, mask = np.uint64(step * unit), masks[halving]  # the mask has the parts whose index lacks this step
        for k in range(8):
            if not k & step:
                for word in range(lanes.shape[1]):
                    moved = ((lanes[k, word] >> shift) ^ lanes[k + step, word]) & mask
                    lanes[k + step, word] ^= moved
                    lanes[k, word] ^= moved << shift


@njit(nogil=True, cache=True)
def copy(addresses, rows, reports, out):
    """Copy the packed bits of some columns, from addresses, into these rows of `out`; zeros follow the last report."""
    whole, rest = reports // 64, (reports % 64 + 7) // 8
    for column in range(len(addresses)):
        plane = out[rows[column]]
        at = addresses[column]
        for w in range(whole):
            plane[w] = load_word(at + 8 * w)
        plane[whole:] = 0
        for k in range(rest):  # octet by octet, as nothing need stand after the last one
            plane[whole] |= load_octet(at + 8 * whole + k) << np.uint64(8 * k)
        if rest:
            plane[whole] &= (np.uint64(1) << np.uint64(reports % 64)) - np.uint64(1)


@njit(nogil=True, cache=True)
def one_hot(codes, out):
    """One-hot encoding of a column of codes: bit i of plane v is 1 if report i shows v."""
    out[:] = 0
    one = np.uint64(1)
    for i in range(len(codes)):
        out[codes[i], i >> 6] |= one << np.uint64(i & 63)


@njit(nogil=True, cache=True)
def hashed(seeds, shown, buckets, out):
    """Evidence of local hashing: bit i of plane v is 1 if report i's hash sends v to the bucket it shows.

    The hash of v + 1 follows from that of v by three additions, the differences of a cubic; a bucket is a range of
    hashes, from the least h with h * buckets >= bucket * PRIME on.
    """
    out[:, (len(seeds) + 63) // 64 :] = 0
    prime = np.uint32(PRIME)
    steps = np.empty((COEFFICIENTS, 64), np.uint32)  # the hash and its three differences
    low = np.empty(64, np.uint32)
    span = np.empty(64, np.uint32)
    for base in range(0, len(seeds), 64):
        count = min(64, len(seeds) - base)
        span[:] = 0
        for i in range(count):
            c1, c2, c3 = np.uint64(seeds[base + i, 1]), np.uint64(seeds[base + i, 2]), np.uint64(seeds[base + i, 3])
            steps[0, i] = seeds[base + i, 0]
            steps[1, i] = (c1 + c2 + c3) % PRIME
            steps[2, i] = (2 * c2 + 6 * c3) % PRIME
            steps[3, i] = (6 * c3) % PRIME
            first = (np.uint64(shown[base + i]) * PRIME + buckets - 1) // buckets
            after = ((np.uint64(shown[base + i]) + 1) * PRIME + buckets - 1) // buckets
            low[i], span[i] = first, after - first
        for v in range(out.shape[0]):
            word = np.uint64(0)
            for i in range(64):
                word |= np.uint64(np.uint32(steps[0, i] - low[i]) < span[i]) << np.uint64(i)
            out[v, base >> 6] = word
            for k in range(COEFFICIENTS - 1):
                for i in range(64):
                    added = np.uint32(steps[k, i] + steps[k + 1, i])
                    steps[k, i] = min(added, np.uint32(added - prime))


@njit(nogil=True, cache=True)
def shuffled_sets(codes, coin, steps, out):
    """Sets of values as packed bits, a row for each value: the code if its coin says so, and others by a shuffle."""
    out[:] = 0
    size, values = steps.shape[0], out.shape[0]
    others = np.empty(values - 1, np.int16)
    for i in range(len(codes)):
        for v in range(values - 1):
            others[v] = v
        bit = np.uint8(1 << (i & 7))
        for place in range(size):
            at = place + steps[place, i]
            chosen = others[at]
            others[at] = others[place]
            if chosen >= codes[i]:
                chosen += 1  # all values but the code
            if place == size - 1 and coin[i]:
                chosen = codes[i]
            out[chosen, i >> 3] |= bit


@njit(nogil=True, cache=True)
def pack(bits, out):
    """Pack a matrix of 0 and 1, a byte each and a row for each report, in words of 8 columns, into bit planes.

    Eight rows, each shifted by its place, add up to bytes that hold eight reports of one column; exchanging bytes
    between eight such words gives 64 reports of each of eight columns.
    """
    rows, eights = bits.shape
    lanes = np.zeros((8, eights), np.uint64)
    for word in range((rows + 63) // 64):
        for k in range(8):
            first = 64 * word + 8 * k
            if first + 8 <= rows:
                for c in range(eights):
                    lanes[k, c] = (
                        bits[first, c]
                        | bits[first + 1, c] << np.uint64(1)
                        | bits[first + 2, c] << np.uint64(2)
                        | bits[first + 3, c] << np.uint64(3)
                        | bits[first + 4, c] << np.uint64(4)
                        | bits[first + 5, c] << np.uint64(5)
                        | bits[first + 6, c] << np.uint64(6)
                        | bits[first + 7, c] << np.uint64(7)
                    )
            else:
                lanes[k] = 0
                for r in range(first, rows):
                    for c in range(eights):
                        lanes[k, c] |= bits[r, c] << np.uint64(r - first)
        _exchange(lanes, BYTE_MASKS, 8)
        for k in range(8):
            for c in range(eights):
                out[8 * c + k, word] = lanes[k, c]
