"""The sample size that a question without an interval would need, approximately.

Whether there are enough reports for the interval of a share is a rule (`trust`) about the plan and N alone, so that the
least N is found by trying. What divides by shares, or needs to be nearly normal, is also judged by what came out: then
likely shares, found by shrinkage, are put in place of the true ones, surveys of such a truth are simulated, by normal
draws, and the least N is looked for at which MOSTLY of them get an answer; or N is taken somewhat larger than likely
shares themselves would need. It is an approximation, as good as the shares are known; where one cannot be told from
zero, "very roughly" is said.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import floor, log10, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.analyses.associations import answered, batches, pair_group
from deniable.counts.counts import Counts
from deniable.estimates.answer_groups.left_answers import only_answered
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.groups import AnyGroup
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondent_group import Group, product_form
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, answer_rows, margins
from deniable.inference.trust import Bools
from deniable.survey.schema import Feature

# Each number of reports that is tried is so many times the one before.
STEP = 1.04
# So many steps are tried, up to 98,000 times the reports there are.
STEPS = 293
# At least this many times the reports there are is said to be needed, as these were not enough.
MORE = 1.1
# Numbers of reports are rounded up to one of these, times a power of ten: by at most a tenth or so.
ROUND = (
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    18,
    20,
    22,
    24,
    26,
    28,
    30,
    33,
    36,
    40,
    44,
    48,
    52,
    56,
    60,
    65,
    70,
    75,
    80,
    90,
    100,
)
# This share of simulated surveys is to get an answer; of real ones, whose shares are not quite the likely ones, 80 %.
MOSTLY = 0.87
# So many surveys are simulated: the share that gets an answer then has a standard error of six points or so.
DRAWS = 40
# Simulations begin with this seed, so that a question has one answer.
SEED = 20_261_118
# Over blocks and arms simulating takes too long: so many times as many reports are said as likely shares would need.
FOR_CHANCE = 1.25
# A share further than this many standard errors above zero can be told from it.
CLEAR = 2
# No cell is taken as rarer than this part of what it would be if answers were independent.
PART = 0.05

Places = npt.NDArray[np.int64]
Pair = tuple[str, str]
Noisy = tuple[Array, Array]  # shares, of many tables in the first axis, and their variances
Supposed = Group | ArmsGroup  # respondents with likely shares


@dataclass(frozen=True, order=True)
class Needed:
    """The sample size that a question would need; `rough` if a share it turns on cannot be told from zero."""

    reports: float  # inf if not even very many would do
    rough: bool

    def __str__(self) -> str:
        if self.reports == np.inf:
            return "more than can be said"
        return f"{'very roughly' if self.rough else 'about'} {self.reports:,.0f}"


def for_cells(est: Estimate, cells: Sequence[Mapping[str, Any]]) -> Needed:
    """The sample size for the intervals of some cells, which does not depend on their shares: it is never rough."""
    return replace(_for_estimate(est, lambda more: all(more.cell(cell).enough for cell in cells)), rough=False)


def for_conditional(est: Estimate, what: str, given: str | Sequence[str], *, answered: bool = True) -> Needed:
    """The sample size for the intervals of all rows of `conditional(what, given=given)`, among those who answered."""

    def ask(more: Estimate) -> bool:
        some = only_answered(more) if answered else more
        return not np.isnan(some.conditional(what, given=given).columns["low"]).any()

    return _for_estimate(est, ask, by_chance=True)


def for_table(est: Estimate, *, answered: bool = False) -> Needed:
    """The sample size for the intervals of all rows of `table()`; with `answered`, among those who answered."""

    def ask(more: Estimate) -> bool:
        some = only_answered(more) if answered else more
        return not np.isnan(some.table().columns["low"]).any()

    needed = _for_estimate(est, ask, by_chance=answered)
    return needed if answered else replace(needed, rough=False)  # which does not depend on the shares


def for_pairs(counts: Counts, pairs: Sequence[Pair]) -> dict[Pair, Needed]:
    """The sample size for both the interval and the test that `associations` gives of each of some pairs."""
    found: dict[Pair, Needed] = {}
    wanted = set(pairs)
    for batch in batches(counts):
        if own := [pair for pair in batch if pair in wanted]:
            group, unclear = likely(pair_group(counts, own))
            features = [counts.plan.schema[name] for name in own[0]]

            def enough(times: float, places: Places, group: Supposed = group, of: list[Feature] = features) -> Bools:
                some = scaled(_some_of(group, places), times)
                drawn = some if isinstance(some, ArmsGroup) else surveys(some)
                shares = np.logical_and(*answered(drawn, of)).reshape(-1, len(places)).mean(axis=0)
                return np.asarray(shares >= MOSTLY)

            steps = least_steps(enough, len(own))
            found |= zip(own, _needed(counts.n, steps, unclear, for_chance=isinstance(group, ArmsGroup)), strict=True)
    return found


def _some_of(group: Supposed, places: Places) -> Supposed:
    """Those of many pairs that stand at these places in the last axis; the group itself, if it is of one pair."""
    if isinstance(group, Group) and group.truth.ndim > len(group.axes):
        return group.of_tables(places)
    return group


def _for_estimate(est: Estimate, ask: Callable[[Estimate], bool], *, by_chance: bool = False) -> Needed:
    """The sample size at which a question to an estimate, straight from counts, has an answer that is trusted.

    Whether it has may depend on what came out `by_chance`.
    """
    (before,) = est.groups
    group, unclear = likely(before if isinstance(before, BlockGroup | ArmsGroup) else product_form(before))

    def enough(times: float, places: Places) -> Bools:
        return np.full(len(places), ask(replace(est, groups=(scaled(group, times),))))

    return _needed(est.n, least_steps(enough, 1), unclear, for_chance=by_chance)[0]


def surveys(group: Group) -> Group:
    """Simulated surveys of the truths that a group supposes: normal draws around them.

    They are one group of as many tables, each survey's one after another, in the last axis.
    """
    rng = np.random.default_rng(SEED)
    features, entries = len(group.axes), group.entries
    values, vectors = np.linalg.eigh(group.dense(Subject.POPULATION))
    root = vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
    noise = np.einsum("...ij,d...j->d...i", root, rng.standard_normal((DRAWS, *entries.shape)))
    drawn = (entries + noise).reshape(-1, *group.truth.shape[:features])
    drawn[(slice(None), *[0] * features)] = group.n
    again = np.tile(np.arange(len(drawn) // DRAWS), DRAWS)
    axes = tuple(axis.of_tables(again) if entries.ndim > 1 else axis for axis in group.axes)
    return replace(group, axes=axes, truth=np.moveaxis(drawn, 0, -1))


def likely(group: AnyGroup) -> tuple[Supposed, Bools]:
    """A group with likely shares by shrinkage, and where a feature has an answer whose share cannot be told from zero.

    Designs are taken as estimates over arms, at a table that can be: one of blocks alone has one kind of arm.
    """
    if isinstance(group, Group):
        return _likely_product(group)
    arms = group if isinstance(group, ArmsGroup) else group.as_arms()
    features = arms.truth.ndim
    cells, unclear = _shrunk([_shares_of(arms.project([k])) for k in range(features)], _shares_of(arms))
    return arms.supposed(cells[0].reshape(-1), 1.0), unclear


def _likely_product(group: Group) -> tuple[Group, Bools]:
    """A group in product form with likely shares; many, if its truth has one more axis than there are features."""
    features, many = len(group.axes), group.truth.ndim > len(group.axes)
    truth = group.truth if many else group.truth[..., None]
    singles = []
    for k, axis in enumerate(group.axes):
        single = truth[tuple(slice(None) if j == k else 0 for j in range(features))]
        singles.append(_shares(replace(group, axes=(axis,), truth=single)))
    cells, unclear = _shrunk(singles, _shares(replace(group, truth=truth)))
    entries = np.moveaxis(along(np.moveaxis(cells, 0, -1), [margins(axis.m) for axis in group.axes]), 0, -1)
    return replace(group, truth=group.n * (entries if many else entries[..., 0])), unclear


def _shrunk(singles: Sequence[Noisy], joint: Noisy) -> tuple[Array, Bools]:
    """Likely tables by shrinkage, given the shares of each feature's answers and of all cells, each with its noise.

    A feature's shares are shrunk towards equal ones, and then a table's cells towards independent ones, as far as noise
    explains that they differ. Else the rarest answer, which decides, would be the one that chance understates most.
    """
    margins, unclear = [], np.zeros(len(joint[0]), np.bool_)
    for shares, noise in singles:
        even = np.full(shares.shape, 1 / shares.shape[1])
        margins.append(_positive(even + _kept(shares - even, noise) * (shares - even), noise))
        unclear |= (shares < CLEAR * np.sqrt(noise)).any(axis=1)
    cells = _product(margins)
    if len(singles) > 1:
        shares, noise = joint
        apart = shares - _product([shares for shares, _ in singles])  # sums to nothing along each axis
        drawn = np.maximum(cells + _kept(apart, noise) * apart, PART * cells)
        cells = drawn / drawn.sum(axis=tuple(range(1, drawn.ndim)), keepdims=True)
    return cells, unclear


def _shares_of(arms: ArmsGroup) -> Noisy:
    """The estimated share of each cell of a design, and its variance were answers equally common."""
    rows = [answer_rows(length - 1) for length in arms.truth.shape]
    references = arms.judged(rows, Subject.POPULATION).references
    assert references is not None
    return along(arms.truth, rows)[None] / arms.n, references[1].variance / arms.n**2


def _shares(group: Group) -> tuple[Array, Array]:
    """The estimated share of each cell, of many groups in the first axis, and its variance were answers even.

    Then all answers to a choice are alike, and one stands for all.
    """
    rows = [answer_rows(axis.m) for axis in group.axes]
    shares = along(group.truth, rows) / group.n
    one_of_each = [matrix[:1] if axis.m > 1 else matrix for axis, matrix in zip(group.axes, rows, strict=True)]
    variance = group.even(one_of_each, Subject.POPULATION).variance / group.n**2
    return shares, np.broadcast_to(variance, shares.shape[1:])


def _kept(apart: Array, noise: Array) -> Array:
    """The James-Stein shrinkage factor: how much of what estimates are apart is not explained by noise."""
    squares = (apart**2).sum(axis=tuple(range(1, apart.ndim)), keepdims=True)
    return np.asarray(np.maximum(1 - noise.sum() / np.maximum(squares, 1e-300), 0))


def _positive(shares: Array, noise: Array) -> Array:
    """Mean of N(share, noise) truncated at zero, renormalised to sum to one."""
    from scipy.special import log_ndtr

    spread = np.sqrt(noise)
    z = shares / spread
    above = spread * (z + np.exp(-(z**2) / 2 - log_ndtr(z)) / sqrt(2 * pi))
    return np.asarray(above / above.sum(axis=1, keepdims=True))


def _product(singles: Sequence[Array]) -> Array:
    """The table of independent features, of many tables in the first axis."""
    return reduce(
        lambda table, single: table[..., None] * single.reshape(len(single), *[1] * (table.ndim - 1), -1), singles
    )


def scaled(group: Supposed, times: float) -> Supposed:
    """A group with the same shares and so many times as many respondents."""
    if isinstance(group, ArmsGroup):
        return group.supposed(group.cells, times)
    n = round(group.n * times)
    some = None if group.some is None else round(group.some * times)
    return Group(n, group.axes, group.truth * (n / group.n), some)


def least_steps(enough: Callable[[float, Places], Bools], items: int) -> Places:
    """The least power of STEP at which each of some questions is answered, by bisection; STEPS + 1 if none will do.

    `enough(times, places)` says which of the questions at these places are, with so many times as many reports. The
    rule only gets easier with more reports, so that halving finds it.
    """
    found = np.full(items, STEPS + 1)

    def halve(places: Places, low: int, high: int) -> None:
        """Bisect for questions that are not answered at `low`, and are at `high` if at all."""
        if not len(places):
            return
        if high - low == 1:
            found[places] = high
            return
        middle = (low + high) // 2
        yes = enough(STEP**middle, places)
        halve(places[yes], low, middle)
        halve(places[~yes], middle, high)

    halve(np.arange(items), -1, STEPS + 1)
    return found


def _needed(n: int, steps: Places, unclear: Bools, *, for_chance: bool = False) -> list[Needed]:
    """The sample size of each question, as a round number; with more `for_chance`, if that was not simulated."""
    times = FOR_CHANCE if for_chance else 1.0
    return [
        Needed(np.inf if step > STEPS else _rounded(n * max(times * STEP**step, MORE)), bool(rough))
        for step, rough in zip(steps.tolist(), unclear, strict=True)
    ]


def _rounded(number: float) -> float:
    """A number of reports, rounded up to the next round number."""
    scale = 10.0 ** (floor(log10(number)) - 1)
    return scale * next(step for step in ROUND if scale * step >= number)
