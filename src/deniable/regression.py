"""Linear regression on private answers, from estimated second moments.

With y the outcome (0 or 1) and X a constant and an indicator for every answer of each predictor but its first, the
coefficients b = (E XX')^-1 E Xy need pairs of features alone. The moments E X (y - X'b) are linear in the table of all
features, so their covariance S follows from the table's, and that of b is A^-1 S A^-1 with A = E XX' (the sandwich).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.estimates import Estimate, estimate
from deniable.groups import SUBJECTS
from deniable.intervals import checked_level
from deniable.schema import SEPARATOR, Flag
from deniable.structure import Array, flat

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
        return pa.table(
            {
                "term": list(self.terms),
                "coefficient": self.coefficients,
                "stderr": self.stderr,
                "low": self.coefficients - away,
                "high": self.coefficients + away,
                "p_value": 2 * ndtr(-np.abs(self.coefficients) / self.stderr),
            }
        )

    def __repr__(self) -> str:
        terms = ", ".join(
            f"{term} {b:.4f} +- {s:.4f}" for term, b, s in zip(self.terms, self.coefficients, self.stderr, strict=True)
        )
        return f"<Regression of {self.outcome} about the {self.subject}: {terms}>"


def regress(counts: Counts, outcome: Any, *, on: Sequence[str], about: str = "population") -> Regression:
    """How the probability of an outcome depends on other features, all at once (a linear probability model).

    The outcome is a flag, or a choice's answer as `("age", "65+")`. Counts must hold one table with all the features.
    """
    if about not in SUBJECTS:
        raise EstimateError(f'a regression is about "respondents" or the "population"; found {about!r}')
    if isinstance(on, str) or not isinstance(on, Sequence) or not on:
        raise EstimateError(f"regress takes a list of features to regress on; found {on!r}")
    names = [outcome if isinstance(outcome, str) else outcome[0], *on]
    try:
        est = estimate(counts, names).about(about)
    except CountError as error:
        raise EstimateError(
            f"a regression needs one table that holds all its features, as count(reports, {names}) makes it: {error}"
        ) from None
    y = est.indicator(outcome)[:2]
    x: list[Indicator] = [None]
    terms = ["constant"]
    for feature in est.features[1:]:
        for answer in feature.answers[1:]:
            x.append(est.indicator((feature.name, answer))[:2])
            terms.append(feature.name if isinstance(feature, Flag) else f"{feature.name}{SEPARATOR}{answer}")
    squares = np.array([[_weights(est, left, right) for right in x] for left in x])  # of X X', over the table's entries
    mean, covariance = est.mean.reshape(-1) / est.n, est.covariance() / est.n**2
    moments = squares @ mean
    _check_safe(moments, squares, covariance, est.n)
    with_outcome = np.array([_weights(est, y, each) for each in x])
    b = np.asarray(np.linalg.solve(moments, with_outcome @ mean), np.float64)
    slopes = np.linalg.inv(moments) @ (with_outcome - np.tensordot(b, squares, axes=(0, 1)))
    return Regression(names[0], tuple(terms), b, slopes @ covariance @ slopes.T, est.n, about)


def _weights(est: Estimate, left: "Indicator", right: "Indicator") -> Array:
    """The weights of the product of two indicators: of answers that exclude each other it is nothing."""
    both: dict[str, Array] = {}
    for one in (left, right):
        if one is not None:
            name, vector = one
            both[name] = vector * both.get(name, 1)
    return flat(est.product_weights(both))


def _check_safe(moments: Array, squares: Array, covariance: Array, n: int) -> None:
    """Refuse moments that may well be those of no table: their least eigenvalue must surely be above zero."""
    values, vectors = np.linalg.eigh(moments)
    u = vectors[:, 0]
    line = np.einsum("i,j,ijk->k", u, u, squares)
    variance = float(line @ covariance @ line)
    if not values[0] > SAFELY * np.sqrt(max(variance, 0)) or variance < 0:
        found = f"{values[0]:.4f} +- {np.sqrt(variance):.4f}" if variance >= 0 else f"{values[0]:.4f}"
        raise EstimateError(
            f"not enough reports for this question: the least eigenvalue of the moments is {found} with {n:,} reports, "
            f"and must be {SAFELY} standard errors above zero. Regress on fewer features or answers, or ask more people"
        )


Indicator = tuple[str, Array] | None  # None is the constant
