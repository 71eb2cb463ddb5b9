"""What all single results have in common: intervals with names, p-values, printing, and no arithmetic of their own."""

from collections.abc import Callable, Iterable
from math import floor, inf, isnan, log10, nan, sqrt
from typing import Any, NamedTuple, NoReturn, Protocol

from deniable.inference.about_whom import Subject
from deniable.inference.intervals import LEVEL, chosen_level
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE

# No p-value is below this, as no confidence level is above one less this.
LEAST_P = 1e-12
# So many halvings find a p-value to about twelve digits.
HALVINGS = 48


class Interval(NamedTuple):
    """The ends of a confidence interval; nan if there are not enough reports.

    Examples
    --------
    >>> low, high = est.cell(smoker=True).confidence_interval()
    >>> low == est.cell(smoker=True).confidence_interval().low
    True
    """

    low: float
    high: float


class Single(Protocol):
    """What the common part needs to know of a result."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def stderr(self) -> float:
        """The standard error."""

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for an interval."""

    @property
    def says_little(self) -> bool:
        """Whether the 95 % interval is too long to tell much."""

    @property
    def subject(self) -> Subject:
        """Whom it is about."""

    @property
    def n(self) -> int:
        """How many respondents there are."""

    @property
    def null(self) -> float:
        """The value that `pvalue` tests against; nan if there is none."""

    def limits(self, level: float) -> tuple[float, float]:
        """The ends of the interval, where there are enough reports."""

    def remarks(self) -> Iterable[str]:
        """What is printed after the interval."""

    def confidence_interval(self, level: float = LEVEL, *, confidence_level: float | None = None) -> Interval:
        """The confidence interval."""


class SingleResult:
    """A number with its standard error, confidence interval and p-value.

    `float(result)` is its value, and so is what `f"{result:.2f}"` formats. Results of one survey are correlated, so
    that they are not added or subtracted; `difference`, `ratio` and `linear` of an estimate do that.
    """

    def confidence_interval(self: Single, level: float = LEVEL, *, confidence_level: float | None = None) -> Interval:
        """The confidence interval of the true value.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        confidence_level
            The same, by the name that scipy has for it.

        Returns
        -------
        Interval
            The ends, `low` and `high`; both are nan if there are not enough reports.

        Examples
        --------
        >>> low, high = est.cell(smoker=True).confidence_interval(0.9)
        >>> print(f"{low:.3f} to {high:.3f}")
        0.296 to 0.310
        >>> round(est.odds_ratio("smoker", ("age", "65+")).confidence_interval().high, 2)
        0.81
        """
        level = chosen_level(level, confidence_level)
        return Interval(*self.limits(level)) if self.enough else Interval(nan, nan)

    @property
    def pvalue(self: Single) -> float:
        """The two-sided p-value of the true value's being `null`, from the same distribution as the interval.

        It is below 0.05 exactly if the 95 % interval leaves `null` out: 0 for differences, correlations and contrasts,
        1 for ratios. It is nan for shares, which have no such value, and without enough reports; at least 1e-12.
        """
        return p_value(self.limits, self.null) if self.enough else nan

    def __float__(self: Single) -> float:
        return float(self.value)

    def __format__(self: Single, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self: Single) -> str:
        low, high = self.confidence_interval()
        digits = decimals(self.stderr)
        if isnan(low) or isnan(high):
            return f"{self.value:.{digits}f} ({NOT_ENOUGH} for this question; {self.subject})"
        little = f", {SAYS_LITTLE}" if self.says_little else ""
        interval = f"{LEVEL:.0%} CI {low:.{digits}f} to {high:.{digits}f}{little}"
        told = "; ".join([f"SE {self.stderr:.{digits}f}", interval, *self.remarks(), str(self.subject)])
        return f"{self.value:.{digits}f} ({told})"

    def _no_arithmetic(self, *_: Any) -> NoReturn:
        raise TypeError(
            "results of one survey are correlated, so that their sum or difference needs a standard error of its own: "
            "ask est.difference(...), est.ratio(...) or est.linear(weights), dn.compare(...) for two surveys, or take "
            "float(result) for the value alone"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = __abs__ = _no_arithmetic

    def _no_number(self, *_: Any) -> NoReturn:
        raise TypeError(
            "a result is an estimate with an error, and is not rounded or compared by itself: take result.value for "
            "the number alone, such as round(result.value, 2) or result.value > 0.2; confidence_interval() says how "
            "sure it is, and pvalue whether it may be chance"
        )

    __round__ = __lt__ = __le__ = __gt__ = __ge__ = _no_number


def decimals(stderr: float) -> int:
    """How many decimals are printed: so many that the standard error has two digits, from three to six."""
    return min(max(1 - floor(log10(stderr)), 3), 6) if 0 < stderr < inf else 4


def p_value(limits: Callable[[float], tuple[float, float]], null: float) -> float:
    """The two-sided p-value of a value: one less the level at which the confidence interval begins to hold it.

    Intervals grow with their level, so that halving finds it. It begins at LEVEL, where most intervals are looked at.
    """

    def left_out(p: float) -> bool:
        low, high = limits(1 - p)
        return null < low or null > high

    if isnan(null) or any(map(isnan, limits(LEVEL))):
        return nan
    small, large = (LEAST_P, 1 - LEVEL) if left_out(1 - LEVEL) else (1 - LEVEL, 1 - 1e-9)
    if large > 0.5 and not left_out(large):
        return 1.0
    if small == LEAST_P and left_out(small):
        return LEAST_P
    for _ in range(HALVINGS):
        middle = sqrt(small * large)
        small, large = (small, middle) if left_out(middle) else (middle, large)
    return small
