"""Results: a value with its standard error, its confidence interval, and whether there are enough reports for it."""

from dataclasses import dataclass
from math import inf, isnan, nan, sqrt

from deniable.inference.about_whom import Subject
from deniable.inference.association import AssociationDistribution
from deniable.inference.cumulants import Cumulants
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.intervals import limits, limits_of_shrunk_shares, ratio_says_little, share_says_little
from deniable.inference.one_feature import Array
from deniable.inference.ratios import RatioDistribution
from deniable.inference.single_result import LEAST_P, SingleResult
from deniable.text.completion import hiding
from deniable.text.fixed_phrases import NOT_ENOUGH, how_many, influence_in_words
from deniable.text.html import printed


@dataclass(frozen=True, repr=False)
class Answer(SingleResult):
    """A proportion with its standard error and confidence interval; `count` is the number of respondents it stands for.

    `enough` says whether there are enough reports for the interval to be trusted, by the rule in `trust`.
    """

    count: float
    n: int
    found: Cumulants  # of the estimate that the interval is about; `count` may be that of a proper table
    enough: bool
    exact: OneColumn | None = None  # the exact distribution, where there is one
    bounded: bool = False  # whether the interval is cut to what a proportion can be, the value itself included
    sampling_variance: float = nan  # the variance of the count about the population, if nothing were randomized
    subject: Subject = Subject.POPULATION
    null: float = nan  # what `pvalue` tests against: 0 for contrasts
    influence: float = nan  # the most that 1 % of crafted reports could move the value; nan where that is not known
    unshrunk: Cumulants | None = None  # of a share that a model has shrunk, the count before that

    __dir__ = hiding("found", "exact", "bounded", "sampling_variance", "unshrunk", "limits", "remarks")

    @property
    def effective_n(self) -> float:
        """The effective sample size: how many answers without any randomizing would be as precise."""
        return effective_n(self.n, self.sampling_variance, self.count_variance, self.subject)

    @property
    def value(self) -> float:
        """The proportion."""
        return self.count / self.n

    @property
    def count_variance(self) -> float:
        """The estimated variance of the count: negative, now and then, where there are not enough reports."""
        return float(self.found.variance)

    @property
    def variance(self) -> float:
        """The estimated variance of the proportion: the square of `stderr`, or negative where there is none."""
        return self.count_variance / self.n**2

    @property
    def stderr(self) -> float:
        """The standard error of the proportion; nan where the estimated variance is negative."""
        return sqrt(self.count_variance) / self.n if self.count_variance >= 0 else nan

    @property
    def says_little(self) -> bool:
        """Whether the 95 % interval is so long that it tells little: its half-width is above the share itself."""
        return self.enough and share_says_little(self.value, *self.confidence_interval())

    def limits(self, level: float) -> tuple[float, float]:
        """The ends of the confidence interval, by the exact distribution where there is one."""
        n = self.exact.n if self.exact else self.n
        low, high = (float(end) / n for end in (self.exact.limits(level) if self.exact else self._limits(level)))
        if self.bounded:  # no shorter than to hold the value itself
            low, high = min(max(low, 0.0), self.value), max(min(high, 1.0), self.value)
        return low, high

    def _limits(self, level: float) -> tuple[Array, Array]:
        """The ends in respondents, by the cumulants."""
        if self.unshrunk is None:
            return limits(self.found, level)
        return limits_of_shrunk_shares(self.found, self.n, self.unshrunk, level)

    def remarks(self) -> tuple[str, ...]:
        """What is printed after the interval: nothing."""
        return ()

    _repr_html_ = printed

    def __repr__(self) -> str:
        return f"<Answer {self}, {how_many(self.n, 'report')}{influence_in_words(self.influence)}>"


def effective_n(n: int, sampling_variance: float, variance: float, subject: Subject) -> float:
    """The effective sample size: how many answers without randomizing are as precise about the population, or nan.

    About n respondents the sampling is added first: then it is how many of them, drawn at random, would have to answer.
    """
    whole = variance if subject is Subject.POPULATION else variance + sampling_variance
    return n * sampling_variance / whole if sampling_variance > 0 and whole > 0 else nan


@dataclass(frozen=True)
class Merged:
    """Rare answers of a feature that were merged into one, the commonest first."""

    feature: str
    answers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.feature}: {' or '.join(self.answers)}"


def merged_in_words(merged: tuple[Merged, ...]) -> str:
    """Which answers were merged; nothing if none were."""
    return "; ".join(map(str, merged))


@dataclass(frozen=True, repr=False)
class JointAnswer(SingleResult):
    """A result that is not linear in the table: its value, standard error, interval and confidence distribution.

    `subject` is whom it is about, and `effective_n` the effective sample size: it is as precise as so many answers
    without any randomizing. `merged` are the rare answers that were taken together for it, if there were any.
    """

    name: str
    value: float
    distribution: RatioDistribution | AssociationDistribution
    enough: bool
    subject: Subject
    effective_n: float
    least: float = -inf  # the least and the most that it can be
    most: float = inf
    bounded: bool = False  # whether the interval is cut to what it can be, the value itself included
    merged: tuple[Merged, ...] = ()
    n: int = 0
    null: float = 0.0  # what `pvalue` tests against: 1 for ratios
    influence: float = nan  # the most that 1 % of crafted reports could move it, to first order; nan if not known

    __dir__ = hiding("least", "most", "bounded", "limits", "remarks")

    @property
    def stderr(self) -> float:
        """The standard error, by the delta method; nan where there is none."""
        return float(self.distribution.stderr)

    @property
    def variance(self) -> float:
        """The variance, which is the square of `stderr`."""
        return self.stderr**2

    @property
    def pvalue(self) -> float:
        """The two-sided p-value of the true value's being `null`: of no association, that of Wald's test.

        It is below 0.05 exactly if the 95 % interval leaves `null` out: 0 for differences, correlations and measures of
        association, 1 for ratios. It is nan without enough reports, and otherwise at least 1e-12.
        """
        if isinstance(self.distribution, AssociationDistribution):
            return max(float(self.distribution.p_value), LEAST_P) if self.enough else nan
        return super().pvalue

    @property
    def says_little(self) -> bool:
        """Whether the 95 % interval is so long that it tells little: longer than half of what the result can be."""
        return self.enough and ratio_says_little(*self.confidence_interval(), self.least, self.most)

    @property
    def how(self) -> str:
        """What the interval rests on: "Fieller", "Newcombe", the "delta method", or a "noncentral chi-square"."""
        return self.distribution.how

    def limits(self, level: float) -> tuple[float, float]:
        """The ends of the confidence interval."""
        low, high = map(float, self.distribution.limits(level, self.least, self.most))
        if self.bounded:
            low, high = max(low, self.least), min(high, self.most)
        return min(low, self.value), max(high, self.value)

    def remarks(self) -> tuple[str, ...]:
        """What is printed after the interval: which answers were merged, if any were."""
        return (f"merged {merged_in_words(self.merged)}",) if self.merged else ()

    _repr_html_ = printed

    def __repr__(self) -> str:
        moved = influence_in_words(self.influence, self.most - self.least)
        return f"<{self.name} {self}, {how_many(self.n, 'report')}{moved}>"


@dataclass(frozen=True, repr=False)
class Association:
    """The strength of association of two features: Cramer's V, from 0 to 1, and mutual information, in nats."""

    cramers_v: JointAnswer
    mutual_information: JointAnswer

    _repr_html_ = printed

    def __repr__(self) -> str:
        return f"<Cramer's V {self.cramers_v}; mutual information {self.mutual_information}>"


@dataclass(frozen=True, repr=False)
class ChiSquareTest:
    """A chi-square test about the population: its statistic, degrees of freedom and p-value.

    Where there are not enough reports for the test, `enough` is false and `p_value` is nan.
    """

    statistic: float
    degrees: int
    p_value: float

    subject = Subject.POPULATION
    name = "chi-square test"

    @property
    def pvalue(self) -> float:
        """The p-value, by the name that scipy has for it."""
        return self.p_value

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for this test."""
        return not isnan(self.p_value)

    def __str__(self) -> str:
        freedom = f"{self.degrees} degree{'s' * (self.degrees != 1)} of freedom"
        if not self.enough:
            return f"{NOT_ENOUGH} for this question"
        return f"p = {self.p_value:.2g} (chi-square {self.statistic:.1f} with {freedom})"

    _repr_html_ = printed

    def __repr__(self) -> str:
        return f"<{self.name}: {self}>"


@dataclass(frozen=True, repr=False)
class Independence(ChiSquareTest):
    """A test of independence: Wald's statistic, chi-square if the features are independent.

    `merged` are the rare answers that were taken together for it, the same as for Cramer's V about the population.
    `strata` is how many groups of respondents it is within: of added estimates, each by itself.
    """

    merged: tuple[Merged, ...] = ()
    strata: int = 1

    name = "test of independence"

    def __str__(self) -> str:
        within = f" within each of {self.strata} groups of respondents" if self.strata > 1 else ""
        merged = f"; merged {merged_in_words(self.merged)}" if self.merged else ""
        return super().__str__() + (within + merged if self.enough else "")


class Homogeneity(ChiSquareTest):
    """A test of homogeneity: how far arms, or surveys that are combined, are from saying the same of one table."""

    name = "test of homogeneity"


class ArmSizes(ChiSquareTest):
    """A test of the sizes of arms against their shares: Pearson's statistic of public numbers."""

    name = "test of the sizes of arms"
