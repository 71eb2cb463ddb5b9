"""Coefficients of a regression with their intervals and tests: what `regress` gives."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from deniable.inference.about_whom import Subject
from deniable.inference.intervals import chosen_level
from deniable.inference.one_feature import Array
from deniable.tables.table import COEFFICIENTS, LOG_ODDS, About, Column, Table
from deniable.text.fixed_phrases import influence_in_words
from deniable.text.html import printed
from deniable.text.tables import aligned


class Intervals(NamedTuple):
    """The ends of the confidence intervals of several coefficients."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a regression: in shares if it is linear, log odds if it is logistic (`kind`).

    `terms` names them, the first answers being left out.

    `covariance` is the sandwich's. `shape` says how far intervals are from normal ones with its standard errors. Where
    there are not enough reports `why` says so, and intervals and p-values are nan.
    """

    outcome: str
    terms: tuple[str, ...]
    coefficients: Array
    covariance: Array
    n: int
    subject: Subject
    shape: "Distribution"
    why: str = ""
    kind: str = "linear"
    influence: Array = field(default_factory=lambda: np.full(1, np.nan))  # of 1 % of crafted reports, to first order
    asked: int | None = None  # how many were asked each two of its features, at least; None if all were
    reference: str = ""  # the answers that have no term, which the others are compared with
    among: str = ""  # which respondents it is about, if not all: "among those who answered smoker"

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for this regression."""
        return not self.why

    @property
    def stderr(self) -> Array:
        """Standard errors of the coefficients; nan where there are not enough reports."""
        variances = np.diagonal(self.covariance)
        return np.sqrt(np.where(variances >= 0, variances, np.nan))

    @property
    def variance(self) -> Array:
        """Variances of the coefficients, the squares of `stderr`."""
        return np.asarray(np.diagonal(self.covariance))

    @property
    def pvalue(self) -> Array:
        """The two-sided p-value of each coefficient's being zero, from the same distribution as its interval."""
        return self.shape.p_values(self.coefficients, self.stderr) if self.enough else self._none

    @property
    def _among(self) -> str:
        """Which respondents it is about, to stand after the population; nothing if all."""
        return f", {self.among}" if self.among else ""

    @property
    def _none(self) -> Array:
        """What there is where there are not enough reports."""
        return np.full(len(self.terms), np.nan)

    def confidence_interval(self, level: float = 0.95, *, confidence_level: float | None = None) -> Intervals:
        """The confidence intervals of all coefficients.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        confidence_level
            The same, by the name that scipy has for it.

        Returns
        -------
        Intervals
            The ends, `low` and `high`, an array each; nan if there are not enough reports.

        Examples
        --------
        >>> low, high = dn.regress(counts, "smoker", ["age"]).confidence_interval()
        >>> len(low)
        4
        """
        level = chosen_level(level, confidence_level)
        if not self.enough:
            return Intervals(self._none, self._none)
        return Intervals(*self.shape.limits(self.coefficients, self.stderr, level))

    def table(self, *, level: float = 0.95) -> Table:
        """The coefficients with their confidence intervals and tests, as tidy rows.

        Parameters
        ----------
        level
            The confidence level of the intervals.

        Returns
        -------
        Table
            A row for each term: term, coefficient, stderr, low, high, and the p-value of its being zero, from the same
            confidence distribution as the interval. The last three are nan where there are not enough reports.

        Examples
        --------
        >>> dn.regress(counts, "smoker", on=["age"]).table().column_names
        ['term', 'coefficient', 'stderr', 'low', 'high', 'p_value']
        """
        low, high = self.confidence_interval(level)
        columns: dict[str, Column] = {
            "term": self.terms,
            "coefficient": self.coefficients,
            "stderr": self.stderr,
            "low": low,
            "high": high,
            "p_value": self.pvalue,
        }
        kind = LOG_ODDS if self.kind == "logistic" else COEFFICIENTS
        title, crafted = f"{self.outcome}, by {self.kind} regression", float(self.influence.max())
        reports = self.n if self.asked is None else self.asked
        about = About(title, kind, self.subject, level, reports, respondents=self.n, influence=crafted)
        return Table(columns, ("term",), replace(about, reference=self.reference, among=self.among))

    def summary(self, level: float = 0.95) -> str:
        """The coefficients with their intervals and p-values, as lines of text.

        Parameters
        ----------
        level
            The confidence level of the intervals.

        Examples
        --------
        >>> print(dn.regress(counts, "smoker", ["age"]).summary().split(";")[0])
        Linear regression of smoker, about the population
        """
        told = f"{self.kind.capitalize()} regression of {self.outcome}, about the {self.subject}{self._among}"
        found = self.table(level=level)
        reports = f"{found.about.reports_in_words}{influence_in_words(float(self.influence.max()))}"
        head = f"{told}; {100 * level:g}% intervals; {reports}."
        if not self.enough:
            return f"{head}\n{self.why}."
        names = ("term", "coefficient", "SE", "low", "high", "p-value")
        rows = [
            [row["term"], *(f"{row[name]:.4f}" for name in ("coefficient", "stderr", "low", "high")),
             f"{row['p_value']:.2g}"]
            for row in found.to_pylist()
        ]  # fmt: skip
        below = [found.about.reference_in_words] if self.reference else []
        return "\n".join([head, *aligned(names, rows, numbers=range(1, 6), rule=True, colour=False), *below])

    def _repr_html_(self) -> str:
        return printed(repr(self)) if not self.enough else self.table()._repr_html_()

    def __repr__(self) -> str:
        told = "Regression" if self.kind == "linear" else "Logistic regression"
        told = f"{told} of {self.outcome} about the {self.subject}{self._among}"
        if not self.enough:
            return f"<{told}: {self.why}>"
        numbers = zip(self.terms, self.coefficients, self.stderr, *self.confidence_interval(), strict=True)
        terms = ", ".join(
            f"{term} {b:.4f} (SE {s:.4f}; 95% CI {low:.4f} to {high:.4f})" for term, b, s, low, high in numbers
        )
        return f"<{told}: {terms}>"


class Distribution(Protocol):
    """How coefficients are distributed: what gives their intervals and p-values."""

    def limits(self, values: Array, stderr: Array, level: float) -> tuple[Array, Array]:
        """The ends of the confidence intervals of values with these standard errors."""

    def p_values(self, values: Array, stderr: Array) -> Array:
        """The two-sided p-value of each value's being zero."""


@dataclass(frozen=True, eq=False)
class Shape:
    """How the studentised errors of coefficients are distributed.

    They have this skewness, standardised covariance with their estimated variance, and degrees of freedom of that; with
    the PSEUDO respondents standard errors are so many times wider.
    """

    skewness: Array
    with_variance: Array
    degrees: Array
    widening: Array

    def quantile(self, t: Array) -> Array:
        """The quantile of the studentised error where that of Student's distribution is t; it rises with t."""
        least = np.maximum(np.abs(t), 1.0)
        bend = np.clip(self.skewness - 3 * self.with_variance, -1.5 / least, 1.5 / least)  # more would let it turn back
        return np.asarray(t - self.with_variance / 2 + bend * (t**2 - 1) / 6)

    def limits(self, values: Array, stderr: Array, level: float) -> tuple[Array, Array]:
        """The ends of the confidence intervals of values with these standard errors."""
        from scipy.special import stdtrit

        t, spread = stdtrit(self.degrees, 0.5 + level / 2), stderr * self.widening
        return values - spread * self.quantile(t), values - spread * self.quantile(-t)

    def p_values(self, values: Array, stderr: Array) -> Array:
        """The two-sided p-value of each value's being zero: one less the level at which its interval ends there."""
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):  # public answers do not vary about the respondents
            far = values / (stderr * self.widening)
        side = np.where(far < self.quantile(np.zeros(len(far))), -1.0, 1.0)
        low, high = np.zeros(len(far)), 2 * np.minimum(np.abs(np.nan_to_num(far)), 1e9) + 10.0
        for _ in range(100):  # bisection: the end of the interval that is nearer to zero moves with t
            middle = (low + high) / 2
            beyond = side * self.quantile(side * middle) > side * far
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.where(np.isnan(far), np.nan, 2 * stdtr(self.degrees, -low))
