"""Pairs of questions: which of them surely go together, and the conditional shares that show how.

A pair is called sure if it is in the list that the Benjamini-Hochberg procedure gives at a false discovery rate of
SURE. Of the surest pairs the answers to one question are given among those with each answer to the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import comb, isnan

from deniable.analyses.associations import asked_alone, batches, ranked
from deniable.analyses.not_enough_reports import Kind, Unanswered
from deniable.analyses.reports_needed import for_conditional, for_pairs
from deniable.analyses.share_findings import Share
from deniable.analyses.who_was_asked import Asked, asked_together
from deniable.counts.counts import Counts
from deniable.estimates.answer_groups.left_answers import only_answered
from deniable.estimates.estimate import estimate
from deniable.survey.describe import answer_in_words
from deniable.survey.plan import Plan
from deniable.survey.schema import Feature, Flag

# SURE is the false discovery rate (Benjamini and Hochberg) at or below which a pair is said to go together.
SURE = 0.05
# WIDE is how many answers a feature may have to be paired with others: a pair takes the fourth power of them in time.
WIDE = 24
# TRIED is for how many pairs without enough reports the sample size is worked out at most.
TRIED = 2_000
# TRIED_OVER_ARMS is the same over blocks and arms, where each pair takes about a tenth of a second.
TRIED_OVER_ARMS = 24
# CONDITIONALS is how many pairs get their conditional shares at most.
CONDITIONALS = 4
# CONDITIONAL_ROWS is how many conditional shares one pair may have.
CONDITIONAL_ROWS = 36
# COLUMNS are those of the table that `conditional` returns; a feature of the same name cannot be in it.
COLUMNS = frozenset({"proportion", "stderr", "low", "high"})


@dataclass(frozen=True)
class RankedPair:
    """How strongly two features go together, with its confidence intervals and its test: a row of `associations`.

    `low` and `high` are of a pair chosen beforehand, `listed_low` and `listed_high` of one in a list of the surest;
    `shrunken` is the effect without the luck of being among these.
    """

    first: str
    second: str
    measure: str
    effect: float
    low: float
    high: float
    p_value: float
    fdr: float
    shrunken: float
    listed_low: float
    listed_high: float
    merged: str = ""  # which rare answers were merged for it, in words
    asked: Asked | None = None  # how many respondents were asked both, where that is known
    answered: bool = False  # whether it is among those who answered both, as one of them may be skipped

    @property
    def names(self) -> tuple[str, str]:
        """The names of its features."""
        return self.first, self.second

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for both the interval and the test."""
        return not isnan(self.low) and not isnan(self.fdr)

    @property
    def sure(self) -> bool:
        """Whether the pair is among those said to go together, at a false discovery rate of SURE."""
        return self.enough and self.fdr <= SURE


@dataclass(frozen=True)
class Pairs:
    """Every pair of features that was tested, the surest first.

    `wide` are the features with too many answers to be paired. `untried` counts the pairs without enough reports for
    which no sample size was worked out, `apart` those that no arm asks together, and `nobody` those that only arms ask
    which nobody fell into: neither are tested.
    """

    tested: tuple[RankedPair, ...]
    wide: tuple[str, ...]
    unanswered: tuple[Unanswered, ...]
    untried: int
    apart: int = 0
    nobody: int = 0

    @property
    def sure(self) -> tuple[RankedPair, ...]:
        """The pairs that are said to go together."""
        return tuple(pair for pair in self.tested if pair.sure)


@dataclass(frozen=True)
class ConditionalShare(Share):
    """The share of an answer (`label`) among those whose answer to the given feature is `among`."""

    among: str


@dataclass(frozen=True)
class Conditional:
    """The shares of the answers to a feature among those with each answer to another one; of a flag, those of yes.

    Who skipped one of the two is left out.
    """

    what: Feature
    given: Feature
    shares: tuple[ConditionalShare, ...]
    unanswered: tuple[Unanswered, ...]
    asked: Asked | None = None  # how many respondents were asked both, where that is known


def tested_pairs(counts: Counts, level: float) -> Pairs:
    """Test every pair of features without very many answers for association, with intervals at this level."""
    wide = tuple(feature.name for feature in counts.plan.schema if feature.levels > WIDE)
    asked = {pair: own for pair, own in asked_together(counts).items() if not set(wide) & set(pair)}
    apart = comb(len(counts.plan.schema) - len(wide), 2) - len(asked)
    nobody = sum(not own.n for own in asked.values())
    if not any(batches(counts, wide)):
        return Pairs((), wide, (), 0, apart, nobody)
    rows = ranked(counts, level=level, without=wide).to_pylist()
    pairs = [((row["first"], row["second"]), row) for row in rows]
    tested = tuple(RankedPair(**row, asked=asked[pair], answered=_skipped(counts.plan, pair)) for pair, row in pairs)
    missing = [pair.names for pair in tested if not pair.enough]
    tried = missing[: TRIED if asked_alone(counts.plan) else TRIED_OVER_ARMS]
    needed = for_pairs(counts, tried)
    unanswered = tuple(Unanswered(Kind.PAIR, names, 1, 1, needed[names]) for names in tried)
    return Pairs(tested, wide, unanswered, len(missing) - len(tried), apart, nobody)


def _skipped(plan: Plan, names: tuple[str, str]) -> bool:
    """Whether one of two features may be skipped."""
    return any(plan.schema[name].missing is not None for name in names)


def surest_features(pairs: Sequence[RankedPair], most: int) -> tuple[str, ...]:
    """The features of the surest pairs, at most so many."""
    return tuple(dict.fromkeys(name for pair in pairs for name in pair.names))[:most]


def conditionals(counts: Counts, pairs: Sequence[RankedPair], level: float) -> list[Conditional]:
    """The conditional shares of the surest pairs, of those whose shares are not too many."""
    sure = (direction(counts.plan, pair) for pair in pairs if pair.sure and not COLUMNS & set(pair.names))
    short = ((given, what) for given, what in sure if _rows(given, what) <= CONDITIONAL_ROWS)
    return [_conditional(counts, given, what, level) for given, what in islice(short, CONDITIONALS)]


def _rows(given: Feature, what: Feature) -> int:
    """How many conditional shares there are of one feature given another, at most."""
    return given.levels * (1 if isinstance(what, Flag) else what.levels)


def direction(plan: Plan, pair: RankedPair) -> tuple[Feature, Feature]:
    """The feature that is conditioned on, and the one asked about.

    A public feature is conditioned on, as everybody knows it; of two that are alike in this, a flag is asked about.
    """
    first, second = (plan.schema[name] for name in pair.names)
    public = [name in plan.public for name in pair.names]
    if public[0] != public[1]:
        return (second, first) if public[1] else (first, second)
    return (second, first) if isinstance(first, Flag) and not isinstance(second, Flag) else (first, second)


def _conditional(counts: Counts, given: Feature, what: Feature, level: float) -> Conditional:
    est = estimate(counts, [given.name, what.name])
    rows = only_answered(est).conditional(what.name, given=given.name, level=level).to_pylist()
    shares = tuple(
        ConditionalShare(
            label=answer_in_words(what, row[what.name]),
            value=row["proportion"],
            low=row["low"],
            high=row["high"],
            among=answer_in_words(given, row[given.name]),
        )
        for row in rows
        if not isinstance(what, Flag) or row[what.name] in (True, "yes")
    )
    missing = sum(not share.enough for share in shares)
    unanswered: tuple[Unanswered, ...] = ()
    if missing:
        needed = for_conditional(est, what.name, given.name)
        unanswered = (Unanswered(Kind.CONDITIONAL, (what.name, given.name), missing, len(shares), needed),)
    return Conditional(what, given, shares, unanswered, Asked(est.asked, est.n))
