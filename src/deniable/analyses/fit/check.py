"""The check of fit of a survey, as a list: what each test found, and how far forged reports could move its results."""

from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from deniable.counts.as_counts import as_counts
from deniable.counts.counts import Counts
from deniable.counts.fit import FALSE_ALARM, REPEATED, Fit, fits
from deniable.counts.repeated_reports import random_bits, repeated_runs, run_length
from deniable.errors import CountError, abbreviated
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.designs.crafted_reports import CRAFTED, influence
from deniable.estimates.designs.groups import SIZES_UNLIKELY, arm_sizes, group_of
from deniable.reports.reports import Reports
from deniable.text.fixed_phrases import how_many


@dataclass(frozen=True, repr=False)
class Check:
    """What the check of fit found; it prints as a list.

    Examples
    --------
    >>> found = dn.check(counts)
    >>> found.fits, [one.kind for one in found.tests]
    (True, ['counts of one answer', 'cells of pairs'])
    """

    n: int
    tests: tuple[Fit, ...]
    influence: dict[str, float]  # by feature, how far 1 % of forged reports could move a share

    @property
    def fits(self) -> bool:
        """Whether all tests fit; of no reports there are none."""
        return all(test.fits for test in self.tests)

    def __repr__(self) -> str:
        if not self.n:
            return "0 reports: there is nothing to check"
        said = "fits its plan" if self.fits else "does not fit its plan"
        lines = [f"{how_many(self.n, 'report')}: {said}, by tests with a false-alarm rate below {FALSE_ALARM:g} each"]
        lines += [f"  {test}" for test in self.tests]
        lines.append(f"if {CRAFTED:.0%} of the reports were forged, a share could move by up to")
        lines += [f"  {name}: {points_in_words(moved)}" for name, moved in self.influence.items()]
        return "\n".join(lines)


def points_in_words(moved: float) -> str:
    """How far a share could be moved, in percentage points."""
    return "unknown" if isnan(moved) else "anywhere" if moved >= 1 else f"{100 * moved:.1f} points"


def check(source: Counts | Reports | str | Path) -> Check:
    """Check whether counts or reports can come from devices that followed their plan, whatever they answered.

    Parameters
    ----------
    source
        Counts, reports, or a path to a file of either. Of reports every run that occurs twice is looked for; of counts
        it is told whether any was found when they were counted.

    Returns
    -------
    Check
        The tests, each with a bound on its p-value, and the influence of forged reports.

    Examples
    --------
    >>> dn.check(counts).fits
    True
    """
    reports = Reports.load(source) if isinstance(source, str | Path) and not str(source).endswith(".npz") else source
    counts: Any = as_counts(reports)
    if not isinstance(counts, Counts):
        raise CountError(f"check takes Counts, Reports, or a path to a file of either; found {abbreviated(source)}")
    tests = fits(counts) + _sizes(counts)
    if isinstance(reports, Reports):  # all of them can be looked at
        tests = [test for test in tests if test.kind != REPEATED] + _repeats(reports)
    return Check(counts.n, tuple(tests), influence_by_feature(counts))


def influence_by_feature(counts: Counts) -> dict[str, float]:
    """How far forged reports could move the shares of each feature that somebody was asked."""
    asked = [one for one in counts.plan.schema if counts.holds(one.name) and counts.asked(one.name)]
    return {one.name: influence([group_of(counts, [one.name])], all_answers((one,))) for one in asked}


def _sizes(counts: Counts) -> list[Fit]:
    """The test of the sizes of arms; none without arms, or with too few reports in them."""
    sizes = arm_sizes(counts) if counts.plan.has_arms and counts.n else None
    if sizes is None or not sizes.enough:
        return []
    return [Fit("sizes of arms", 1, min(1.0, sizes.p_value * FALSE_ALARM / SIZES_UNLIKELY), str(sizes))]


def _repeats(reports: Reports) -> list[Fit]:
    """The test of whether reports occur twice; none if they have hardly any randomness."""
    looked = [part for part in reports.arms if run_length(part.plan, len(part)) is not None]
    if not looked:
        return []
    found = repeated_runs(reports)
    seeds = any(random_bits(part.plan) > 100 for part in looked)
    what = f"{sum(found.values()):,} {'reports' if seeds else 'runs of reports'} occur more than once"
    return [Fit(REPEATED, len(looked), 0.0 if found else 1.0, what)]
