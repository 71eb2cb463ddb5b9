"""Compiled kernels on tables of shares: a matrix along every axis (`mix`), and the steps of the SQUAREM algorithm.

SQUAREM (Varadhan and Roland, 2008) speeds up expectation maximization (EM) by extrapolating from two of its steps. Here
its unknowns are the square roots of shares, so that no step leads below zero.

`plain` has the same functions in numpy; `tests/support/kernel_twins.py` ties each to its twin.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

NEAR = 16  # Axes of length 2 that are done block by block: a block of 512 KiB stays in the second-level cache.
INSIDE = 3  # Axes of length 2 inside of a vector of eight numbers.
NUMBERS = 1 << INSIDE  # Numbers in a vector.
CLOSE = 4 + INSIDE  # Axes that `mix_close` does in one pass: four between vectors, and those inside.

WORD = ir.IntType(64)
NUMBER = ir.DoubleType()
NUMBER_VECTOR = ir.VectorType(NUMBER, NUMBERS)


def declare(builder, name, result, *arguments):
    """Declare an LLVM intrinsic by its name and types, for calls of it."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def mixer(axes, inside):
    """Make the intrinsic that applies 2 x 2 matrices along axes of 2^axes vectors, `stride` bytes apart, in a pass.

    If `inside`, it does so along the three axes inside of each vector, too, whose matrices come last. It repeats this
    `count` times, `step` bytes apart, and takes the addresses of the first vector and of the matrices as integers.
    """

    @intrinsic
    def mix_vectors(typing_context, first, stride, step, count, matrices):  # noqa: ARG001 - numba's contract
        def generate(context, builder, signature, arguments):  # noqa: ARG001 - numba's contract
            first, stride, step, count, matrices = arguments
            fused = declare(builder, f"llvm.fmuladd.v{NUMBERS}f64", NUMBER_VECTOR, *[NUMBER_VECTOR] * 3)

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


@njit(nogil=True, cache=True)
def mix(matrices, tensor):
    """Kronecker product of 2 x 2 matrices times a vector, in place: matrices[k] along axis k of a flat tensor.

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
    """Apply matrices along all but the last `done` axes, up to three in a pass: more would evict each other's lines."""
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
    """Kronecker product times a vector, in place, axis by axis: for tensors too small for vectors."""
    for k in range(len(matrices)):
        stride = len(tensor) >> (k + 1)
        for start in range(0, len(tensor), 2 * stride):
            for i in range(start, start + stride):
                low, high = tensor[i], tensor[i + stride]
                tensor[i] = matrices[k, 0, 0] * low + matrices[k, 0, 1] * high
                tensor[i + stride] = matrices[k, 1, 0] * low + matrices[k, 1, 1] * high


@njit(nogil=True, cache=True)
def grow(root, gradient):
    """One step of expectation maximization (EM) in the roots of shares: the new roots, and the new shares."""
    grown, shares = np.empty_like(root), np.empty_like(root)
    for i in range(len(root)):
        grown[i] = root[i] * np.sqrt(gradient[i])
        shares[i] = grown[i] ** 2
    return grown, shares


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # sums in any order, as vectors have them
def bends(root, once, twice):
    """The inner products of SQUAREM: r.r, r.v and v.v.

    r is the first EM step, and v the change from the first step to the second.
    """
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
    """The extrapolation of SQUAREM, root + 2 length r + length^2 v: the new roots, and the new shares.

    r is the first EM step, and v the change from the first step to the second. No root is below `least`, before all are
    scaled for the shares to sum to 1.
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
    """Sum of squares."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 2
    return total
