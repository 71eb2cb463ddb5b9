"""Trends over several waves of different people: a result of each, the slope over time, and whether all are equal.

With v_i the result of wave i, V_i its variance and t_i its time, the slope is that of least squares with the weights
1 / V_i(m), where V_i(m) is the variance that v_i would have if the truth were the weighted mean m of all waves: weights
from each wave's own variance would favour waves that err to the side of small variances. The test of equality is
sum (v_i - m)^2 / V_i(m), chi-square with one degree of freedom less than there are waves (a score test). The slope is a
contrast of the waves, with the interval that is recovered from theirs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.client import number_text
from deniable.counts.as_counts import as_counts, no_counts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.different_answers import different_answers
from deniable.estimates.answers_as_weights import Indicator, answer_places, feature_named, indicator
from deniable.estimates.designs.crafted_reports import influence_in_one_survey
from deniable.estimates.estimate import Estimate, estimate
from deniable.files import Sources, joined_sources
from deniable.inference.about_whom import Subject
from deniable.inference.contrasts import contrast_p_value, recovered
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratios import RatioDistribution
from deniable.inference.results import Answer, ChiSquareTest, JointAnswer
from deniable.survey.describe import answer_in_words
from deniable.survey.schema import Feature
from deniable.tables.table import SHARES_BY_WAVE, WAVES, About, Column, Table
from deniable.text.fixed_phrases import NOT_ENOUGH, influence_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The mean that variances are evaluated at is found in so many rounds.
ROUNDS = 3

Result = Answer | JointAnswer


class Equality(ChiSquareTest):
    """A test of whether a result is the same in all waves."""

    name = "test of equality"


@dataclass(frozen=True, eq=False, repr=False)
class Trend:
    """A result in each of several waves, and how it changes over time.

    `slope` is the change per unit of `times`, with `slope_stderr` and its `p_value` of being zero; `equality` tests
    whether all waves are equal, whatever the order. All are nan where a wave has not enough reports.
    """

    waves: tuple[str, ...]
    times: Array
    results: tuple[Result, ...]
    subject: Subject
    share_of: str = ""  # the question and the answer, if the results are shares
    features: tuple[Feature, ...] = ()  # that question, whose label pictures have

    @property
    def enough(self) -> bool:
        """Whether there are enough reports in every wave."""
        return all(one.enough for one in self.results)

    @property
    def slope(self) -> float:
        """The change per unit of time, by weighted least squares."""
        return float(self._coefficients @ self._values)

    @property
    def slope_stderr(self) -> float:
        """The standard error of the slope, with each wave's own."""
        return float(np.sqrt(self._coefficients**2 @ self._variances))

    @property
    def influence(self) -> float:
        """The most that 1 % of crafted reports, all of them in one wave, could move the slope; nan if not known."""
        moved = np.abs(self._coefficients) * [one.influence for one in self.results]
        return influence_in_one_survey([(own, one.n) for own, one in zip(moved, self.results, strict=True)])

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a slope of zero; its interval leaves zero out exactly if it is smaller than that."""
        if not self.enough:
            return nan
        return contrast_p_value(self._values, self._coefficients, np.diag(self._variances), self._ends)

    @property
    def equality(self) -> Equality:
        """The chi-square test of whether all waves are equal."""
        from scipy.special import chdtrc

        variances, mean = self._pooled
        statistic = float(((self._values - mean) ** 2 / variances).sum())
        degrees = len(self.waves) - 1
        return Equality(statistic, degrees, float(chdtrc(degrees, statistic)) if self.enough else nan)

    def slope_interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the slope, recovered from those of all waves.

        Examples
        --------
        >>> later = dn.simulate.counts(of, plan, np.random.default_rng(2), n=30_000)
        >>> low, high = dn.trend([counts, later], "smoker").slope_interval()
        >>> low < 0 < high
        True
        """
        if not self.enough:
            return nan, nan
        level = checked_level(level)
        return recovered(self._values, self._coefficients, np.eye(len(self.waves)), self._ends(level))

    def table(self, *, level: float = 0.95) -> Table:
        """The result of each wave with its confidence interval, as tidy rows.

        Examples
        --------
        >>> later = dn.simulate.counts(of, plan, np.random.default_rng(2), n=30_000)
        >>> dn.trend([counts, later], "smoker").table().column_names
        ['wave', 'time', 'value', 'stderr', 'low', 'high']
        """
        low, high = self._ends(checked_level(level))
        columns: dict[str, Column] = {
            "wave": list(self.waves),
            "time": self.times,
            "value": self._values,
            "stderr": [one.stderr for one in self.results],
            "low": low,
            "high": high,
        }
        crafted = influence_in_one_survey([(one.influence, one.n) for one in self.results])
        title, kind = (f"{self.share_of}, by wave", SHARES_BY_WAVE) if self.share_of else ("by wave", WAVES)
        about = About(title, kind, self.subject, level, sum(one.n for one in self.results), influence=crafted)
        return Table(columns, ("wave", "time"), about, self.features)

    def plot(self, kind: str | None = None, *, ax: "Axes | None" = None, path: str | Path | None = None) -> "Figure":
        """Draw the result of each wave with its interval, as `table().plot()` does."""
        return self.table().plot(kind, ax=ax, path=path)

    def __repr__(self) -> str:
        first, last = (number_text(float(end)) for end in (self.times.min(), self.times.max()))
        told = f"Trend over {len(self.waves)} waves (times {first} to {last}) about the {self.subject}"
        if not self.enough:
            return f"<{told}: {NOT_ENOUGH} for this question>"
        low, high = self.slope_interval()
        slope = f"slope {self.slope:.4f} (95 % interval {low:.4f} to {high:.4f}), p = {self.p_value:.2g}"
        slope += influence_in_words(self.influence)
        return f"<{told}: {slope}; all equal: {self.equality}>"

    @property
    def _values(self) -> Array:
        return np.array([one.value for one in self.results])

    @property
    def _variances(self) -> Array:
        return np.array([one.stderr**2 for one in self.results])

    @property
    def _pooled(self) -> tuple[Array, float]:
        """The variance that each wave's result would have at the mean of all of them, and that mean."""
        mean, variances = float(self._values.mean()), self._variances
        for _ in range(ROUNDS):
            variances = np.array([_variance_at(one, mean) for one in self.results])
            mean = float((self._values / variances).sum() / (1 / variances).sum())
        return variances, mean

    @property
    def _coefficients(self) -> Array:
        """The weights of the waves in the slope."""
        weights = 1 / self._pooled[0]
        apart = self.times - (weights @ self.times) / weights.sum()
        return np.asarray(weights * apart / (weights @ apart**2))

    def _ends(self, level: float) -> tuple[Array, Array]:
        low, high = zip(*(one.confidence_interval(level) for one in self.results), strict=True)
        return np.array(low), np.array(high)


def trend(
    waves: Sequence[Any] | Mapping[Any, Any],
    what: Indicator | Callable[[Any], Result],
    *,
    times: Sequence[float | date] | None = None,
) -> Trend:
    """The trend of a share, or of any other result, over several waves of different people.

    Parameters
    ----------
    waves
        Estimates about the same subject, or counts, reports or paths to files of either (then it is about the
        population), in order; names of waves are the keys of a mapping. Plans and epsilons may differ. Estimates may be
        among those with certain answers, `est.among("smoker", [True, False])`.
    what
        A flag's name, or a choice's answer or answers such as `("age", "65+")`, whose feature has the same answers in
        all waves; or a function of an estimate that gives a result, such as `lambda est: est.mean_of("age", years)`,
        for waves that are estimates.
    times
        The time of each wave: numbers, or dates, which count in years. Without them, the keys of a mapping if all are
        numbers or dates, `{2024: ..., 2026: ...}`; else 0, 1, 2 and on.

    Returns
    -------
    Trend
        `table()` has the result of each wave; `slope`, `slope_interval()` and `p_value` the change per unit of time;
        `equality` a test of whether all waves are equal.

    Examples
    --------
    >>> later = dn.simulate.counts(of, plan, np.random.default_rng(2), n=30_000)
    >>> found = dn.trend({"2025": counts, "2026": later}, "smoker", times=[2025, 2026])
    >>> found.table().column("wave").to_pylist()
    ['2025', '2026']
    >>> found.p_value > 0.05
    True
    """
    named = waves if isinstance(waves, Mapping) else {str(k + 1): one for k, one in enumerate(_listed(waves))}
    if len(named) < 2:
        raise EstimateError(f"a trend is over two waves or more; found {len(named)}")
    when = _times(named, times)
    whom = [_estimate(one, what) for one in named.values()]
    ests = list(map(_behind, whom))
    _check_different(named.values(), ests)
    _check_same_answers(what, whom)
    if len(subjects := list(dict.fromkeys(str(est.subject) for est in ests))) > 1:
        raise EstimateError(f"waves are about the same subject; found {' and '.join(subjects)}")
    results = tuple(_result(one, what) for one in whom)
    return Trend(tuple(map(str, named)), when, results, ests[0].subject, *_share_of(ests[0], what))


def _times(named: Mapping[Any, Any], times: Any) -> Array:
    """The times of waves: those that are given, the names of waves if all are times, or else 0, 1, 2 and on."""
    if times is None:
        times = list(named) if all(map(_is_time, named)) else range(len(named))
    if isinstance(times, str) or not isinstance(times, Iterable):
        raise EstimateError(f"times are a list of numbers or dates, one for each wave; found {abbreviated(times)}")
    times = list(times)
    if len(times) != len(named):
        raise EstimateError(f"a trend needs a time for each of {len(named)} waves; found {len(times)}")
    if other := [one for one in times if not _is_time(one)]:
        raise EstimateError(
            f"the time of a wave is a number or a date, such as 2025 or datetime.date(2025, 5, 1); found "
            f"{abbreviated(other[0])}"
        )
    when = np.array([_in_years(one) if isinstance(one, date) else one for one in times], np.float64)
    if not np.isfinite(when).all() or np.ptp(when) == 0:
        raise EstimateError(f"the times of waves are finite and not all the same; found {when.tolist()}")
    return when


def _is_time(one: Any) -> bool:
    """Whether a wave's time can be this: a number, or a date."""
    return isinstance(one, int | float | np.integer | np.floating | date) and not isinstance(one, bool)


def _in_years(day: date) -> float:
    """A date as a number of years: the 1st of January 2025 is 2025, and 73 days later 2025.2."""
    start, end = (date(year, 1, 1).toordinal() for year in (day.year, day.year + 1))
    return day.year + (day.toordinal() - start) / (end - start)


def _share_of(est: Estimate, what: Any) -> tuple[str, tuple[Feature, ...]]:
    """The question and answer that a trend is of, in words, and the question; nothing of a function's results."""
    if callable(what):
        return "", ()
    name, answer = (what, True) if isinstance(what, str) else what
    feature = feature_named(est.features, name)
    chosen = [feature.answers[place] for place in answer_places(feature, answer)]
    return f"{name}: {' or '.join(answer_in_words(feature, one) for one in chosen)}", (feature,)


def _check_different(waves: Collection[Estimate | Counts], ests: Sequence[Estimate]) -> None:
    """Refuse waves of which two are of the same reports."""
    if len({id(one) for one in waves}) < len(waves):
        raise EstimateError("a trend takes waves of different people; found the same one twice")
    sources: Sources = {}
    for est in ests:
        sources = joined_sources(sources, est.sources, EstimateError, "a trend takes waves of different people; these")


def _behind(wave: Any) -> Any:
    """The estimate of everybody behind one that may be among some."""
    return wave.est if isinstance(wave, Among) else wave


def _check_same_answers(what: Any, waves: Sequence[Estimate | Among]) -> None:
    """Refuse waves that ask a feature with different answers: the share of one of them is of something else."""
    if callable(what):
        return
    name = indicator(_behind(waves[0]).features, what)[0]
    features = [feature_named(_behind(one).features, name) for one in waves]
    left = [
        one.answers(own) if isinstance(one, Among) else range(own.levels)
        for one, own in zip(waves, features, strict=True)
    ]
    every = [[own.answers[place] for place in places] for own, places in zip(features, left, strict=True)]
    if len({frozenset(own) for own in every}) > 1:
        raise EstimateError(
            different_answers(
                name,
                every,
                [own.missing for own in features],
                "The share of an answer is then not that of the same question: estimate each wave, dn.estimate(wave, "
                f"[{name!r}]), {{}}, and give these to dn.trend",
            )
        )


def _listed(waves: Any) -> list[Any]:
    if isinstance(waves, Estimate | Counts | str) or not isinstance(waves, Sequence):
        raise EstimateError(f"a trend takes a list of estimates or counts; found {abbreviated(waves)}")
    return list(waves)


def _estimate(wave: Any, what: Any) -> Estimate | Among:
    """The estimate of one wave."""
    if isinstance(wave, Estimate | Among):
        return wave
    if callable(what):
        raise EstimateError(
            f"a trend of a function takes estimates, as dn.estimate gives them; found {abbreviated(wave)}"
        )
    names = [what if isinstance(what, str) else what[0]]
    counts = as_counts(wave, names)
    if not isinstance(counts, Counts):
        raise EstimateError(no_counts("a trend takes estimates or", wave))
    return estimate(counts, names).about("population")


def _result(est: Estimate | Among, what: Any) -> Result:
    """The result of one wave."""
    if callable(what):
        found = what(est)
        if not isinstance(found, Answer | JointAnswer):
            raise EstimateError(f"the function of a trend gives a result, as est.cell does; found {abbreviated(found)}")
        return found
    indicator(est.features, what)
    name, answer = (what, True) if isinstance(what, str) else what
    return est.cell({name: answer})


def _variance_at(result: Result, value: float) -> float:
    """The variance that a result would have if the truth were this value; its own where that is not known."""
    own = result.stderr**2
    if isinstance(result, Answer):
        found, n = result.found, result.n
        if not found.variance > 0:
            return own
        slope = float(found.covariance_with_variance / found.variance) / n
        moved = own + slope * (value - result.value)
    elif isinstance(result.distribution, RatioDistribution):
        moved = float(result.distribution.variance_at(value))
    else:
        moved = own
    return moved if moved > own / 4 else own
