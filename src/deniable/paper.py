"""The paper's own objects, for any set of flags with one p and q, as dense matrices for researchers.

Column sets of size 1 to D stand in blocks by size, and inside a block in lexicographic order (`column_sets`). With
K^(alpha beta)(J, S) = 1 if S is a subset of J,

    E(c) = M t + P N,      M = sum_(alpha >= beta) p^(alpha - beta) (q - p)^beta K^(alpha beta),   P_J = p^|J|
    M^-1 = sum_(alpha >= beta) (q - p)^-alpha (-p)^(alpha - beta) K^(alpha beta)

What these do for a few flags, `inference.tensors` does for any features, axis by axis, without building them.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Set = tuple[int, ...]


def column_sets(columns: int, *, smallest: int = 1) -> list[Set]:
    """The sets of columns in the paper's order: by size, then lexicographically."""
    return [J for size in range(smallest, columns + 1) for J in combinations(range(columns), size)]


def subset_incidence(columns: int, alpha: int, beta: int, *, smallest: int = 1) -> Array:
    """The incidence matrix K^(alpha beta): 1 where a column set of size beta is inside one of size alpha, else 0."""
    sets = column_sets(columns, smallest=smallest)
    return np.array([[float(len(J) == alpha and len(S) == beta and set(S) <= set(J)) for S in sets] for J in sets])


def mean_matrix(columns: int, p: float, q: float, *, smallest: int = 1) -> Array:
    """The matrix M of eq-c-exp: how expected counts follow from the truth.

    With `smallest=0` the empty set, which is the number of respondents, stands first in the vectors: E(c) = M t then
    needs no P N, and a number that is itself uncertain is one more entry with a variance.
    """
    return _sum_of_blocks(columns, smallest, lambda a, b: p ** (a - b) * (q - p) ** b)


def inverse_mean_matrix(columns: int, p: float, q: float, *, smallest: int = 1) -> Array:
    """The inverse M^-1 of lemma theo-inv-m; with `smallest=0` for vectors that begin with the number of respondents."""
    return _sum_of_blocks(columns, smallest, lambda a, b: (q - p) ** -a * (-p) ** (a - b))


def _sum_of_blocks(columns: int, smallest: int, weight: Callable[[int, int], float]) -> Array:
    """The sum over alpha >= beta of weight(alpha, beta) K^(alpha beta)."""
    sizes = range(smallest, columns + 1)
    blocks = (
        weight(alpha, beta) * subset_incidence(columns, alpha, beta, smallest=smallest)
        for alpha in sizes
        for beta in sizes
        if beta <= alpha
    )
    return sum(blocks, np.zeros(()))


def inverse_without_total(values: int, p: float, q: float) -> Array:
    """The inverse (M + p J)^-1 of one choice (eq-sm-formula), by Sherman and Morrison: the truth without knowing N.

    As exactly one value is true, N = sum t, so E(c) = (M + p J) t with M = (q - p) I and J all ones. The estimates are
    unbiased and sum to an estimate of N, which is not N: this is not the same as conditioning on it.
    """
    M = (q - p) * np.eye(values)
    inverse, J = M / (q - p) ** 2, np.ones((values, values))
    return np.asarray(inverse - p * inverse @ J @ inverse / (1 + p * inverse.sum()))


def background(columns: int, p: float) -> Array:
    """The vector P: what one respondent with no true column adds to each expected count."""
    return np.array([p ** len(J) for J in column_sets(columns)])


def expected_counts(truth: Sequence[float] | Array, n: int, columns: int, p: float, q: float) -> Array:
    """The expected counts E(c) = M t + P N (theorem theo-exp-c)."""
    return np.asarray(mean_matrix(columns, p, q) @ np.asarray(truth, float) + background(columns, p) * n)


def count_covariance(truth: Sequence[float] | Array, n: int, columns: int, p: float, q: float) -> Array:
    """The covariance of the counts given the truth (theorem theo-covar-c).

        V(c_J, c_J') = sum_(S in J u J') t_S (q - p)^|S| p^(|J u J'| - |S|)
                       (1 - (q + p)^|S n J n J'| p^(|J n J'| - |S n J n J'|))

    Here t of the empty set is N.
    """

    def term(S: int, union: int, both: int, common: int) -> float:
        return (q - p) ** S * p ** (union - S) * (1 - (q + p) ** common * p ** (both - common))

    return _sums_over_subsets(truth, n, columns, term)


def estimate_covariance(counts: Sequence[float] | Array, n: int, columns: int, p: float, q: float) -> Array:
    """The covariance of the estimates, from the counts observed (theorem theo-t-var).

        V(t_J, t_J') = (q - p)^-(|J| + |J'|) sum_(S in J u J') c_S (-p)^(|J u J'| - |S|)
                       ((-p)^|J n J' - S| (1 - 2p)^|J n J' n S| - (q - p)^|J n J'|)

    Here c of the empty set is N.
    """

    def term(S: int, union: int, both: int, common: int) -> float:
        return (-p) ** (union - S) * ((-p) ** (both - common) * (1 - 2 * p) ** common - (q - p) ** both)

    scale = np.array([(q - p) ** -len(J) for J in column_sets(columns)])
    return _sums_over_subsets(counts, n, columns, term) * np.outer(scale, scale)


def _sums_over_subsets(
    values: Sequence[float] | Array, n: int, columns: int, term: Callable[[int, int, int, int], float]
) -> Array:
    """The sums over S in J u J' of the value of S times term(|S|, |J u J'|, |J n J'|, |S n J n J'|), a matrix."""
    sets = column_sets(columns)
    value = dict(zip(sets, np.asarray(values, float), strict=True)) | {(): float(n)}

    def entry(J: Set, K: Set) -> float:
        union, both = sorted({*J, *K}), {*J} & {*K}
        subsets = [S for size in range(len(union) + 1) for S in combinations(union, size)]
        return float(sum(value[S] * term(len(S), len(union), len(both), len(both & {*S})) for S in subsets))

    return np.array([[entry(J, K) for K in sets] for J in sets])


def row_types(co_occurrences: npt.ArrayLike) -> Array:
    """The numbers of distinct rows from co-occurrences (lemma theo-row-type-counts), an axis of length 2 per flag.

    Co-occurrences have [not looked at, true] on each axis; rows have [false, true].
    """
    tensor = np.array(co_occurrences, float)
    for axis in range(tensor.ndim):
        lines = tensor.swapaxes(0, axis)
        lines[0] -= lines[1]
    return tensor


def co_occurrences(row_types: npt.ArrayLike) -> Array:
    """The co-occurrences from numbers of distinct rows: the inverse of `row_types`."""
    tensor = np.array(row_types, float)
    for axis in range(tensor.ndim):
        lines = tensor.swapaxes(0, axis)
        lines[0] += lines[1]
    return tensor
