"""Shares of the answers to single questions: the estimates, and which answers are the most and the least common.

A choice is a group of shares by itself, in the order of its answers, or the most common ones first if there are very
many. Flags that were asked as one question, and all those that stand alone, are groups too, the highest share first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isnan, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable.analyses.associations import asked_alone
from deniable.analyses.not_enough_reports import Kind, Unanswered
from deniable.analyses.reports_needed import Needed, for_cells
from deniable.analyses.who_was_asked import Asked
from deniable.counts.counts import Counts
from deniable.estimates.estimate import Estimate, estimate
from deniable.inference.intervals import share_says_little
from deniable.survey.describe import answer_in_words, short_name
from deniable.survey.plan import Plan
from deniable.survey.schema import Feature, Flag

# GROUPS is how many groups of shares are estimated at most, so that findings of very many questions stay readable.
GROUPS = 24
# ANSWERS is how many answers to one choice are kept at most: the most common ones.
ANSWERS = 30
# FLAGS is how many flags stand in one group at most; more are split into groups of about the same size.
FLAGS = 40
# TRIED is for how many flags of one group without enough reports the sample size is worked out, where that takes long:
# over blocks and arms.
TRIED = 12


@dataclass(frozen=True)
class Share:
    """The estimated share of an answer, with its confidence interval: nan where there are not enough reports.

    `asked` is how many respondents it is from, where that is known; nobody may have been asked.
    """

    label: str
    value: float
    low: float
    high: float
    asked: Asked | None = field(default=None, kw_only=True)

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for the interval."""
        return not isnan(self.low)

    @property
    def says_little(self) -> bool:
        """Whether the interval is too long to tell much."""
        return self.enough and share_says_little(self.value, self.low, self.high)


@dataclass(frozen=True)
class MostCommon:
    """The answer with the highest estimated share, and how many of the others shown it is not told apart from.

    Of two answers each test is two-sided at the level of the intervals. If the highest is told apart from all others,
    it is the most common one but for one less that level, however many answers are equally common.
    """

    first: Share
    alike: int


@dataclass(frozen=True)
class Group:
    """Features whose answers are compared: one choice, or flags; `part` of `parts` if there are very many flags.

    `question` is None if flags stand together that are questions of their own.
    """

    question: str | None
    features: tuple[Feature, ...]
    part: int = 1
    parts: int = 1

    @property
    def of_flags(self) -> bool:
        """Whether the shares are of those who say yes; else they are of every answer to one question."""
        first = self.features[0]
        return isinstance(first, Flag) and (first.levels == 2 or first.question is not None)


@dataclass(frozen=True)
class Shares:
    """The shares of a group's answers in the population, and those without enough reports.

    `answers` is how many answers there are; there are fewer shares if only the most common answers were kept. `untried`
    counts those without enough reports for which no sample size was worked out.
    """

    group: Group
    shares: tuple[Share, ...]
    answers: int
    unanswered: tuple[Unanswered, ...]
    untried: int = 0
    most_common: MostCommon | None = None  # of a choice with enough reports for every answer


def groups(plan: Plan) -> Iterator[Group]:
    """The groups of features in the order of the schema; flags that stand alone come together at the first of them."""
    alone = [
        features[0]
        for features in plan.schema.questions.values()
        if isinstance(features[0], Flag) and not features[0].question and features[0].levels == 2
    ]
    for question, features in plan.schema.questions.items():
        if features[0] not in alone:
            yield from _parts(question, features)
        elif features[0] is alone[0]:
            yield from _parts(question if len(alone) == 1 else None, alone)


def _parts(question: str | None, features: Sequence[Feature]) -> Iterator[Group]:
    """Groups of at most FLAGS features, of about the same size."""
    parts = ceil(len(features) / FLAGS)
    size = ceil(len(features) / parts)
    for k in range(parts):
        yield Group(question, tuple(features[k * size : (k + 1) * size]), k + 1, parts)


def group_shares(counts: Counts, group: Group, level: float) -> Shares:
    """The shares of a group of features in the population, with confidence intervals at this level."""
    if group.of_flags:
        return _of_flags(counts, group, level)
    return _of_choice(counts, group, level)


def _of_choice(counts: Counts, group: Group, level: float) -> Shares:
    """The share of each answer to a choice, or of the most common ones."""
    (feature,) = group.features
    if not counts.asked(feature.name):
        unknown = tuple(_unknown(answer_in_words(feature, answer), counts.n) for answer in feature.answers[:ANSWERS])
        return Shares(group, unknown, feature.levels, (_nobody(feature),))
    est = estimate(counts, [feature.name])
    answers = list(feature.answers)
    many = len(answers) > ANSWERS
    if many:
        answers = [answers[k] for k in np.argsort(-est.truth[1:], kind="stable")[:ANSWERS]]
    cells = [{feature.name: answer} for answer in answers]
    shares = tuple(
        _share(answer_in_words(feature, answer), est, cell, level) for answer, cell in zip(answers, cells, strict=True)
    )
    missing = sum(not share.enough for share in shares)
    unanswered: tuple[Unanswered, ...] = ()
    if missing:
        needed = for_cells(est, cells[-1:] if many else cells)  # of many, the rarest takes most
        unanswered = (Unanswered(Kind.ANSWERS, (feature.name,), missing, len(shares), needed),)
    most = _most_common(est, cells, shares, level)
    return Shares(group, shares, feature.levels, unanswered, most_common=most)


def _of_flags(counts: Counts, group: Group, level: float) -> Shares:
    """The share of yes to each of some flags, the highest first and those without enough reports last."""
    shares, unanswered, untried = [], [], 0
    for feature in group.features:
        if not counts.asked(feature.name):
            shares.append(_unknown(short_name(feature), counts.n))
            unanswered.append(_nobody(feature))
            continue
        est, cell = estimate(counts, [feature.name]), {feature.name: True}
        shares.append(_share(short_name(feature), est, cell, level))
        if not shares[-1].enough and (len(unanswered) < TRIED or asked_alone(counts.plan)):
            unanswered.append(Unanswered(Kind.YES, (feature.name,), 1, 1, for_cells(est, [cell])))
        elif not shares[-1].enough:
            untried += 1
    shares.sort(key=lambda share: (not share.enough, isnan(share.value), -share.value))
    return Shares(group, tuple(shares), len(shares), tuple(unanswered), untried)


def _unknown(label: str, of: int) -> Share:
    """The share of an answer to a feature that nobody was asked."""
    return Share(label, nan, nan, nan, asked=Asked(0, of))


def _nobody(feature: Feature) -> Unanswered:
    return Unanswered(Kind.NOBODY, (feature.name,), 1, 1, Needed(inf, rough=True))


def _share(label: str, est: Estimate, cell: dict[str, Any], level: float) -> Share:
    """The share of one cell, which need not wait for the others of its table."""
    found = est.cell(cell)
    return Share(label, found.value, *found.confidence_interval(level), asked=Asked(est.asked, est.n))


def _most_common(
    est: Estimate, cells: Sequence[dict[str, Any]], shares: Sequence[Share], level: float
) -> MostCommon | None:
    """The answer with the highest share, tested against all others; None unless there are enough reports for each."""
    if not all(share.enough for share in shares):
        return None
    at = max(range(len(shares)), key=lambda k: shares[k].value)
    others = [k for k in range(len(shares)) if k != at]
    apart = (_told_apart(est, (cells[at], cells[k]), shares[at].value - shares[k].value, level) for k in others)
    return MostCommon(shares[at], len(others) - sum(apart))


def _told_apart(est: Estimate, cells: tuple[dict[str, Any], dict[str, Any]], difference: float, level: float) -> bool:
    """Whether the difference of the shares of two cells leaves zero out, by its own variance."""
    one, other = cells
    variance = est.covariance(one, one) + est.covariance(other, other) - 2 * est.covariance(one, other)
    z = NormalDist().inv_cdf((1 + level) / 2)
    return est.n * difference > z * sqrt(max(variance, 0.0))


def highest_and_lowest(shares: Sequence[Share]) -> tuple[Share, Share] | None:
    """The highest and the lowest of the shares with enough reports, which may be the same one; None without any."""
    known = sorted((share for share in shares if share.enough), key=lambda share: -share.value)
    return (known[0], known[-1]) if known else None
