"""Surveys of a known truth, to try things out: answer by answer, or straight to counts.

`reports` draws respondents and randomizes each answer, as in the field. `counts` draws from the law of the same counts
without any rows: respondents of one kind show each pattern of evidence a multinomial number of times, so the sum over
kinds, feature by feature, takes as long for a billion respondents as for ten.
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
from deniable.reports.randomness import seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import Flag, Schema

MOST_PATTERNS = 1 << 24  # of all features, that are drawn at once

Array = npt.NDArray[np.float64]
Counted = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Truth:
    """What share of a population gives each combination of answers: a tensor with an axis for each feature."""

    schema: Schema
    shares: Array

    def people(self, n: int, rng: np.random.Generator) -> Counted:
        """How many of n respondents drawn from it give each combination of answers."""
        _check_rng(rng)
        drawn = rng.multinomial(_checked_size(n), self.shares.reshape(-1))
        return drawn.reshape(self.shares.shape).astype(np.int64)


def truth(schema: Schema, of: Any) -> Truth:
    """A truth of independent columns, of latent classes, or given as a table.

    `{"smoker": 0.3, "age": [0.5, 0.3, 0.2]}` are independent columns: the share of True, or of each answer.
    `[(0.6, {...}), (0.4, {...})]` is a population of several kinds of people, with independent columns in each.
    An array with an axis for each feature (a flag's is False, True) is taken as shares, or as numbers of respondents.
    """
    if not isinstance(schema, Schema):
        raise AnswerError(f"a truth is of a Schema; found {schema!r}")
    if isinstance(of, Mapping):
        return Truth(schema, _independent(schema, of))
    if isinstance(of, Sequence) and of and all(isinstance(one, Sequence) and len(one) == 2 for one in of):
        kinds = [(weight, kind) for weight, kind in of if isinstance(kind, Mapping)]
        if len(kinds) == len(of):
            weights = _proper([weight for weight, _ in kinds], "the shares of the classes")
            tables = [_independent(schema, kind) for _, kind in kinds]
            return Truth(schema, np.tensordot(weights, np.array(tables), axes=1))
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
    return Truth(schema, _proper(table.reshape(-1) / table.sum(), "a table's shares").reshape(shape))


def reports(of: Truth, plan: Plan, n: int, rng: np.random.Generator) -> Reports:
    """n respondents drawn from a truth, each answer randomized by itself."""
    _check_plan(of, plan)
    _check_rng(rng)
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
    """The counts of all features of n respondents drawn from a truth, or of given numbers of each kind of respondent.

    They have the law of `count(reports(...))`. Local hashing is refused: its bits depend on each other.
    """
    _check_rng(rng)
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
    """How many reports show each combination of the features' patterns, in each of many surveys.

    People are (surveys, answers...), and what is shown (surveys, patterns...).
    """
    laws = [protocol.pattern_law for protocol in protocols]
    if prod(law.shape[1] for law in laws) > MOST_PATTERNS:
        raise AnswerError("there are too many patterns of evidence to draw; simulate reports, or fewer features")
    tensor = people
    for law in laws:  # the axis of this feature is the second, and goes to the end
        tensor = np.sum([rng.multinomial(tensor[:, x], chances) for x, chances in enumerate(law)], axis=0)
    return tensor


def _independent(schema: Schema, columns: Mapping[str, Any]) -> Array:
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
    try:
        numbers = np.asarray(shares, np.float64)
    except (TypeError, ValueError):
        raise AnswerError(f"{what} are numbers that sum to 1; found {shares!r}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (numbers < 0).any() or abs(numbers.sum() - 1) > 1e-9:
        raise AnswerError(f"{what} are not negative and sum to 1; found {shares!r}")
    return np.asarray(numbers / numbers.sum(), np.float64)


def _check_rng(rng: Any) -> None:
    if not isinstance(rng, np.random.Generator):
        raise AnswerError(f"rng must be a numpy Generator, such as np.random.default_rng(1); found {rng!r}")


def _checked_size(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise AnswerError(f"n is how many respondents to draw, a whole number; found {n!r}")
    return int(n)


def _check_plan(of: Truth, plan: Plan) -> None:
    if not isinstance(of, Truth) or not isinstance(plan, Plan):
        raise AnswerError(f"a survey is simulated from a truth and a Plan; found {of!r} and {plan!r}")
    if of.schema != plan.schema:
        raise AnswerError("the truth and the plan are of different features")
