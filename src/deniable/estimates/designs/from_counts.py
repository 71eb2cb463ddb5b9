"""Counts of one survey or of several waves, as an estimate takes them: checked, with what they say of a table."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import nan, prod
from typing import Any

from deniable.counts.as_counts import as_counts, no_counts
from deniable.counts.checks import check_different, listed_names
from deniable.counts.counts import Counts
from deniable.counts.fit import fits
from deniable.errors import (
    ArmSizeWarning,
    CountError,
    EstimateError,
    FitWarning,
    HomogeneityWarning,
    abbreviated,
)
from deniable.estimates.answer_groups.different_answers import different_answers
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.groups import (
    SIZES_UNLIKELY,
    AnyGroup,
    arm_sizes,
    evidence_of,
    features_of,
    group_of,
    group_of_waves,
    proper_table_of,
)
from deniable.estimates.designs.kept_waves import KeptWaves, kept_waves
from deniable.estimates.feasible import ProperTable, proper_table
from deniable.estimates.proper_tables.shrunk_interactions import check_cells
from deniable.files import Sources, joined_sources
from deniable.inference.results import Homogeneity
from deniable.survey.schema import Feature

METHODS = ("consistent", "centred", "unbiased", "feasible", "shrunk")
# These methods begin with the feasible table.
PROPER = ("feasible", "shrunk")
# A test of what a survey rests on is warned about if chance alone would give its result less often than this.
UNLIKELY = 1e-3
# Whether surveys agree is tested for tables of at most so many cells.
MOST_TESTED = 500
# Arms of one survey are tested anew for every table, so that chance must explain a result much less often.
VERY_UNLIKELY = 1e-6


@dataclass(frozen=True, eq=False)
class Read:
    """What an estimate is made of: features, respondents, and a proper table if that is asked for."""

    features: tuple[Feature, ...]
    group: AnyGroup | KeptWaves
    proper: ProperTable | None
    agreement: Homogeneity | None = None  # of several surveys
    sources: Sources = field(default_factory=dict)  # whose reports they are
    kept: bool = False  # whether a plan keeps answers, so that other estimates may be of the same people


def read_counts(counts: Any, names: Any, method: str) -> Read:
    """What counts, or a list of them, say of the table of these features, by a method."""
    if method not in METHODS:
        raise EstimateError(
            f"method must be one of {', '.join(METHODS)}; "
            f"found {abbreviated(method)}. Maximum likelihood needs the reports: "
            "dn.maximum_likelihood(reports, names)"
        )
    names = listed_names(names, "estimate")
    several = isinstance(counts, list | tuple)
    counts = [as_counts(one, names) for one in counts] if several else as_counts(counts, names)
    made = _of_waves(counts, names, method) if several else _of_one(counts, names, method)
    for one in counts if several else [counts]:
        _warn_of_sizes(one)
        _warn_of_fit(one, names)
    every = counts if several else [counts]
    return replace(made, sources=_sources(every), kept=any(one.plan.kept for one in every))


def _sources(counts: Sequence[Counts]) -> Sources:
    """Whose reports some surveys are of, which are of different people."""
    found: Sources = {}
    for one in counts:
        found = joined_sources(found, one.sources, EstimateError, "waves are of different people; these")
    return found


def _of_one(counts: Any, names: Sequence[str], method: str) -> Read:
    """What the counts of one survey say."""
    if not isinstance(counts, Counts):
        raise EstimateError(no_counts("estimate takes", counts))
    if not counts.plan.has_arms and not counts.asked(*names):
        raise EstimateError("there are no reports to estimate from")
    _check_cells([counts], names, method)
    group = group_of(counts, names, _linear(method))
    proper = proper_table_of(counts, group, names) if method in PROPER else None
    if isinstance(group, ArmsGroup):
        _warn_of_arms(group.seen.homogeneity, names)
    return Read(tuple(counts.plan.schema[name] for name in names), group, proper)


def _of_waves(counts: Sequence[Any], names: Sequence[str], method: str) -> Read:
    """What several surveys of different people say, about the population; of one plan, what their sum does."""
    _check_waves(counts, names)
    if any(one.plan.kept for one in counts) and len({one.plan for one in counts}) < len(counts):
        return _of_kept_waves(counts, names, method)
    if (one_survey := added(counts)) is not None:
        made = _of_one(one_survey, names, method)
        group, proper = made.group, made.proper
    else:
        _check_cells(counts, names, method)
        group = group_of_waves(counts, names, _linear(method))
        proper = proper_table(group.seen) if method in PROPER else None
    agreement = _agreement(counts, names)
    if agreement.p_value < UNLIKELY:
        warnings.warn(
            f"the surveys hardly agree on {' x '.join(names)}: {agreement}. Their populations may differ; estimate "
            "each by itself, and compare them",
            HomogeneityWarning,
            stacklevel=4,
        )
    return Read(features_of(counts, names), group, proper, agreement)


def _of_kept_waves(counts: Sequence[Counts], names: Sequence[str], method: str) -> Read:
    """What several waves of the same people say who sent kept answers; their agreement cannot be tested."""
    if any(one.plan != counts[0].plan for one in counts):
        raise EstimateError(
            "waves of a plan that keeps answers are of the same people, and other surveys are not: estimate the waves "
            "by themselves, dn.estimate([...], names), and compare or add the estimates"
        )
    if method in PROPER:
        raise EstimateError(f'a proper table is of one wave where answers are kept: leave method="{method}" out')
    return Read(features_of(counts, names), kept_waves(counts, names, method), None)


def _linear(method: str) -> str:
    """The linear estimate that intervals are of, of each method: proper tables have those of the consistent one."""
    return "consistent" if method in PROPER else method


def _check_cells(counts: Sequence[Counts], names: Sequence[str], method: str) -> None:
    """Refuse a table that is too large for its method; names that no plan has are refused elsewhere."""
    if method == "shrunk" and all(any(name in one.plan for one in counts) for name in names):
        check_cells(names, [feature.levels for feature in features_of(counts, names)])


def added(counts: Sequence[Counts]) -> Counts | None:
    """The sum of counts of one plan; None of several plans, or of different tables."""
    if any(one.plan != counts[0].plan for one in counts):
        return None
    try:
        return sum(counts[1:], start=counts[0])
    except CountError:
        return None


def _agreement(counts: Sequence[Counts], names: Sequence[str]) -> Homogeneity:
    """The test of whether surveys agree; nan of tables that are too large to be worth it."""
    if prod(feature.levels for feature in features_of(counts, names)) > MOST_TESTED:
        return Homogeneity(nan, 0, nan)
    return evidence_of(counts, names, pooled=False).homogeneity


def _check_waves(counts: Sequence[Any], names: Sequence[str]) -> None:
    """Refuse what are not counts of surveys, or ask these features with different answers."""
    if not counts or not all(isinstance(one, Counts) for one in counts):
        raise EstimateError(f"waves are a list of counts, [counts_2025, counts_2026]; found {abbreviated(counts)}")
    if len({id(one) for one in counts}) < len(counts):
        raise EstimateError("waves are of different people; found the same counts twice")
    _sources(counts)
    check_different(names)
    for name in names:
        if not (features := {one.plan.schema[name] for one in counts if name in one.plan}):
            counts[0].plan.schema.index(name)
        if len(features) > 1:
            raise EstimateError(_different_answers(name, counts))
    for place, one in enumerate(counts, start=1):
        if not any(name in one.plan for name in names):
            raise EstimateError(f"survey {place} of {len(counts)} asks none of {', '.join(names)}; leave it out")


def _different_answers(name: str, counts: Sequence[Counts]) -> str:
    """What is said of a feature that surveys ask with different answers: which of them, and what can be done."""
    every = [one.plan.schema[name] for one in counts if name in one.plan]
    return different_answers(
        name,
        [feature.answers for feature in every],
        [feature.missing for feature in every],
        "Only what is asked alike is combined: estimate each survey by itself, {}, and compare them with dn.compare",
    )


def _warn_of_arms(agreement: Homogeneity, names: Sequence[str]) -> None:
    """Warn where the arms of one survey contradict each other."""
    if agreement.p_value < VERY_UNLIKELY:
        warnings.warn(
            f"the arms hardly agree on {' x '.join(names)}: {agreement}. Respondents may not have come to their arms "
            "at random, or reports are not what their plan says",
            HomogeneityWarning,
            stacklevel=5,
        )


def _warn_of_fit(counts: Counts, names: Sequence[str]) -> None:
    """Warn where counts hardly come from reports that their plan made, whatever was answered."""
    for test in fits(counts, [name for name in names if name in counts.plan.schema]):
        if not test.fits:
            warnings.warn(
                f"these counts hardly come from reports of their plan: {test}. Reports may have been made with "
                "another epsilon or plan, not by the client, or were counted twice; dn.check tells more",
                FitWarning,
                stacklevel=4,
            )


def _warn_of_sizes(counts: Counts) -> None:
    """Warn where the sizes of arms are hardly explained by their shares."""
    if counts.plan.has_arms and (sizes := arm_sizes(counts)).p_value < SIZES_UNLIKELY:
        warnings.warn(
            f"the arms have other sizes than their shares say: {sizes}. Being asked an arm may have changed who "
            "answered, or the arms were not drawn as planned",
            ArmSizeWarning,
            stacklevel=4,
        )
