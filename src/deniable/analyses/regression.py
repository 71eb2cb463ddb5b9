"""Linear regression on private answers, from estimated second moments.

With y the outcome (0 or 1) and X a constant and an indicator for every answer of each predictor but its first, the
coefficients b = (E XX')^-1 E Xy need pairs of features alone. E X (y - X'b) is linear in these moments, so its
covariance S follows from theirs, and that of b is A^-1 S A^-1 with A = E XX' (the sandwich).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.analyses.pair_moments import pair_moments
from deniable.counts.checks import check_asked
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError, abbreviated
from deniable.estimates.answers_as_weights import Indicator, indicator, product_weights
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.groups import evidence_of
from deniable.estimates.estimate import Estimate, estimate
from deniable.inference.about_whom import Subject, checked_subject
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.inference.tensors import contract
from deniable.survey.plan import Plan
from deniable.survey.schema import SEPARATOR, Flag
from deniable.text.fixed_phrases import NOT_ENOUGH


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a linear probability model, in shares: `terms` names them, the first answers being left out."""

    outcome: str
    terms: tuple[str, ...]
    coefficients: Array
    covariance: Array
    n: int
    subject: Subject

    @property
    def stderr(self) -> Array:
        """Standard errors of the coefficients; nan where there are not enough reports."""
        variances = np.diagonal(self.covariance)
        return np.sqrt(np.where(variances >= 0, variances, np.nan))

    def table(self, *, level: float = 0.95) -> "pa.Table":
        """The coefficients with their confidence intervals and Wald tests, as tidy rows.

        Parameters
        ----------
        level
            The confidence level of the intervals.

        Returns
        -------
        pyarrow.Table
            A row for each term: term, coefficient, stderr, low, high, and the p-value of its being zero.

        Examples
        --------
        >>> dn.regress(counts, "smoker", on=["age"]).table().column_names
        ['term', 'coefficient', 'stderr', 'low', 'high', 'p_value']
        """
        from scipy.special import ndtr, ndtri

        away = float(ndtri(0.5 + checked_level(level) / 2)) * self.stderr
        with np.errstate(divide="ignore", invalid="ignore"):  # public answers do not vary about the respondents
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


def regress(counts: Counts, outcome: Indicator, *, on: Sequence[str], about: str = "population") -> Regression:
    """Linear regression (a linear probability model) of an outcome on other features, all at once.

    Parameters
    ----------
    counts
        Counts that hold one table with all the features, or all tables of four of them (order=4): the covariance of two
        pairs is that of four features. Of a plan with arms it is enough that each pair is asked in some arm.
    outcome
        A flag's name, or a choice's answer such as `("age", "65+")`.
    on
        The names of the features to regress on; the first answer of each is left out.
    about
        "population" or "respondents".

    Returns
    -------
    Regression
        The coefficients, in shares, with their covariance by the sandwich formula.

    Examples
    --------
    >>> dn.regress(counts, "smoker", on=["age"]).terms
    ('constant', 'age: 30-44', 'age: 45-64', 'age: 65+')
    """
    if not isinstance(counts, Counts):
        raise EstimateError(f"regress takes counts, as dn.count or Counts.load give them; found {abbreviated(counts)}")
    return regression(_CountedMoments(counts, checked_subject(about, "a regression"), outcome, on), outcome)


def regression(found: "Moments", outcome: Indicator) -> Regression:
    """Linear regression from second moments, wherever these come from."""
    names, told = found.names, outcome if isinstance(outcome, str) else f"{outcome[0]} = {outcome[1]}"
    y = found.indicator(outcome, names)
    x, terms = _regressors(found, names)
    squares = np.array([[found.place(_both(left, right)) for right in x] for left in x])
    with_outcome = np.array([found.place(_both(y, each)) for each in x])
    mean, covariance = found.mean_and_covariance()
    moments = mean[squares]
    _check_safe(moments, squares, covariance, found.n)
    b = np.asarray(np.linalg.solve(moments, mean[with_outcome]), np.float64)
    slopes = np.zeros((len(x), len(mean)))
    for i in range(len(x)):
        np.add.at(slopes[i], with_outcome[i], 1.0)
        np.add.at(slopes[i], squares[i], -b)
    slopes = np.linalg.inv(moments) @ slopes
    return Regression(told, tuple(terms), b, slopes @ covariance @ slopes.T, found.n, found.subject)


def _checked_names(outcome: Any, on: Any) -> list[str]:
    """The names of all features, the outcome's first."""
    if isinstance(on, str) or not isinstance(on, Sequence) or not on or not all(isinstance(name, str) for name in on):
        raise EstimateError(f"regress takes a list of features to regress on, by their names; found {abbreviated(on)}")
    if isinstance(outcome, str):
        return [outcome, *on]
    if not isinstance(outcome, list | tuple) or len(outcome) != 2 or not isinstance(outcome[0], str):
        raise EstimateError(
            f"the outcome is a flag, or a choice's answer as (name, answer); found {abbreviated(outcome)}"
        )
    return [outcome[0], *on]


def _regressors(found: "Moments", names: Sequence[str]) -> tuple[list["Product"], list[str]]:
    """A constant and an indicator for every answer of each predictor but its first, and what they are called."""
    x: list[Product] = [{}]
    terms = ["constant"]
    for name in names[1:]:
        feature = found.plan.schema[name]
        for answer in feature.answers[1:]:
            x.append(found.indicator((name, answer), names))
            terms.append(name if isinstance(feature, Flag) else f"{name}{SEPARATOR}{answer}")
    return x, terms


Product = dict[str, Array]  # weights of the features that a product of indicators looks at


def _both(left: Product, right: Product) -> Product:
    """The product of two products of indicators: zero for two answers of one feature, which exclude each other."""
    return {**left, **{name: vector * left.get(name, 1) for name, vector in right.items()}}


class Moments(ABC):
    """Second moments: shares of respondents with answers to two features at most, each once; and their covariance."""

    def __init__(self, plan: Plan, n: int, subject: Subject, outcome: Any, on: Any) -> None:
        self.plan, self.n, self.subject = plan, n, subject
        self.names = _checked_names(outcome, on)
        self.products: list[Product] = []
        self.places: dict[Any, int] = {}
        self.estimates: dict[tuple[str, ...], Estimate] = {}

    @abstractmethod
    def table_estimate(self, names: Sequence[str]) -> Estimate:
        """The estimate of the table of some features that are asked together."""

    @abstractmethod
    def kinds(self) -> Sequence[ArmKind]:
        """What each kind of arm says of the features."""

    @abstractmethod
    def table(self, names: Sequence[str]) -> Array:
        """The proper table of some features at which covariances are evaluated."""

    def estimate(self, names: Iterable[str]) -> Estimate:
        """The estimate of these features, from any table that holds them."""
        every = self.names if self.plan.has_arms else names  # over arms, margins of several tables need not agree
        wanted = tuple(sorted(set(every), key=self.plan.schema.index))
        if wanted not in self.estimates:
            self.estimates[wanted] = self.table_estimate(wanted).about(self.subject)
        return self.estimates[wanted]

    def indicator(self, what: Any, names: Sequence[str]) -> Product:
        """The weights of a flag, or of a choice's answer, of a feature that occurs once among the names."""
        name = what if isinstance(what, str) else what[0]
        if names.count(name) > 1:
            raise EstimateError(f"a regression takes each feature once; found {name!r} again")
        return {name: indicator((self.plan.schema[name],), what)[1]}

    def place(self, product: Product) -> int:
        """The place of a product of indicators among the moments."""
        key = tuple(sorted((name, vector.tobytes()) for name, vector in product.items()))
        if key not in self.places:
            self.places[key] = len(self.products)
            self.products.append(product)
        return self.places[key]

    def mean_and_covariance(self) -> tuple[Array, Array]:
        """The estimated share of each product of indicators, and the covariance of all of them."""
        if not self.plan.has_arms or any(len(kind.places) == len(self.names) for kind in self.kinds()):
            return self.mean(), self.covariance()
        if self.subject is Subject.RESPONDENTS:
            raise EstimateError(
                "no arm asks all these features of the same people, so that the regression is about the population"
            )
        for product in self.products:
            if product and all(weights.any() for weights in product.values()):
                check_asked(self.plan, list(product))
        return pair_moments(self.kinds(), self.table, self.names, self.products)

    def mean(self) -> Array:
        """The estimated share of each product of indicators."""
        shares = []
        for product in self.products:
            est = self.estimate(product) if product else None
            shares.append(1.0 if est is None else contract(est.mean, product_weights(est.features, product)) / est.n)
        return np.array(shares)

    def covariance(self) -> Array:
        """The covariance of all estimated shares."""
        size = len(self.products)
        matrix = np.zeros((size, size))
        for i, j in combinations_with_replacement(range(size), 2):
            left, right = self.products[i], self.products[j]
            if left and right:  # the constant does not vary
                est = self.estimate([*left, *right])
                both = product_weights(est.features, left), product_weights(est.features, right)
                matrix[i, j] = matrix[j, i] = est.covariance_of(*both) / est.n**2
        return matrix


class _CountedMoments(Moments):
    """Second moments of a survey that was counted."""

    def __init__(self, counts: Counts, subject: Subject, outcome: Any, on: Any) -> None:
        super().__init__(counts.plan, counts.n, subject, outcome, on)
        self.counts = counts

    def table_estimate(self, names: Sequence[str]) -> Estimate:
        try:
            return estimate(self.counts, names)
        except CountError as error:
            raise EstimateError(
                f"a regression needs one table that holds all its features, or order=4: {error}"
            ) from None

    def kinds(self) -> list[ArmKind]:
        return arm_kinds([self.counts], self.names)

    def table(self, names: Sequence[str]) -> Array:
        return evidence_of([self.counts], names).best.table


def _check_safe(moments: Array, squares: npt.NDArray[np.intp], covariance: Array, n: int) -> None:
    """Refuse moments that may well be those of no table: their least eigenvalue must surely be above zero."""
    values, vectors = np.linalg.eigh(moments)
    line = np.zeros(len(covariance))
    np.add.at(line, squares, np.outer(vectors[:, 0], vectors[:, 0]))
    variance = float(line @ covariance @ line)
    if variance < 0 or not values[0] > SURELY_POSITIVE * np.sqrt(variance):
        found = f"{values[0]:.4f} +- {np.sqrt(variance):.4f}" if variance >= 0 else f"{values[0]:.4f}"
        raise EstimateError(
            f"{NOT_ENOUGH} for this question: the least eigenvalue of the moments is {found} with {n:,} reports, "
            f"and must be {SURELY_POSITIVE} standard errors above zero. Regress on fewer features or answers, or "
            "ask more people"
        )
