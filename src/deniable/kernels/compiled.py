"""Counting at the speed of the machine: bare loops over bit planes, compiled by numba. Arrays in, arrays out.

At the end are loops over tables: `mix` for those of many flags, `grow`, `bends` and `leap` to climb to the likeliest.

A plane holds one evidence column, 64 reports to a word. Rows of an array of planes are a multiple of STEP words long,
with zeros after the last report. All counting of planes is one operation,

    out[i, j] += number of bits set in a[i] & b[j],

on tiles that stay in the cache. Its innermost step is written as LLVM vector code: where the processor counts bits in
vectors (AVX-512 VPOPCNTDQ, NEON) a block of 4 x 4 pairs is kept in registers; elsewhere carry-save adders (Harley and
Seal) reduce 16 vectors to one before any bits are counted.

`twins` has the same functions written plainly; `benchmarks/comparisons.py` ties each to its twin, for the tests too.
"""

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic

from deniable.client import COEFFICIENTS, PRIME

TILE = 512  # words of a plane at a time: 4 KiB
SMALL = 1 << 17  # codes: a table of them in 32 bits stays in the second-level cache
NEAR = 16  # axes of length 2: 512 KiB, for the second-level cache
STRIP = 64  # planes of b at a time, so that they stay in the second-level cache

BIT_MASKS = np.array([0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555], np.uint64)
BYTE_MASKS = np.array([0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF], np.uint64)

WORD = ir.IntType(64)
NUMBER = ir.DoubleType()
INSIDE = 3  # axes of length 2 inside of a vector
NUMBERS = 1 << INSIDE
NUMBER_VECTOR = ir.VectorType(NUMBER, NUMBERS)


def vector_popcount() -> bool:
    """Whether the processor counts bits in vectors by itself."""
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    return "+avx512vpopcntdq" in features or "+neon" in features


# Rows and columns of pairs in one block, words in a vector, and levels of carry-save adders.
ROWS, COLUMNS, LANES, LEVELS = (4, 4, 8, 0) if vector_popcount() else (1, 1, 4, 4)


def block_counter(rows, columns):
    """Make an intrinsic: out[r, c] += bits set in a[r] & b[c] over `words`, for a block of rows x columns pairs.

    Addresses are integers and strides bytes. Adders of level l keep a digit of weight 2^l; only their last carry, one
    vector in 2^LEVELS, is counted inside the loop.
    """
    vector = ir.VectorType(WORD, LANES)
    group = 1 << LEVELS

    @intrinsic
    def count(typing_context, a, a_stride, b, b_stride, words, out, out_stride):  # noqa: ARG001 - numba's contract
        def generate(context, builder, signature, arguments):  # noqa: ARG001 - numba's contract
            a, a_stride, b, b_stride, words, out, out_stride = arguments
            popcount = _declare(builder, f"llvm.ctpop.v{LANES}i64", vector, vector)
            total = _declare(builder, f"llvm.vector.reduce.add.v{LANES}i64", WORD, vector)
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


def _declare(builder, name, result, *arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


count_block = block_counter(ROWS, COLUMNS)
count_pair = block_counter(1, 1)


@njit(nogil=True, cache=True)
def cross(a, b, upper, out):
    """out[i, j] += bits set in a[i] & b[j]; if `upper`, only blocks that hold some j >= i."""
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
    """out[i, j] += reports with bits i and j, for i <= j; below the diagonal it is left unfinished."""
    for start in range(0, planes.shape[1], TILE):
        tile = planes[:, start : start + TILE]
        cross(tile, tile, True, out)


@njit(nogil=True, cache=True)
def triples(planes, out):
    """out[i, j, k] += reports with bits i, j and k, for i <= j <= k; the rest is left unfinished."""
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
    """out[h, t] += reports with all bits of h and t: h runs over the first `heads` features, t over the others.

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
    """Every AND of one plane, or none, of each feature. Features are added one by one, rows spreading from the last."""
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
    """Make an intrinsic: the number of so many bits that stands at an address."""

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
    """out[code] += reports with that code: bits packed at `addresses`, the first lowest, above them `codes`, if any.

    Smaller numbers stay closer: up to SMALL codes are tallied in 32 bits first, which hold a batch.
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
    """Count codes. Reports are taken 512 at a time, and columns 8 at a time.

    Exchanging bits between 8 words gives 64 bytes, each of them one report's 8 bits.
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
def _exchange(lanes, masks, unit):
    """Exchange a lane's index among 8 with the index of a part, `unit` bits, among 8 in a word; in all words alike."""
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
    """Packed bits of some columns, at these addresses, into these rows of `out`; after the last report come zeros."""
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
    """Planes of a column of codes: bit i of plane v is 1 if report i shows v."""
    out[:] = 0
    one = np.uint64(1)
    for i in range(len(codes)):
        out[codes[i], i >> 6] |= one << np.uint64(i & 63)


@njit(nogil=True, cache=True)
def hashed(seeds, shown, buckets, out):
    """Planes of local hashing: bit i of plane v is 1 if report i's hash sends v to the bucket it shows.

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
def pack(bits, out):
    """Planes of a matrix of 0 and 1 with a row for each report and its columns, bytes, seen in eights as words.

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


def mixer(axes, inside):
    """Make an intrinsic: 2 x 2 matrices along some axes of 2^axes vectors, `stride` bytes apart, in one pass.

    If `inside`, then also along the three axes inside of each vector, whose matrices come last. It is done `count`
    times, `step` bytes apart. The addresses of the first vector and of the matrices are integers.
    """

    @intrinsic
    def mix_vectors(typing_context, first, stride, step, count, matrices):  # noqa: ARG001 - numba's contract
        def generate(context, builder, signature, arguments):  # noqa: ARG001 - numba's contract
            first, stride, step, count, matrices = arguments
            fused = _declare(builder, f"llvm.fmuladd.v{NUMBERS}f64", NUMBER_VECTOR, *[NUMBER_VECTOR] * 3)

            def pointer(address, kind):
                return builder.inttoptr(address, kind.as_pointer())

            def pick(x, y, lanes):
                return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), NUMBERS), lanes))

            def everywhere(k, entry):
                number = builder.load(pointer(builder.add(matrices, WORD(32 * k + 8 * entry)), NUMBER))
                alone = builder.insert_element(ir.Constant(NUMBER_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
                return pick(alone, alone, [0] * NUMBERS)

            def combine(a, x, b, y):
                return builder.call(fused, [b, y, builder.fmul(a, x)])

            entries = [[everywhere(k, entry) for entry in range(4)] for k in range(axes + (INSIDE if inside else 0))]
            with cgutils.for_range(builder, count, intp=WORD) as loop:
                start = builder.add(first, builder.mul(loop.index, step))
                addresses = [builder.add(start, builder.mul(stride, WORD(i))) for i in range(1 << axes)]
                x = [builder.load(pointer(address, NUMBER_VECTOR)) for address in addresses]
                for vector in x:
                    vector.align = 8
                for k, (a, b, c, d) in enumerate(entries[axes:]):
                    distance = NUMBERS >> (k + 1)
                    # The first or the second row of the matrix, by whether a lane has the axis' 0 or its 1.
                    rows = [lane + NUMBERS * bool(lane & distance) for lane in range(NUMBERS)]
                    own, other = pick(a, d, rows), pick(b, c, rows)
                    swapped = [lane ^ distance for lane in range(NUMBERS)]
                    x = [combine(own, vector, other, pick(vector, vector, swapped)) for vector in x]
                for k, (a, b, c, d) in enumerate(entries[:axes]):
                    distance = 1 << (axes - k - 1)
                    for i in range(1 << axes):
                        if not i & distance:
                            low, high = x[i], x[i + distance]
                            x[i], x[i + distance] = combine(a, low, b, high), combine(d, high, c, low)
                for address, vector in zip(addresses, x, strict=True):
                    builder.store(vector, pointer(address, NUMBER_VECTOR)).align = 8
            return context.get_dummy_value()

        return types.void(*[types.intp] * 5), generate

    return mix_vectors


mix_close = mixer(4, True)
mix_three, mix_two, mix_one = (mixer(axes, False) for axes in (3, 2, 1))
CLOSE = 4 + INSIDE


@njit(nogil=True, cache=True)
def mix(matrices, tensor):
    """matrices[k] along axis k, in place, of a flat tensor whose axes have length 2.

    The last axes, whose numbers are close together, are done while their block is in the cache.
    """
    axes = len(matrices)
    if tensor.size != 1 << axes or tensor.itemsize != 8 or not tensor.flags.c_contiguous:
        raise ValueError("a flat tensor has 2 numbers of 64 bits for each axis, one after the other")
    if matrices.shape[1:] != (2, 2):
        raise ValueError("there is a 2 x 2 matrix for each axis")
    if axes < CLOSE:
        _mix_plainly(matrices, tensor)
        return
    near = min(axes, NEAR)
    own = np.empty((axes, 2, 2))  # whatever the order of the matrices in memory
    own[:] = matrices
    data, entries = tensor.ctypes.data, own.ctypes.data
    for block in range(data, data + (8 << axes), 8 << near):
        mix_close(block, 8 * NUMBERS, 8 << CLOSE, 1 << (near - CLOSE), entries + 32 * (axes - CLOSE))
        _mix_far(block, near, CLOSE, entries + 32 * (axes - near))
    _mix_far(data, axes, near, entries)


@njit(nogil=True, cache=True)
def _mix_far(data, axes, done, matrices):
    """All but the last axes, which are done, up to three in one pass: more would push each other out of the cache."""
    while done < axes:
        some, stride = min(3, axes - done), 8 << done
        entries = matrices + 32 * (axes - done - some)
        for start in range(data, data + (8 << axes), stride << some):
            count = stride // (8 * NUMBERS)
            if some == 3:
                mix_three(start, stride, 8 * NUMBERS, count, entries)
            elif some == 2:
                mix_two(start, stride, 8 * NUMBERS, count, entries)
            else:
                mix_one(start, stride, 8 * NUMBERS, count, entries)
        done += some


@njit(nogil=True, cache=True)
def _mix_plainly(matrices, tensor):
    for k in range(len(matrices)):
        stride = len(tensor) >> (k + 1)
        for start in range(0, len(tensor), 2 * stride):
            for i in range(start, start + stride):
                low, high = tensor[i], tensor[i + stride]
                tensor[i] = matrices[k, 0, 0] * low + matrices[k, 0, 1] * high
                tensor[i + stride] = matrices[k, 1, 0] * low + matrices[k, 1, 1] * high


@njit(nogil=True, cache=True)
def grow(root, gradient):
    """A step of expectation maximization in the roots of shares: the new roots, and the new shares."""
    grown, shares = np.empty_like(root), np.empty_like(root)
    for i in range(len(root)):
        grown[i] = root[i] * np.sqrt(gradient[i])
        shares[i] = grown[i] ** 2
    return grown, shares


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # sums in any order, as vectors have them
def bends(root, once, twice):
    """Of the first of two steps and of how it bends: its square, their product, and the square of the bend."""
    straight, across, bent = 0.0, 0.0, 0.0
    for i in range(len(root)):
        step = once[i] - root[i]
        bend = twice[i] - once[i] - step
        straight += step**2
        across += step * bend
        bent += bend**2
    return straight, across, bent


@njit(nogil=True, cache=True)
def leap(root, once, twice, length, least):
    """So many steps along the parabola through roots of shares and two steps on: the new roots, the new shares.

    No root is below `least`, before they are scaled for the shares to sum to 1.
    """
    leapt, shares = np.empty_like(root), np.empty_like(root)
    for i in range(len(root)):
        step = once[i] - root[i]
        leapt[i] = max(abs(root[i] + 2 * length * step + length**2 * (twice[i] - once[i] - step)), least)
    scale = 1 / np.sqrt(_square(leapt))
    for i in range(len(root)):
        leapt[i] *= scale
        shares[i] = leapt[i] ** 2
    return leapt, shares


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _square(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 2
    return total
