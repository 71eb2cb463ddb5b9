"""Linear regression on private answers, from estimated second moments.

With y the outcome (0 or 1) and X a constant and an indicator for every answer of each predictor but its first, the
coefficients b = (E XX')^-1 E Xy need pairs of features alone. E X (y - X'b) is linear in these moments, so its
covariance S follows from theirs, and that of b is A^-1 S A^-1 with A = E XX' (the sandwich).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.respondents import SUBJECTS
from deniable.inference.axis import Array
from deniable.inference.intervals import checked_level
from deniable.inference.tensors import contract
from deniable.survey.schema import SEPARATOR, Flag

SAFELY = 5  # standard errors: the least eigenvalue of A must be so far above zero


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a linear probability model, in shares: `terms` names them, the first answers being left out."""

    outcome: str
    terms: tuple[str, ...]
    coefficients: Array
    covariance: Array
    n: int
    subject: str

    @property
    def stderr(self) -> Array:
        """Standard errors of the coefficients; nan where there are not enough reports."""
        variances = np.diagonal(self.covariance)
        return np.sqrt(np.where(variances >= 0, variances, np.nan))

    def table(self, *, level: float = 0.95) -> Any:
        """Tidy rows: term, coefficient, stderr, low, high, and the p-value of its being zero."""
        from scipy.special import ndtr, ndtri

        away = float(ndtri(0.5 + checked_level(level) / 2)) * self.stderr
        with np.errstate(divide="ignore", invalid="ignore"):  # of open answers, about the respondents
            far = np.abs(self.coefficients) / self.stderr
        return pa.table(
            {
                "term": list(self.terms),
                "coefficient": self.coefficients,
                "stderr": self.stderr,
                "low": self.coefficients - away,
                "high": self.coefficients + away,
                "p_value": 2 * ndtr(-far),
            }
        )

    def __repr__(self) -> str:
        terms = ", ".join(
            f"{term} {b:.4f} +- {s:.4f}" for term, b, s in zip(self.terms, self.coefficients, self.stderr, strict=True)
        )
        return f"<Regression of {self.outcome} about the {self.subject}: {terms}>"


def regress(counts: Counts, outcome: Any, *, on: Sequence[str], about: str = "population") -> Regression:
    """How the probability of an outcome depends on other features, all at once (a linear probability model).

    The outcome is a flag, or a choice's answer as `("age", "65+")`. Counts must hold one table with all the features,
    or all tables of four of them (order=4), as the covariance of two pairs is that of four features.
    """
    if about not in SUBJECTS:
        raise EstimateError(f'a regression is about "respondents" or the "population"; found {about!r}')
    if not isinstance(counts, Counts):
        raise EstimateError(f"regress takes counts, as dn.count or Counts.load give them; found {counts!r}")
    if isinstance(on, str) or not isinstance(on, Sequence) or not on or not all(isinstance(name, str) for name in on):
        raise EstimateError(f"regress takes a list of features to regress on, by their names; found {on!r}")
    pair = isinstance(outcome, list | tuple) and len(outcome) == 2 and isinstance(outcome[0], str)
    if not isinstance(outcome, str) and not pair:
        raise EstimateError(f"the outcome is a flag, or a choice's answer as (name, answer); found {outcome!r}")
    names = [outcome if isinstance(outcome, str) else outcome[0], *on]
    found = _Moments(counts, about)
    y = found.indicator(outcome, names)
    x: list[Product] = [{}]
    terms = ["constant"]
    for name in on:
        feature = counts.plan.schema[name]
        for answer in feature.answers[1:]:
            x.append(found.indicator((name, answer), names))
            terms.append(name if isinstance(feature, Flag) else f"{name}{SEPARATOR}{answer}")
    squares = np.array([[found.place(_both(left, right)) for right in x] for left in x])
    with_outcome = np.array([found.place(_both(y, each)) for each in x])
    mean, covariance = found.mean(), found.covariance()
    moments = mean[squares]
    _check_safe(moments, squares, covariance, counts.n)
    b = np.asarray(np.linalg.solve(moments, mean[with_outcome]), np.float64)
    slopes = np.zeros((len(x), len(mean)))
    for i in range(len(x)):
        np.add.at(slopes[i], with_outcome[i], 1.0)
        np.add.at(slopes[i], squares[i], -b)
    slopes = np.linalg.inv(moments) @ slopes
    told = outcome if isinstance(outcome, str) else f"{outcome[0]} = {outcome[1]}"
    return Regression(told, tuple(terms), b, slopes @ covariance @ slopes.T, counts.n, about)


Product = dict[str, Array]  # weights of the features that a product of indicators looks at


def _both(left: Product, right: Product) -> Product:
    """The product of two products: of a feature's answers that exclude each other it is nothing."""
    return {**left, **{name: vector * left.get(name, 1) for name, vector in right.items()}}


class _Moments:
    """Shares of respondents with some answers, each to two features at most, each once; and their covariance."""

    def __init__(self, counts: Counts, subject: str) -> None:
        self.counts, self.subject = counts, subject
        self.products: list[Product] = []
        self.places: dict[Any, int] = {}
        self.estimates: dict[tuple[str, ...], Estimate] = {}

    def estimate(self, names: Iterable[str]) -> Estimate:
        """Of these features, from any table that holds them."""
        wanted = tuple(sorted(set(names), key=self.counts.plan.schema.index))
        if wanted not in self.estimates:
            try:
                self.estimates[wanted] = estimate(self.counts, wanted).about(self.subject)
            except CountError as error:
                raise EstimateError(
                    f"a regression needs one table that holds all its features, or order=4: {error}"
                ) from None
        return self.estimates[wanted]

    def indicator(self, what: Any, names: Sequence[str]) -> Product:
        name = what if isinstance(what, str) else what[0]
        if names.count(name) > 1:
            raise EstimateError(f"a regression takes each feature once; found {name!r} again")
        return {name: self.estimate([name]).indicator(what)[1]}

    def place(self, product: Product) -> int:
        """Where it stands among the moments."""
        key = tuple(sorted((name, vector.tobytes()) for name, vector in product.items()))
        if key not in self.places:
            self.places[key] = len(self.products)
            self.products.append(product)
        return self.places[key]

    def mean(self) -> Array:
        shares = []
        for product in self.products:
            est = self.estimate(product) if product else None
            shares.append(1.0 if est is None else contract(est.mean, est.product_weights(product)) / est.n)
        return np.array(shares)

    def covariance(self) -> Array:
        size = len(self.products)
        matrix = np.zeros((size, size))
        for i, j in combinations_with_replacement(range(size), 2):
            left, right = self.products[i], self.products[j]
            if left and right:  # the constant does not vary
                est = self.estimate([*left, *right])
                both = est.product_weights(left), est.product_weights(right)
                matrix[i, j] = matrix[j, i] = est.covariance_of(*both) / est.n**2
        return matrix


def _check_safe(moments: Array, squares: Any, covariance: Array, n: int) -> None:
    """Refuse moments that may well be those of no table: their least eigenvalue must surely be above zero."""
    values, vectors = np.linalg.eigh(moments)
    line = np.zeros(len(covariance))
    np.add.at(line, squares, np.outer(vectors[:, 0], vectors[:, 0]))
    variance = float(line @ covariance @ line)
    if variance < 0 or not values[0] > SAFELY * np.sqrt(variance):
        found = f"{values[0]:.4f} +- {np.sqrt(variance):.4f}" if variance >= 0 else f"{values[0]:.4f}"
        raise EstimateError(
            f"not enough reports for this question: the least eigenvalue of the moments is {found} with {n:,} reports, "
            f"and must be {SAFELY} standard errors above zero. Regress on fewer features or answers, or ask more people"
        )
