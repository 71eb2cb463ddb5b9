"""What a question about a whole survey is asked of: one survey that was counted, or waves of different people."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from deniable.counts.as_counts import as_counts, no_counts
from deniable.counts.checks import check_asked
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.estimates.designs.from_counts import added
from deniable.estimates.estimate import Estimate, estimate
from deniable.survey.schema import Feature, Schema


@dataclass(frozen=True, eq=False)
class Surveys:
    """The counts of one survey, or of several whose plans differ, with all features that any of them asks."""

    counts: tuple[Counts, ...]

    @property
    def n(self) -> int:
        """How many respondents there are in all."""
        return sum(one.n for one in self.counts)

    @property
    def apart(self) -> bool:
        """Whether not everybody need have been asked the same: there are arms, or several surveys."""
        return len(self.counts) > 1 or self.counts[0].plan.has_arms

    @cached_property
    def schema(self) -> Schema:
        """All features; each as the first survey that asks it has it."""
        first, *others = (one.plan.schema for one in self.counts)
        if not others:
            return first
        features: dict[str, Feature] = {}
        for schema in (first, *others):
            features |= {feature.name: feature for feature in schema if feature.name not in features}
        return Schema(list(features.values()))

    def estimate(self, names: Sequence[str]) -> Estimate:
        """The estimate of the table of some features, over all surveys."""
        return estimate(self.counts[0] if len(self.counts) == 1 else list(self.counts), names)

    def asked(self, names: Sequence[str]) -> int:
        """How many respondents were asked each two of some features, at least."""
        if not self.apart:
            return self.n
        return min(sum(_asked(one, pair) for one in self.counts) for pair in combinations(names, 2))

    def check_asked(self, names: Sequence[str]) -> None:
        """Refuse features that no arm of any survey asks of the same people."""
        if not any(all(name in arm for name in names) for one in self.counts for arm in one.plan.arms):
            check_asked(self.counts[0].plan, names)


def surveys_of(source: Any, names: Sequence[str] | None, verb: str) -> Surveys:
    """The surveys that counts, reports or files are of, or a list of them; those of one plan are added.

    Reports are counted for the table of the names, or each arm's own where no arm has it.
    """
    several = isinstance(source, list | tuple) and len(source) > 0
    counts = [_counted(one, names) for one in (source if several else [source])]
    for one in counts:
        if not isinstance(one, Counts):
            raise EstimateError(no_counts(f"{verb} takes", one, waves=True))
    if len(counts) == 1:
        return Surveys(tuple(counts))
    if any(one.plan.kept for one in counts) and len({one.plan for one in counts}) < len(counts):
        raise EstimateError(
            f"{verb} takes waves of different people, and those of a plan that keeps answers are of the same: give one "
            "wave at a time, or ask shares of dn.estimate([...], names)"
        )
    total = added(counts)
    return Surveys((total,) if total is not None else tuple(counts))


def _asked(counts: Counts, names: Sequence[str]) -> int:
    """How many respondents of one survey were asked these features, of which its plan may not have all."""
    plan = counts.plan
    if not all(name in plan for name in names):
        return 0
    return counts.asked(*names) if plan.has_arms else counts.n


def _counted(source: Any, names: Sequence[str] | None) -> Any:
    """Counts of a source: of reports the table of these features, or each arm's own where no arm has it."""
    try:
        return as_counts(source, names)
    except CountError:
        return as_counts(source)
