"""All findings of a survey at once: shares of answers, pairs that go together, and results without enough reports.

The page sets these findings in words and pictures, and decides nothing itself.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from deniable.analyses.not_enough_reports import Unanswered
from deniable.analyses.pair_findings import Conditional, Pairs, conditionals, tested_pairs
from deniable.analyses.share_findings import GROUPS, Group, Shares, group_shares, groups
from deniable.analyses.who_was_asked import Arms, arms_of
from deniable.counts.counts import Counts
from deniable.errors import DeniableWarning
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.left_answers import only_answered
from deniable.estimates.estimate import Estimate, estimate
from deniable.inference.intervals import checked_level
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


def chosen_table(counts: Counts, names: Sequence[str], *, answered: bool = False) -> Estimate | Among:
    """The estimate of a table that somebody chose, about the population; or among those who answered all of it."""
    est = estimate(counts, names)
    found: Estimate | Among = only_answered(est) if answered else est
    return found
