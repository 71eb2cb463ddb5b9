"""Counts of evidence bits that occur together: integer tensors, margins at index 0, with their plan.

For a table of features the tensor is the sum over reports of e_1 x e_2 x ... x e_f, where e = (1, bit of value 1, ...,
bit of value m): axis index 0 means that the feature is not looked at, so every margin is a slice.

For some tables the patterns behind the tensor are kept, which say more where a feature's report may show several bits:
how many reports show each combination of the features' patterns, in the order of `Protocol.patterns`.

All tables of some order are kept in the smallest of three forms: all pairs (triples) as one symmetric array over (all
reports, every evidence column), which holds each pair's (triple's) tensor as a block; one table of all features; or a
table for each. `Counts.array` finds a table in any of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from deniable.counts.checks import checked_moments, checked_names, checked_patterns, checked_table, checked_total
from deniable.counts.layout import MOST, Array, Names, called, column_places, frozen, patterns_shape
from deniable.errors import CountError, PlanError, SchemaError
from deniable.files import replacing
from deniable.survey.plan import Plan


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Counts:
    """Counts of one plan. They add: count parts anywhere, then sum.

    `Counts(plan, {("smoker", "age"): array})` takes given numbers, axes in the order of the names. `n` is how many
    respondents there are, if not all of them were asked what is counted.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
    >>> counts = dn.Counts(plan, {("smoker", "drinker"): [[100, 60], [40, 25]]})
    >>> counts.n, counts.array("drinker").tolist()
    (100, [100, 60])
    >>> (counts + counts).n
    200
    """

    plan: Plan
    n: int  # respondents, of whom some may not have been asked what is counted
    tables: Mapping[Names, Array]  # names in the schema's order
    moments: Array | None  # of all pairs or triples, if they were counted
    patterns: Mapping[Names, Array]  # of those tables of which they say more

    def __init__(
        self,
        plan: Plan,
        tables: Mapping[Any, npt.ArrayLike] | None = None,
        *,
        n: int | None = None,
        moments: npt.ArrayLike | None = None,
        patterns: Mapping[Any, npt.ArrayLike] | None = None,
    ) -> None:
        for given in (tables, patterns):
            if not isinstance(plan, Plan) or not isinstance(given, Mapping | None):
                raise CountError(
                    f"counts are made of a Plan and a mapping from names to arrays; found {plan!r}, {given!r}"
                )
        whole = _ordered(plan, patterns or {}, checked_patterns)
        ordered = _ordered(plan, tables or {}, checked_table)
        for names, array in whole.items():
            if not np.array_equal(ordered.setdefault(names, table := _summed(plan, names, array)), table):
                raise CountError(f"the patterns of {called(names)} do not agree with its table")
        whole = {names: array for names, array in whole.items() if any(plan[name].several for name in names)}
        if moments is not None:
            moments = checked_moments(plan, moments)
        if not ordered and moments is None:
            raise CountError("counts need at least one table; found none")
        self.__dict__.update(
            plan=plan, tables=MappingProxyType(ordered), moments=moments, patterns=MappingProxyType(whole)
        )
        self.__dict__["n"] = checked_total(n, self._check_agreement())

    def _check_agreement(self) -> int:
        """All tables must count the same reports, how many they are: totals, and margins of each feature, agree."""
        totals = {called(names): int(array.flat[0]) for names, array in self.tables.items()}
        if self.moments is not None:
            totals[f"order {self.moments.ndim}"] = int(self.moments.flat[0])
        if len(set(totals.values())) > 1:
            raise CountError(f"all tables must count the same number of reports; found {totals}")
        known: dict[str, tuple[Names, Array]] = {}
        for names, array in self.tables.items():
            for axis, name in enumerate(names):
                margin = array[tuple(slice(None) if at == axis else 0 for at in range(array.ndim))]
                first, other = known.setdefault(name, (names, margin))
                if not np.array_equal(margin, other):
                    raise CountError(f"{called(first)} and {called(names)} do not agree in their margin of {name!r}")
        return next(iter(totals.values()))

    def asked(self, *names: str) -> int:
        """How many of the respondents were asked all of these features.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
        >>> dn.Counts(plan, {"smoker": [100, 40]}).asked("smoker")
        100
        """
        return int(self.array(*names).flat[0])

    def array(self, *names: str) -> Array:
        """The tensor of these features, from any table that holds them all.

        Parameters
        ----------
        *names
            The features, in the order of the axes.

        Returns
        -------
        ndarray
            Integers, with an axis (all, column 1, ..., column m) for each feature.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
        >>> counts = dn.Counts(plan, {("smoker", "drinker"): [[100, 60], [40, 25]]})
        >>> counts.array("drinker", "smoker").tolist()
        [[100, 40], [60, 25]]
        """
        table = self._holder(self.tables, names)
        if table is not None:
            margin = self.tables[table][tuple(slice(None) if name in names else 0 for name in table)]
            return margin.transpose(_places(names, table))
        if self.moments is not None and len(names) <= self.moments.ndim:
            blocks = [[0, *column_places(self.plan, name)] for name in names]
            blocks += [[0]] * (self.moments.ndim - len(names))
            return frozen(self.moments[np.ix_(*blocks)].reshape([len(block) for block in blocks[: len(names)]]))
        raise CountError(f"{called(names)} was not counted, only {self._contents()}; count it from the reports")

    def holds(self, *names: str) -> bool:
        """Whether a table of these features was counted."""
        order = 0 if self.moments is None else self.moments.ndim
        return len(names) <= order or self._holder(self.tables, names) is not None

    def _holder(self, tables: Mapping[Names, Array], names: Names) -> Names | None:
        """The smallest table that holds all these features: their own, which is found at once, or another."""
        checked_names(self.plan, names)
        own = tuple(sorted(names, key=self.plan.schema.index))
        if own in tables:
            return own
        return min((table for table in tables if set(names) <= set(table)), key=len, default=None)

    def shown(self, *names: str) -> Array | None:
        """How many reports show each combination of these features' patterns, axes in this order; None if not known."""
        table = self._holder(self.patterns, names)
        if table is None:
            return None
        margin = self.patterns[table].sum(axis=tuple(k for k, name in enumerate(table) if name not in names))
        return np.asarray(margin).transpose(_places(names, table))

    def __add__(self, other: Self) -> "Counts":
        """Counts of both; patterns that only one of them holds are not known of both, and are left out."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.plan != other.plan:
            raise CountError(
                f"counts of different plans do not add: {self.plan.fingerprint} and {other.plan.fingerprint}"
            )
        if self.tables.keys() != other.tables.keys() or _order(self) != _order(other):
            raise CountError(f"counts of different tables do not add: {self._contents()}, and {other._contents()}")
        if self.n > MOST - other.n:
            raise CountError(f"{self.n} and {other.n} reports are more than 64-bit integers can count")
        moments = None if self.moments is None or other.moments is None else self.moments + other.moments
        tables = {names: array + other.tables[names] for names, array in self.tables.items()}
        both = self.patterns.keys() & other.patterns.keys()
        patterns = {names: self.patterns[names] + other.patterns[names] for names in tables if names in both}
        return Counts(self.plan, tables, n=self.n + other.n, moments=moments, patterns=patterns)

    def __radd__(self, other: Any) -> "Counts":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as what it was made of, which is checked again."""
        return _remade, (self.plan, self.n, dict(self.tables), self.moments, dict(self.patterns))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.plan == other.plan
            and self.n == other.n
            and _same(self.tables, other.tables)
            and _same(self.patterns, other.patterns)
            and (self.moments is None) == (other.moments is None)
            and (self.moments is None or other.moments is None or np.array_equal(self.moments, other.moments))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Counts of {self.n:,} reports: {self._contents()}, by {self.plan!r}>"

    def _contents(self) -> str:
        parts = [called(names) for names in list(self.tables)[:5]]
        if len(self.tables) > 5:
            parts.append(f"{len(self.tables) - 5} more tables")
        if self.moments is not None:
            parts.append({2: "every pair", 3: "every triple"}[self.moments.ndim])
        return ", ".join(parts)

    def save(self, path: str | Path) -> None:
        """Write an .npz file with the plan inside, whole or not at all."""
        arrays: dict[str, Any] = {"plan": np.array(self.plan.to_json())}
        for place, (names, array) in enumerate(self.tables.items()):
            arrays |= {f"names {place}": np.array(names), f"table {place}": array}
            if names in self.patterns:
                line = self.patterns[names].reshape(-1)
                shown = np.flatnonzero(line)  # most may never have been shown
                arrays |= {f"patterns {place}": shown, f"shown {place}": line[shown]}
        if self.moments is not None:
            arrays["moments"] = self.moments
        if self.n > self._check_agreement():
            arrays["n"] = np.array(self.n)  # without it, all were asked, as in files of version 0.1.0
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Counts":
        """Read counts that `save` wrote, and check them."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                plan = Plan.from_json(str(arrays["plan"]))
                places = range(sum(key.startswith("table ") for key in arrays))
                names = {at: tuple(arrays[f"names {at}"].tolist()) for at in places}
                tables = {names[at]: arrays[f"table {at}"] for at in places}
                patterns = {
                    names[at]: _from_places(plan, names[at], arrays[f"patterns {at}"], arrays[f"shown {at}"])
                    for at in places
                    if f"patterns {at}" in arrays
                }
                moments, n = arrays.get("moments"), int(arrays["n"]) if "n" in arrays else None
            return cls(plan, tables, n=n, moments=moments, patterns=patterns)
        except OSError as error:
            raise CountError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (CountError, PlanError, SchemaError) as error:
            raise CountError(f"{path}: {error}") from None
        except (KeyError, ValueError, IndexError, AttributeError, EOFError, TypeError, RuntimeError, BadZipFile):
            raise CountError(f"{path}: is not a file of counts, or it is damaged") from None


def _ordered(plan: Plan, given: Mapping[Any, npt.ArrayLike], checked: Any) -> dict[Names, Array]:
    """Arrays by their names, both in the schema's order, checked."""
    ordered: dict[Names, Array] = {}
    for key, array in given.items():
        names = checked_names(plan, key)
        order = sorted(range(len(names)), key=lambda axis, names=names: plan.schema.index(names[axis]))  # type: ignore[misc]
        name = tuple(names[axis] for axis in order)
        if name in ordered:
            raise CountError(f"{called(name)} is given twice, in two orders")
        ordered[name] = frozen(checked(plan, names, array).transpose(order))
    return ordered


def _from_places(plan: Plan, names: Names, places: Array, numbers: Array) -> Array:
    """An array of patterns from those that were shown, rising places and numbers of reports."""
    shape = patterns_shape(plan, names)
    if (
        shape is None
        or places.dtype.kind not in "iu"
        or numbers.dtype.kind not in "iu"
        or places.shape != numbers.shape
    ):
        raise ValueError("not patterns")
    line = np.zeros(prod(shape), np.int64)
    if len(places) and (places[0] < 0 or (np.diff(places) <= 0).any()):
        raise ValueError("not places")
    line[places] = numbers
    return line.reshape(shape)


def _summed(plan: Plan, names: Names, patterns: Array) -> Array:
    """The table behind which these patterns stand, in floating point while that is exact: it is ten times faster."""
    kind = np.float64 if patterns.sum() < 1 << 53 else np.int64
    table: npt.NDArray[Any] = patterns.astype(kind)
    for name in names:
        table = np.tensordot(table, plan[name].pattern_evidence.astype(kind), axes=([0], [0]))
    return frozen(table.astype(np.int64))


def _places(names: Sequence[str], table: Names) -> list[int]:
    """Where these features stand among themselves in a table."""
    left = [name for name in table if name in names]
    return [left.index(name) for name in names]


def _same(left: Mapping[Names, Array], right: Mapping[Names, Array]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(array, right[names]) for names, array in left.items())


def _order(counts: Counts) -> int:
    return 0 if counts.moments is None else counts.moments.ndim


def _remade(
    plan: Plan, n: int, tables: dict[Names, Array], moments: Array | None, patterns: dict[Names, Array]
) -> Counts:
    return Counts(plan, tables, n=n, moments=moments, patterns=patterns)
