"""Cumulants of estimates in closed form, up to the fourth, and the variance of the variance estimate.

For weights w that are a product over features, one report's own estimate is Y = w z, with truth w u. Every moment of Y
given the truth is a product over features of functions of one answer each, so it is linear in the tensor T: with
[f] = sum_S T_S prod_k f_k[S_k],

    about the respondents    V = [E Y^2] - [(w u)^2],      kappa3 = [E Y^3] - 3 [w u E Y^2] + 2 [(w u)^3]
    about the population     V = [E Y^2] - [w u]^2 / N,    kappa3 = [E Y^3] - 3 [w u] [E Y^2] / N + 2 [w u]^3 / N^2

The estimated variance is a weighted sum of entries too, so its covariance with the estimate, and its own variance,
follow like any other. All are exact but the fourth cumulant of local hashing: its hashes are independent four by four,
and that would need five.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import mul

import numpy as np

from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array, Axis, over_truth
from deniable.inference.tensors import Alike, along

# From this many answers on it pays to use that the rows of weights of all answers are alike.
MANY = 16

Contraction = Callable[[list[Array | Alike]], Array]  # [f] for all combinations of rows, of one matrix per feature


@dataclass(frozen=True)
class Cumulants:
    """The first four cumulants of estimated numbers of respondents, for each combination of rows of weights.

    With them come the covariance of an estimate with its estimated variance, and the variance of that variance
    estimate.
    """

    mean: Array
    variance: Array
    third: Array
    fourth: Array
    covariance_with_variance: Array
    variance_of_variance: Array

    @classmethod
    def normal(cls, mean: Array | float, variance: Array | float) -> "Cumulants":
        """The cumulants of normal estimates whose variance is known without error: all others are zero."""
        zero = np.zeros(np.shape(mean))
        return cls(np.asarray(mean), np.asarray(variance), zero, zero, zero, zero)

    @property
    def squared_step(self) -> Array:
        """The square of the steps that an estimate varies in: kappa4 / V, for jumps of one size that is their square.

        It is at least as large as the skewness and the covariance with the variance say; zero without any variance.
        """
        some = np.asarray(self.variance) > 0
        fourth, third, with_variance = (
            np.where(some, of, 0.0) / np.where(some, self.variance, 1.0)
            for of in (self.fourth, self.third, self.covariance_with_variance)
        )
        return np.maximum(fourth, np.maximum(third**2, with_variance**2))

    def at(self, place: int) -> "Cumulants":
        """The cumulants of the estimate at one place, in C order."""
        return Cumulants(*(getattr(self, field.name).reshape(-1)[place] for field in fields(self)))

    def scaled(self, unit: float | Array) -> "Cumulants":
        """The cumulants of the estimates times a number, which may be negative: the k-th grows with its k-th power."""
        return Cumulants(*(getattr(self, field.name) * unit ** ORDERS[field.name] for field in fields(self)))

    def __add__(self, other: "Cumulants") -> "Cumulants":
        """The cumulants of the sum of independent estimates, which are the sums of their cumulants."""
        mine, theirs = ([getattr(one, field.name) for field in fields(one)] for one in (self, other))
        return Cumulants(*(a + b for a, b in zip(mine, theirs, strict=True)))


NOTHING = Cumulants.normal(0.0, 0.0)

# The power of the estimate's unit that each field of `Cumulants` is measured in.
ORDERS = {
    "mean": 1,
    "variance": 2,
    "third": 3,
    "fourth": 4,
    "covariance_with_variance": 3,
    "variance_of_variance": 4,
}


Function = list[Array | Alike]  # a function of the answers that is a product over features, as vectors over u


@dataclass(frozen=True)
class RowFunctions:
    """The functions f of the answers whose brackets [f] cumulants are made of, for rows of weights.

    They are the same whatever the table is, so that several tables share them.
    """

    subject: Subject
    of: Mapping[str, Function]


def row_functions(axes: Sequence[Axis], rows: Sequence[Array], subject: Subject) -> RowFunctions:
    """The functions of the answers that cumulants about a subject need, one matrix of rows of weights per feature.

    With w for the weights, the estimated variance is g mu - (w mu)^2 / N about the population, with g = E (w z)^2, and
    g mu - u mu about the respondents, with u = (w u)^2.
    """
    axes, rows, alike = zip(*map(_shortened, axes, rows), strict=True)
    t, e2, e3, e4 = zip(*(axis.powers(matrix) for axis, matrix in zip(axes, rows, strict=True)), strict=True)
    g = [over_truth(one) for one in e2]

    def kept(matrices: Iterable[Array]) -> Function:
        return [Alike(*matrix.T) if short else matrix for short, matrix in zip(alike, matrices, strict=True)]

    def times(*factors: Sequence[Array]) -> Function:
        return kept(over_truth(reduce(mul, each)) for each in zip(*factors, strict=True))

    def second(left: Sequence[Array], right: Sequence[Array]) -> tuple[Function, Function]:
        """E (w z)(w' z) and (w u)(w' u), row by row."""
        both = [axis.second(w, v) for axis, w, v in zip(axes, left, right, strict=True)]
        return kept(moment for moment, _ in both), kept(truth for _, truth in both)

    functions = {"t": times(t), "e2": kept(g), "e3": times(e3), "e4": times(e4)}
    if subject is Subject.POPULATION:
        return RowFunctions(subject, functions | {"wg": second(rows, g)[0], "gg": second(g, g)[0]})
    u = [over_truth(one**2) for one in t]
    products = {"tt": (t, t), "te2": (t, e2), "ttt": (t, t, t), "te3": (t, e3), "e2e2": (e2, e2)}
    products |= {"tte2": (t, t, e2), "tttt": (t, t, t, t)}
    functions |= {name: times(*factors) for name, factors in products.items()}
    for name, pair in {"wg": (rows, g), "wu": (rows, u), "gg": (g, g), "gu": (g, u), "uu": (u, u)}.items():
        functions[name], functions[f"truth {name}"] = second(*pair)
    return RowFunctions(subject, functions)


def cumulants(n: int, functions: RowFunctions, of: Contraction) -> Cumulants:
    """The cumulants of n respondents' estimate, given how to contract functions of the answers with their table."""
    brackets = {name: of(function) for name, function in functions.of.items()}
    return _about_population(n, brackets) if functions.subject is Subject.POPULATION else _about_respondents(brackets)


def _about_population(n: int, of: Mapping[str, Array]) -> Cumulants:
    """The cumulants from brackets, with the sampling variance."""
    mean, square, cube = of["t"], of["e2"], of["e3"]
    center = mean / n
    variance = square - center * mean
    third = cube - 3 * center * square + 2 * center**2 * mean
    fourth = of["e4"] - 4 * center * cube - 3 * square**2 / n + 12 * center**2 * square - 6 * center**3 * mean
    wg = of["wg"] - center * square
    gg = of["gg"] - square**2 / n
    with_variance = wg - 2 * center * variance
    return Cumulants(mean, variance, third, fourth, with_variance, gg - 4 * center * wg + 4 * center**2 * variance)


def _about_respondents(of: Mapping[str, Array]) -> Cumulants:
    """The cumulants from brackets, of the noise of randomizing alone."""
    noise = {name: of[name] - of[f"truth {name}"] for name in ("wg", "wu", "gg", "gu", "uu")}
    variance = of["e2"] - of["tt"]
    third = of["e3"] - 3 * of["te2"] + 2 * of["ttt"]
    fourth = of["e4"] - 4 * of["te3"] - 3 * of["e2e2"] + 12 * of["tte2"] - 6 * of["tttt"]
    of_variance = noise["gg"] - 2 * noise["gu"] + noise["uu"]
    return Cumulants(of["t"], variance, third, fourth, noise["wg"] - noise["wu"], of_variance)


def _shortened(axis: Axis, rows: Array) -> tuple[Axis, Array, bool]:
    """One row that stands for all, on the answer itself and on any other, if rows are those of each answer in turn.

    Then each row has its own weights of centring: that of its answer, and those of all others.
    """
    m, weights = axis.columns, axis.weights
    alike = len(rows) == m >= MANY and (weights is None or weights.ndim == 1)
    alike = alike and np.count_nonzero(rows) == m and bool((np.diagonal(rows, 1) == 1).all())
    if not alike:
        return axis, rows, False
    each = axis.m // m
    if weights is not None:
        weights = np.stack([weights, 1 - weights], axis=1)
    return replace(axis, times=(each, each * (m - 1)), weights=weights), np.array([[0.0, 1.0, 0.0]]), True


def by_table(truth: Array) -> Contraction:
    """Contraction with a tensor. It may have more axes than there are features; they come first in the result."""
    return lambda matrices: along(truth, matrices)


def by_margins(truth: Array, features: int, added: float = 0.0) -> Contraction:
    """Contraction with the table of independent answers that has this one's margins, clipped and made to sum to one.

    So many respondents may be `added` to each answer, a prior by which no answer is impossible.
    """
    n = truth[(0,) * features]
    lines = [truth[tuple(slice(None) if k == feature else 0 for k in range(features))] for feature in range(features)]
    return by_shares(n, [_with_prior(_proper(line / n), added / n) for line in lines])


def _with_prior(shares: Array, added: Array) -> Array:
    """Shares (1, s_1, ..., s_m) of a feature's answers if a part of a whole is added to each of its answers."""
    answers = max(len(shares) - 1, 2)
    return np.concatenate([shares[:1], (shares[1:] + added) / (1 + answers * added)])


def by_shares(n: Array, margins: Sequence[Array]) -> Contraction:
    """Contraction with a table of n respondents and independent answers, given (1, s_1, ..., s_m) of each feature."""

    def contract(matrices: list[Array | Alike]) -> Array:
        product = np.asarray(n)
        for k, (matrix, margin) in enumerate(zip(matrices, margins, strict=True)):
            part = along(margin, [matrix])
            product = product[..., None] * part.reshape(*np.shape(n), *[1] * k, -1)
        return product

    return contract


def proper_margin(truth: Array, feature: int) -> Array:
    """The shares of one feature's answers in a table with margins, none negative and with the sum one."""
    line = truth[tuple(slice(None) if k == feature else 0 for k in range(truth.ndim))]
    shares = _proper(line / line[0])
    return np.array([1 - shares[1], shares[1]]) if len(shares) == 2 else shares[1:]


def _proper(margin: Array) -> Array:
    """Shares (1, s_1, ..., s_m) clipped to [0, 1], and of a choice renormalised to sum to one."""
    shares = np.clip(margin, 0, 1)
    if len(shares) > 2:
        total = shares[1:].sum(axis=0)
        shares[1:] = np.where(total > 0, shares[1:] / np.where(total > 0, total, 1), 1 / (len(shares) - 1))
    return shares
