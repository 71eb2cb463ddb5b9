"""Simulated surveys of a known truth: respondents one by one, or straight to counts.

`reports` draws respondents and randomizes each answer, as in the field. `counts` draws from the distribution of the
same counts without any rows: respondents of one kind show each pattern of evidence a multinomial number of times, so
the sum over kinds, feature by feature, takes as long for a billion respondents as for ten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.counts.counts import Counts
from deniable.errors import AnswerError
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import checked_generator, seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import Flag, Schema

# The most combinations of all features' patterns that are drawn at once.
MOST_PATTERNS = 1 << 24

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

    def people(self, n: int, rng: np.random.Generator) -> Counted:
        """Draw how many of n respondents give each combination of answers, a multinomial.

        Parameters
        ----------
        n
            How many respondents to draw.
        rng
            A numpy Generator.

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
        checked_generator(rng, AnswerError)
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
        axis for each feature (a flag's is False, True) is taken as shares, or as numbers of respondents.

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
        raise AnswerError(f"a truth is of a Schema; found {schema!r}")
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
            f"a truth is a mapping of columns, a list of (share, columns), or a table; found {of!r}"
        ) from None
    shape = tuple(feature.levels for feature in schema)
    if table.shape != shape:
        raise AnswerError(f"a table of these features has the shape {shape}; found {table.shape}")
    if not np.isfinite(table).all() or not table.sum() > 0:
        raise AnswerError("a table of a truth must hold some respondents, in finite numbers; found none")
    return _proper(table.reshape(-1) / table.sum(), "a table's shares").reshape(shape)


def reports(of: Truth, plan: Plan, n: int, rng: np.random.Generator) -> Reports:
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
        A numpy Generator.

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
    checked_generator(rng, AnswerError)
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


def counts(of: Truth | Counted, plan: Plan, rng: np.random.Generator, *, n: int | None = None) -> Counts:
    """Draw the counts of all features without drawing any report: they have the distribution of `count(reports(...))`.

    Parameters
    ----------
    of
        A truth to draw respondents from, or given numbers of each kind of respondent.
    plan
        The plan that answers are randomized by. Local hashing is refused: its bits depend on each other.
    rng
        A numpy Generator.
    n
        How many respondents to draw from a truth.

    Returns
    -------
    Counts
        The counts of one table of all features.

    Examples
    --------
    >>> of = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.3, 0.3, 0.2]})
    >>> dn.simulate.counts(of, plan, np.random.default_rng(1), n=10**9).n
    1000000000
    """
    checked_generator(rng, AnswerError)
    levels = tuple(feature.levels for feature in plan.schema)
    if isinstance(of, Truth):
        _check_plan(of, plan)
        if n is None:
            raise AnswerError("counts of a truth need n, how many respondents to draw")
        people = of.people(n, rng)
    else:
        try:
            people = np.asarray(of)
        except ValueError:
            raise AnswerError(f"respondents of each kind are whole numbers of shape {levels}; found {of!r}") from None
    if people.shape != levels or people.dtype.kind not in "iu" or (people < 0).any():
        raise AnswerError(f"respondents of each kind are whole numbers of shape {levels}; found {people!r}")
    if hashed := [feature.name for feature, protocol in plan if not protocol.exact_patterns]:
        raise AnswerError(f"{hashed[0]!r} is hashed, and its bits depend on each other; simulate reports instead")
    shown = shown_patterns(plan.protocols, people[None], rng)[0]
    return Counts(plan, patterns={plan.schema.names: shown})


def shown_patterns(protocols: Sequence[Protocol], people: npt.NDArray[Any], rng: np.random.Generator) -> Counted:
    """Draw how many reports show each combination of the features' patterns, in each of many surveys.

    People are (surveys, answers...), and what is shown (surveys, patterns...).
    """
    laws = [protocol.pattern_probabilities for protocol in protocols]
    if prod(law.shape[1] for law in laws) > MOST_PATTERNS:
        raise AnswerError("there are too many patterns of evidence to draw; simulate reports, or fewer features")
    tensor = people
    for law in laws:  # the axis of this feature is the second, and goes to the end
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
        shares = [1 - given, given] if one else given
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
        raise AnswerError(f"{what} are numbers that sum to 1; found {shares!r}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (numbers < 0).any() or abs(numbers.sum() - 1) > 1e-9:
        raise AnswerError(f"{what} are not negative and sum to 1; found {shares!r}")
    return np.asarray(numbers / numbers.sum(), np.float64)


def _checked_size(n: Any) -> int:
    """A number of respondents, checked."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise AnswerError(f"n is how many respondents to draw, a whole number; found {n!r}")
    return int(n)


def _check_plan(of: Truth, plan: Plan) -> None:
    """Refuse a truth and a plan of different features."""
    if not isinstance(of, Truth) or not isinstance(plan, Plan):
        raise AnswerError(f"a survey is simulated from a truth and a Plan; found {of!r} and {plan!r}")
    if of.schema != plan.schema:
        raise AnswerError("the truth and the plan are of different features")
