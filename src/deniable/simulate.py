"""Simulated surveys of a known truth: respondents one by one, or straight to counts.

`reports` draws respondents and randomizes each answer, as in the field. `counts` draws from the distribution of the
same counts without any rows: respondents of one kind show each pattern of evidence a multinomial number of times, so
the sum over kinds, feature by feature, takes as long for a billion respondents as for ten.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.client import SCALE
from deniable.counts.counts import Counts
from deniable.counts.layout import patterns_shape
from deniable.errors import AnswerError, abbreviated
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import checked_generator, seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import Flag, Schema

# The most combinations of all features' patterns that are drawn at once.
MOST_PATTERNS = 1 << 20
# The probabilities of more patterns than this are multiplied by ROUNDED, lest rounding let their sum exceed one.
MANY_PATTERNS = 1 << 14
ROUNDED = 1 - 1e-12
# Shares of a table may sum to one this nearly, as those that were written down with a few digits do.
SUM_OF_SHARES = 1e-6

Array = npt.NDArray[np.float64]
Counted = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Truth:
    """The share of a population that gives each combination of answers: a tensor with an axis for each feature.

    Examples
    --------
    >>> dn.simulate.Truth(schema, np.full((2, 4), 1 / 8)).people(100, np.random.default_rng(1)).shape
    (2, 4)
    """

    schema: Schema
    shares: Array

    def people(self, n: int, rng: np.random.Generator | int) -> Counted:
        """Draw how many of n respondents give each combination of answers, a multinomial.

        Parameters
        ----------
        n
            How many respondents to draw.
        rng
            A numpy Generator, or a seed.

        Returns
        -------
        ndarray
            Numbers of respondents, with an axis for each feature; a flag's is False, True.

        Examples
        --------
        >>> of = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.3, 0.3, 0.2]})
        >>> int(of.people(9, np.random.default_rng(1)).sum())
        9
        """
        rng = checked_generator(rng, AnswerError)
        drawn = rng.multinomial(_checked_size(n), self.shares.reshape(-1))
        return drawn.reshape(self.shares.shape).astype(np.int64)


def truth(schema: Schema, of: Any) -> Truth:
    """A population to draw respondents from: of independent columns, of latent classes, or given as a table.

    Parameters
    ----------
    schema
        The features.
    of
        `{"smoker": 0.3, "age": [0.5, 0.3, 0.2]}` are independent columns: the share of True, or of each answer.
        `[(0.6, {...}), (0.4, {...})]` are latent classes of people, with independent columns in each. An array with an
        axis for each feature (a flag's is False, True) is of shares that sum to 1, or of whole numbers of respondents.

    Returns
    -------
    Truth
        The share of each combination of answers.

    Examples
    --------
    >>> dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.3, 0.3, 0.2]}).shares.shape
    (2, 4)
    """
    if not isinstance(schema, Schema):
        raise AnswerError(f"a truth is of a Schema; found {abbreviated(schema)}")
    if isinstance(of, Mapping):
        return Truth(schema, _independent(schema, of))
    if _are_classes(of):
        weights = _proper([weight for weight, _ in of], "the shares of the classes")
        tables = [_independent(schema, columns) for _, columns in of]
        return Truth(schema, np.tensordot(weights, np.array(tables), axes=1))
    return Truth(schema, _table(schema, of))


def _are_classes(of: Any) -> bool:
    """Whether these are latent classes: a list of (share, columns)."""
    return (
        isinstance(of, Sequence)
        and len(of) > 0
        and all(isinstance(one, Sequence) and len(one) == 2 and isinstance(one[1], Mapping) for one in of)
    )


def _table(schema: Schema, of: Any) -> Array:
    """A table of shares, from shares or from numbers of respondents."""
    try:
        table = np.asarray(of, np.float64)
    except (TypeError, ValueError):
        raise AnswerError(
            f"a truth is a mapping of columns, a list of (share, columns), or a table; found {abbreviated(of)}"
        ) from None
    shape = tuple(feature.levels for feature in schema)
    if table.shape != shape:
        raise AnswerError(f"a table of these features has the shape {shape}; found {table.shape}")
    if not np.isfinite(table).all() or not table.sum() > 0:
        raise AnswerError("a table of a truth must hold some respondents, in finite numbers; found none")
    if abs(table.sum() - 1) > SUM_OF_SHARES and (table != np.floor(table)).any():
        told = "a table of a truth holds shares that sum to 1, or whole numbers of respondents"
        raise AnswerError(f"{told}; found the sum {table.sum():.6g}: take table / table.sum()")
    return _proper(table.reshape(-1) / table.sum(), "a table's shares").reshape(shape)


def reports(of: Truth, plan: Plan, n: int, rng: np.random.Generator | int) -> Reports:
    """Draw respondents from a truth, and randomize each answer by itself.

    Parameters
    ----------
    of
        The truth, as `truth` gives it.
    plan
        The plan that answers are randomized by.
    n
        How many respondents to draw.
    rng
        A numpy Generator, or a seed.

    Returns
    -------
    Reports
        Their reports, in random order.

    Examples
    --------
    >>> of = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.3, 0.3, 0.2]})
    >>> len(dn.simulate.reports(of, plan, 100, np.random.default_rng(1)))
    100
    """
    _check_plan(of, plan)
    rng = checked_generator(rng, AnswerError)
    kinds = _kinds(of.people(n, rng))
    rng.shuffle(kinds)
    return _randomized(kinds, of.shares.shape, plan, rng)


def reports_of(people: Counted, plan: Plan, rng: np.random.Generator) -> Reports:
    """Reports of given numbers of each kind of respondent, kind by kind, each answer randomized by itself."""
    return _randomized(_kinds(people), people.shape, plan, rng)


def _kinds(people: Counted) -> Counted:
    """The kind of each respondent: its place in the flat table of all combinations of answers."""
    return np.repeat(np.arange(people.size), people.reshape(-1))


def _randomized(kinds: Counted, shape: tuple[int, ...], plan: Plan, rng: np.random.Generator) -> Reports:
    """Reports of respondents of these kinds."""
    codes = np.unravel_index(kinds, shape)
    return randomize_codes([np.asarray(code) for code in codes], plan, seeded(rng))


def counts(of: Truth | Counted, plan: Plan, rng: np.random.Generator | int, *, n: int | None = None) -> Counts:
    """Draw the counts of all features without drawing any report: they have the distribution of `count(reports(...))`.

    Parameters
    ----------
    of
        A truth to draw respondents from, or given numbers of each kind of respondent.
    plan
        The plan that answers are randomized by. Local hashing is refused: its bits depend on each other.
    rng
        A numpy Generator, or a seed.
    n
        How many respondents to draw from a truth.

    Returns
    -------
    Counts
        The counts of one table of all features; of a plan with arms, of each arm's, with sizes drawn by their shares.

    Examples
    --------
    >>> of = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.3, 0.3, 0.2]})
    >>> dn.simulate.counts(of, plan, np.random.default_rng(1), n=10**9).n
    1000000000
    """
    rng = checked_generator(rng, AnswerError)
    if not isinstance(plan, Plan):
        raise AnswerError(f"a survey is simulated by a Plan; found {abbreviated(plan)}")
    if hashed := [block.name for block in plan.blocks if not block.protocol.exact_patterns]:
        raise AnswerError(f"{hashed[0]!r} is hashed, and its bits depend on each other; simulate reports instead")
    if isinstance(of, Truth):
        _check_plan(of, plan)
        if n is None:
            raise AnswerError("counts of a truth need n, how many respondents to draw")
        sizes = rng.multinomial(_checked_size(n), np.array(plan.shares) / SCALE) if plan.has_arms else [n]
        people = [_asked(of, arm).people(size, rng) for arm, size in zip(plan.arms, map(int, sizes), strict=True)]
    else:
        people = list(_by_arm(plan, _checked_people(plan, of), rng))
    parts = [_shown(arm, own, rng) for arm, own in zip(plan.arms, people, strict=True)]
    return Counts(plan, arms=parts) if plan.has_arms else parts[0]


def _checked_people(plan: Plan, of: Any) -> Counted:
    """Given numbers of each kind of respondent, checked."""
    levels = tuple(feature.levels for feature in plan.schema)
    what = f"respondents of each kind are whole numbers of shape {levels}"
    try:
        people = np.asarray(of)
    except ValueError:
        raise AnswerError(f"{what}; found {abbreviated(of)}") from None
    if people.shape != levels or people.dtype.kind not in "iu" or (people < 0).any():
        raise AnswerError(f"{what}; found {abbreviated(people)}")
    return people


def _asked(of: Truth, arm: Plan) -> Truth:
    """The truth of the features that an arm asks."""
    return Truth(arm.schema, _margin(of.schema, of.shares, arm))


def _margin(schema: Schema, table: npt.NDArray[Any], arm: Plan) -> npt.NDArray[Any]:
    """A table of all features summed to those that an arm asks."""
    others = tuple(place for place, name in enumerate(schema.names) if name not in arm)
    return np.asarray(table.sum(axis=others))


def _by_arm(plan: Plan, people: Counted, rng: np.random.Generator) -> Iterator[Counted]:
    """Given respondents put into arms at random by the arms' shares, each arm's with the features that it asks."""
    if not plan.has_arms:
        yield people
        return
    kinds = np.flatnonzero(people)
    drawn = rng.multinomial(people.reshape(-1)[kinds], np.array(plan.shares) / SCALE)
    for arm, own in zip(plan.arms, drawn.T, strict=True):
        whole = np.zeros(people.size, np.int64)
        whole[kinds] = own
        yield _margin(plan.schema, whole.reshape(people.shape), arm)


def _shown(arm: Plan, people: Counted, rng: np.random.Generator) -> Counts:
    """The counts of what these respondents of one arm show."""
    order = [arm.schema.index(name) for block in arm.blocks for name in block.names]
    by_unit = people.transpose(order).reshape([block.unit.levels for block in arm.blocks])
    names = arm.units.schema.names
    if patterns_shape(arm, names) is not None:
        return Counts(arm, patterns={names: shown_patterns(arm.protocols, by_unit[None], rng)[0]})
    large = [place for place, protocol in enumerate(arm.protocols) if protocol.several]
    if len(large) == 1 and all(place in large or not protocol.protects for place, protocol in enumerate(arm.protocols)):
        return Counts(arm, {names: _one_large(arm.protocols, large[0], by_unit, rng)})
    laws = [_possible_patterns(protocol) for protocol in arm.protocols]
    table = _drawn([law for law, _ in laws], by_unit[None], rng)[0]
    for _, evidence in laws:  # the axis of this unit is the first, and goes to the end
        table = np.tensordot(table, evidence, axes=([0], [0]))
    return Counts(arm, {names: table})


def _one_large(protocols: Sequence[Protocol], large: int, people: Counted, rng: np.random.Generator) -> Counted:
    """The table of one unit of many values beside public ones: drawn value by value, in each stratum of these."""
    last = np.moveaxis(people, large, -1)
    marked = marked_values(protocols[large], last.reshape(-1, last.shape[-1]), rng).reshape(last.shape)
    table = np.concatenate([last.sum(axis=-1, keepdims=True), marked], axis=-1)
    for place in (place for place in range(len(protocols)) if place != large):
        evidence = protocols[place].pattern_evidence  # of a public answer, its only pattern
        table = np.tensordot(table, evidence, axes=([0], [0]))
    return np.moveaxis(table, 0, large) if len(protocols) > 1 else table


def marked_values(protocol: Protocol, people: Counted, rng: np.random.Generator) -> Counted:
    """Draw how many reports mark each value, in each of many surveys, without any pattern: (surveys, values).

    Independent bits are binomial. Of sets of a fixed size, values are gone through one by one, beginning after the true
    one: of those who have r others still to mark and see so many left, each marks this one with probability r / left.
    """
    if protocol.always_marked is None:
        others = people.sum(axis=-1, keepdims=True) - people
        return np.asarray(rng.binomial(people, protocol.q) + rng.binomial(others, protocol.p))
    m, size = protocol.columns, protocol.always_marked
    marked = rng.binomial(people, protocol.q)
    waiting = np.zeros((*people.shape, size + 1), np.int64)  # by true value, and by how many others are still to mark
    waiting[..., size - 1], waiting[..., size] = marked, people - marked
    for step in range(1, m):  # the value that is so many after the true one
        taken = rng.binomial(waiting, np.minimum(1.0, np.arange(size + 1) / (m - step)))
        marked += np.roll(taken.sum(axis=-1), step, axis=-1)
        waiting -= taken
        waiting[..., :-1] += taken[..., 1:]
    return np.asarray(marked)


def _possible_patterns(protocol: Protocol) -> tuple[Array, Counted]:
    """P(pattern | code) of all patterns that can be, and the evidence (1, bits) of each of them.

    Of sets of a fixed size they are far fewer than all combinations of bits.
    """
    size, m = protocol.always_marked, protocol.columns
    if not protocol.several or size is None or comb(m, size) > MOST_PATTERNS:
        _check_patterns(protocol.pattern_count)
        return protocol.pattern_probabilities, protocol.pattern_evidence
    sets = np.array(list(combinations(range(m), size)))
    bits = np.zeros((len(sets), m), np.int64)
    np.put_along_axis(bits, sets, 1, axis=1)
    law = protocol.likelihood(bits)
    evidence = np.hstack([np.ones((len(bits), 1), np.int64), bits])
    return np.asarray((law / law.sum(axis=0)).T, np.float64), evidence


def shown_patterns(protocols: Sequence[Protocol], people: npt.NDArray[Any], rng: np.random.Generator) -> Counted:
    """Draw how many reports show each combination of the features' patterns, in each of many surveys.

    People are (surveys, answers...), and what is shown (surveys, patterns...).
    """
    _check_patterns(prod(protocol.pattern_count for protocol in protocols))
    return _drawn([protocol.pattern_probabilities for protocol in protocols], people, rng)


def _check_patterns(patterns: int) -> None:
    """Refuse to draw more patterns of evidence than memory should hold."""
    if patterns > MOST_PATTERNS:
        raise AnswerError("there are too many patterns of evidence to draw; simulate reports, or fewer features")


def _drawn(laws: Sequence[Array], people: npt.NDArray[Any], rng: np.random.Generator) -> Counted:
    """Draw how many show each combination of patterns: for each code of each feature, a multinomial."""
    _check_patterns(prod(law.shape[1] for law in laws))
    tensor = people
    for law in laws:  # the axis of this feature is the second, and goes to the end
        law = law * ROUNDED if law.shape[1] > MANY_PATTERNS else law
        tensor = np.sum([rng.multinomial(tensor[:, x], chances) for x, chances in enumerate(law)], axis=0)
    return tensor


def _independent(schema: Schema, columns: Mapping[str, Any]) -> Array:
    """The table of independent features, from the shares of each one's answers."""
    if set(columns) != set(schema.names):
        raise AnswerError(
            f"shares are given for each of {', '.join(schema.names)}; found {', '.join(map(str, columns))}"
        )
    margins = []
    for feature in schema:
        given = columns[feature.name]
        one = isinstance(feature, Flag) and isinstance(given, int | float | np.number)
        shares = [1 - given, given, *[0.0] * (feature.levels - 2)] if one else given  # then nobody skips it
        margin = _proper(shares, f"the shares of {feature.name!r}")
        if len(margin) != feature.levels:
            raise AnswerError(f"{feature.name!r} has {feature.levels} answers; found {len(margin)} shares")
        margins.append(margin)
    return np.asarray(reduce(np.multiply.outer, margins), np.float64)


def _proper(shares: Any, what: str) -> Array:
    """Shares that are not negative and sum to one, checked."""
    try:
        numbers = np.asarray(shares, np.float64)
    except (TypeError, ValueError):
        raise AnswerError(f"{what} are numbers that sum to 1; found {abbreviated(shares)}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (numbers < 0).any() or abs(numbers.sum() - 1) > 1e-9:
        raise AnswerError(f"{what} are not negative and sum to 1; found {abbreviated(shares)}")
    return np.asarray(numbers / numbers.sum(), np.float64)


def _checked_size(n: Any) -> int:
    """A number of respondents, checked."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise AnswerError(f"n is how many respondents to draw, a whole number; found {abbreviated(n)}")
    return int(n)


def _check_plan(of: Truth, plan: Plan) -> None:
    """Refuse a truth and a plan of different features."""
    if not isinstance(of, Truth) or not isinstance(plan, Plan):
        raise AnswerError(f"a survey is simulated from a truth and a Plan; found {abbreviated(of)} and {plan!r}")
    if of.schema != plan.schema:
        raise AnswerError("the truth and the plan are of different features")
