"""All findings of a survey at once: shares of answers, pairs that go together, and results without enough reports.

The page sets these findings in words and pictures, and decides nothing itself.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from deniable.analyses.not_enough_reports import Kind, Unanswered
from deniable.analyses.pair_findings import Conditional, Pairs, conditionals, tested_pairs
from deniable.analyses.reports_needed import for_conditional, for_table
from deniable.analyses.share_findings import GROUPS, Group, Share, Shares, group_shares, groups
from deniable.analyses.who_was_asked import Arms, arms_of
from deniable.counts.counts import Counts
from deniable.errors import DeniableWarning
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.left_answers import only_answered
from deniable.estimates.estimate import Estimate, estimate
from deniable.inference.intervals import checked_level
from deniable.survey.schema import Flag
from deniable.text.progress import told
from deniable.text.width import shortened


@dataclass(frozen=True)
class Findings:
    """The findings of a survey about its population, with confidence intervals at one level.

    `left_out` are features whose shares were not estimated, as there are very many. `unanswered` are all results
    without enough reports for which the sample size was worked out, those that would take the fewest first, and
    `untried` counts the others. `arms` are None if the plan has none.
    """

    level: float
    shares: tuple[Shares, ...]
    left_out: tuple[str, ...]
    pairs: Pairs
    conditionals: tuple[Conditional, ...]
    unanswered: tuple[Unanswered, ...]
    untried: int
    arms: Arms | None


def survey_findings(counts: Counts, *, level: float = 0.95) -> Findings:
    """All findings from counts of every pair of features that some arm asks, with confidence intervals at this level.

    Arms with unlikely sizes, or that contradict each other, are a finding (`Findings.arms`), and are not warned about.
    """
    level = checked_level(level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)
        chosen = islice(groups(counts.plan), GROUPS)
        shares = tuple(group_shares(counts, group, level) for group in told(chosen, _line))
        pairs = tested_pairs(counts, level)
        within = tuple(conditionals(counts, pairs.tested, level))
    shown = {feature.name for one in shares for feature in one.group.features}
    missing = chain(*(one.unanswered for one in shares), pairs.unanswered, *(one.unanswered for one in within))
    return Findings(
        level,
        shares,
        tuple(name for name in counts.plan.schema.names if name not in shown),
        pairs,
        within,
        tuple(sorted(missing, key=lambda one: one.needed)),
        sum(one.untried for one in shares) + pairs.untried,
        arms_of(counts),
    )


def _line(group: Group) -> str:
    return f"estimating shares of {shortened(group.features[0].name, 60)}"


def lacking(
    counts: Counts, names: Sequence[str], given: Sequence[str], shown: Sequence[Share], *, answered: bool = False
) -> Unanswered | None:
    """What lacks reports in a table that somebody chose, or in shares within groups; nothing if nothing does."""
    missing = sum(not share.enough for share in shown)
    if not missing:
        return None
    est = estimate(counts, [*given, *names])
    if given:
        needed = for_conditional(est, names[0], list(given), answered=answered)
        return Unanswered(Kind.CONDITIONAL, (*names, *given), missing, len(shown), needed)
    skipped = any(feature.missing is not None for feature in est.features)
    needed = for_table(est, answered=answered and skipped)
    return Unanswered(_kind_of_table(est), tuple(names), missing, len(shown), needed)


def _kind_of_table(est: Estimate) -> Kind:
    """What kind of result a table is: one of several features, or, as in groups of shares, of one choice or flag."""
    if len(est.features) > 1:
        return Kind.TABLE
    (feature,) = est.features
    return Kind.YES if isinstance(feature, Flag) and feature.levels == 2 else Kind.ANSWERS


def chosen_table(counts: Counts, names: Sequence[str], *, answered: bool = False) -> Estimate | Among:
    """The estimate of a table that somebody chose, about the population; or among those who answered all of it."""
    est = estimate(counts, names)
    found: Estimate | Among = only_answered(est) if answered else est
    return found
