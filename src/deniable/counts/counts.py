"""Counts of evidence bits that occur together: integer tensors, margins at index 0, with their plan.

For a table of features the tensor is the sum over reports of e_1 x e_2 x ... x e_f, where e = (1, bit of value 1, ...,
bit of value m): axis index 0 means that the feature is not looked at, so every margin is a slice.

For some tables the patterns behind the tensor are kept, which say more where a feature's report may show several bits:
how many reports show each combination of the features' patterns, in the order of `Protocol.patterns`.

Tables are of units: features that are asked alone, and blocks of several features as one choice each, whose axis is
(all, combination 1, ..., combination K). Counts of a plan with arms are one such `Counts` for each arm.

All tables of some order are kept in the smallest of three forms: all pairs (triples) as one symmetric array over (all
reports, every evidence column), which holds each pair's (triple's) tensor as a block; one table of all features; or a
table for each. `Counts.array` finds a table in any of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from deniable.counts import checks
from deniable.counts.counts_files import patterns_at, read_arrays, write_arrays
from deniable.counts.layout import UNKNOWN, Array, Names, Repeats, called, column_places, frozen, in_print
from deniable.errors import CountError, SchemaError, abbreviated
from deniable.files import Sources, check_ending, check_target, joined_sources, new_source
from deniable.files.stores import AnyFile
from deniable.survey.plan import Plan
from deniable.text.completion import hiding
from deniable.text.fixed_phrases import how_many
from deniable.text.html import printed


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Counts:
    """Counts of one plan. They add: count parts anywhere, then sum.

    `Counts(plan, {("smoker", "age"): array})` takes given numbers, axes in the order of the names; a block of several
    features is one axis, `{(("smoker", "age"), "region"): array}`. `n` is how many respondents there are, if not all of
    them were asked what is counted. Of a plan with arms `Counts(plan, arms=[...])` takes the counts of each arm, which
    hold all tables: its own `tables` are empty.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
    >>> counts = dn.Counts(plan, {("smoker", "drinker"): [[100, 60], [40, 25]]})
    >>> counts.n, counts.array("drinker").tolist()
    (100, [100, 60])
    >>> later = dn.Counts(plan, {("smoker", "drinker"): [[100, 60], [40, 25]]})
    >>> (counts + later).n
    200
    """

    plan: Plan
    n: int  # respondents, of whom some may not have been asked what is counted
    tables: Mapping[Names, Array]  # names in the schema's order; of a plan with arms, they are in those of each arm
    moments: Array | None  # of all pairs or triples, if they were counted
    patterns: Mapping[Names, Array]  # of those tables of which they say more
    parts: tuple["Counts", ...]  # of each arm, if the plan has arms
    sources: Sources  # whose reports were counted, outside `==`; given numbers are their own source
    repeats: Repeats = UNKNOWN  # what was found of reports that stand twice, outside `==`

    def __init__(
        self,
        plan: Plan,
        tables: Mapping[Any, npt.ArrayLike] | None = None,
        *,
        n: int | None = None,
        moments: npt.ArrayLike | None = None,
        patterns: Mapping[Any, npt.ArrayLike] | None = None,
        arms: Sequence["Counts"] | None = None,
    ) -> None:
        for given in (tables, patterns):
            if not isinstance(plan, Plan) or not isinstance(given, Mapping | None):
                raise CountError(
                    f"counts are made of a Plan and a mapping to arrays; "
                    f"found {abbreviated(plan)}, {abbreviated(given)}"
                )
        if plan.has_arms or arms is not None:
            self._set_arms(plan, arms, other=any(one is not None for one in (tables, n, moments, patterns)))
            return
        ordered, whole = checks.checked_tables(plan, tables or {}, patterns or {})
        if moments is not None:
            moments = checks.checked_moments(plan, moments)
        if not ordered and moments is None and n is None:
            raise CountError("counts need at least one table; found none")
        self.__dict__.update(
            plan=plan, tables=MappingProxyType(ordered), moments=moments, patterns=MappingProxyType(whole), parts=()
        )
        n = checks.checked_total(n, self._check_agreement())
        self.__dict__.update(n=n, sources=new_source("the same counts") if n else {})

    @classmethod
    def counted(cls, plan: Plan, n: int, tables: Mapping[Names, Array], moments: Array | None) -> "Counts":
        """What a tally has counted of a plan without arms, names in the schema's order: right as it was made."""
        made, whole = object.__new__(cls), None if moments is None else frozen(moments)
        kept = MappingProxyType({names: frozen(array) for names, array in tables.items()})
        made.__dict__.update(plan=plan, n=n, tables=kept, moments=whole, patterns=MappingProxyType({}), parts=())
        return made.of_sources(new_source("the same counts"))

    def of_sources(self, sources: Sources) -> "Counts":
        """The same counts, of these sources; there are none of nobody."""
        made = object.__new__(Counts)
        made.__dict__.update(self.__dict__, sources=MappingProxyType(dict(sources) if self.n else {}))
        return made

    def with_repeats(self, repeats: Repeats) -> "Counts":
        """The same counts, with what was found of reports that stand twice."""
        made = object.__new__(Counts)
        made.__dict__.update(self.__dict__, repeats=repeats)
        return made

    def _set_arms(self, plan: Plan, arms: Any, *, other: bool) -> None:
        """Set the counts of each arm, which are all that counts of a plan with arms hold."""
        if other or not isinstance(arms, Sequence) or not all(isinstance(arm, Counts) for arm in arms):
            raise CountError("counts of a plan with arms are made of the Counts of each arm: Counts(plan, arms=[...])")
        if not plan.has_arms or tuple(arm.plan for arm in arms) != plan.arms:
            raise CountError(f"arms are the counts of each of plan.arms, in order; the plan has {len(plan.arms):,}")
        n = checks.checked_total(sum(arm.n for arm in arms), 0)
        none: Mapping[Names, Array] = MappingProxyType({})
        own = new_source("the same counts") if n else {}
        self.__dict__.update(plan=plan, n=n, tables=none, moments=None, patterns=none, parts=tuple(arms), sources=own)

    @property
    def arms(self) -> tuple["Counts", ...]:
        """The counts of each arm; counts of a plan without arms are their own only ones.

        Examples
        --------
        >>> plan = dn.Plan(schema, epsilon=1.0, arms=[["smoker", "age"], ["smoker"]])
        >>> dn.simulate.counts(of, plan, np.random.default_rng(1), n=9).arms[0].array(("smoker", "age")).shape
        (9,)
        """
        return self.parts or (self,)

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
        return next(iter(totals.values()), 0)

    def asked(self, *names: str) -> int:
        """How many of the respondents were asked all of these features: of a plan with arms, those of the arms that do.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
        >>> dn.Counts(plan, {"smoker": [100, 40]}).asked("smoker")
        100
        """
        for name in names:
            self.plan.schema.index(name)
        if self.parts:
            return sum(arm.n for arm in self.parts if all(name in arm.plan for name in names))
        return int(self.evidence(*self.units_of(*names)).flat[0])

    def units_of(self, *names: str) -> Names:
        """The units that ask any of these features, in the plan's order: of a plan without blocks, the features."""
        return tuple(block.unit.name for block in self.plan.blocks if not set(names).isdisjoint(block.names))

    def array(self, *names: str | tuple[str, ...]) -> Array:
        """The tensor of these features, from any table that holds them all.

        Parameters
        ----------
        *names
            The features, in the order of the axes; a block of several features by their names, as a tuple. Of a plan
            with arms, ask the counts of one arm.

        Returns
        -------
        ndarray
            Integers, with an axis (all, value 1, ..., value m) for each choice or block, and (all, True) for each flag,
            with its missing answer after True if it has one.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
        >>> counts = dn.Counts(plan, {("smoker", "drinker"): [[100, 60], [40, 25]]})
        >>> counts.array("drinker", "smoker").tolist()
        [[100, 40], [60, 25]]
        """
        every = self.evidence(*names)
        shown = [self.plan.units.schema[name].shown for name in checks.checked_names(self.plan, names)]
        return every if every.shape == tuple(map(len, shown)) else frozen(every[np.ix_(*shown)])

    def evidence(self, *names: str | tuple[str, ...]) -> Array:
        """The tensor of these features with every evidence column; `array` leaves out that of a flag's False."""
        if self.parts:
            raise CountError("each arm has counts of its own: ask one of counts.arms, or dn.estimate for the whole")
        if all(isinstance(name, str) for name in names) and names in self.tables:
            return self.tables[names]  # type: ignore[index]  # at once: it is asked of hundreds of arms
        units = checks.checked_names(self.plan, names)
        table = self._holder(self.tables, units)
        if table is not None:
            margin = self.tables[table][tuple(slice(None) if name in units else 0 for name in table)]
            return margin.transpose(_places(units, table))
        if self.moments is not None and len(units) <= self.moments.ndim:
            blocks = [[0, *column_places(self.plan, name)] for name in units]
            blocks += [[0]] * (self.moments.ndim - len(units))
            return frozen(self.moments[np.ix_(*blocks)].reshape([len(block) for block in blocks[: len(units)]]))
        raise CountError(f"{called(units)} was not counted, only {self._contents()}; count it from the reports")

    def holds(self, *names: str) -> bool:
        """Whether a table was counted that holds all these features: of a plan with arms, in an arm that asks them."""
        if self.parts:
            return any(arm.holds(*names) for arm in self.parts if all(name in arm.plan for name in names))
        return self.holds_units(self.units_of(*names))

    def holds_units(self, units: Names) -> bool:
        """Whether a table of all these units was counted."""
        return len(units) <= _order(self) or self._holder(self.tables, units) is not None

    def _holder(self, tables: Mapping[Names, Array], units: Names) -> Names | None:
        """The smallest table that holds all these units: their own, which is found at once, or another."""
        own = units if units in tables else tuple(sorted(units, key=self.plan.units.schema.index))
        if own in tables:
            return own
        return min((table for table in tables if set(units) <= set(table)), key=len, default=None)

    def shown(self, *names: str) -> Array | None:
        """How many reports show each combination of these units' patterns, axes in this order; None if not known."""
        table = self._holder(self.patterns, names)
        if table is None:
            return None
        margin = self.patterns[table].sum(axis=tuple(k for k, name in enumerate(table) if name not in names))
        return np.asarray(margin).transpose(_places(names, table))

    def __add__(self, other: Self) -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        if self.plan.kept and self.plan == other.plan:
            checks.warn_of_kept("counts", 2)
        return self.with_those_of(other)

    def with_those_of(self, other: "Counts") -> "Counts":
        """Counts of both; patterns that only one of them holds are not known of both, and are left out."""
        checks.check_one_plan(self.plan, other.plan)
        sources = joined_sources(self.sources, other.sources, CountError, "these counts")
        if self.parts:
            arms = [mine.with_those_of(theirs) for mine, theirs in zip(self.parts, other.parts, strict=True)]
            return Counts(self.plan, arms=arms).of_sources(sources).with_repeats(self.repeats + other.repeats)
        if self.tables.keys() != other.tables.keys() or _order(self) != _order(other):
            if not (self._gives(other) and other._gives(self)):
                raise CountError(f"counts of different tables do not add: {self._contents()}, and {other._contents()}")
            both = dict.fromkeys([*self.tables, *other.tables])
            return self._as_tables(both).with_those_of(other._as_tables(both))
        checks.check_total(self.n, other.n)
        moments = None if self.moments is None or other.moments is None else self.moments + other.moments
        tables = {names: array + other.tables[names] for names, array in self.tables.items()}
        known = self.patterns.keys() & other.patterns.keys()
        patterns = {names: self.patterns[names] + other.patterns[names] for names in tables if names in known}
        n = self.n + other.n
        made = Counts(self.plan, tables, n=n, moments=moments, patterns=patterns).of_sources(sources)
        return made.with_repeats(self.repeats + other.repeats)

    def _gives(self, other: Self) -> bool:
        """Whether every table of other counts, also of those that their moments hold, is held here."""
        order = min(_order(other), len(self.plan.units.schema))
        of_moments = combinations(self.plan.units.schema.names, order) if order > _order(self) else ()
        return all(self.holds_units(units) for units in chain(other.tables, of_moments))

    def _as_tables(self, tables: Iterable[Names]) -> "Counts":
        """The same counts as tables alone."""
        made = object.__new__(Counts)
        own = {names: self.evidence(*names) for names in tables}
        made.__dict__.update(self.__dict__, tables=MappingProxyType(own), moments=None)
        return made

    def __radd__(self, other: Any) -> "Counts":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __reduce__(self) -> tuple[Any, ...]:  # pickled and copied as what it was made of, which is checked again
        own = dict(self.sources), self.repeats
        return _remade, (self.plan, self.n, dict(self.tables), self.moments, dict(self.patterns), self.parts, *own)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.plan == other.plan
            and self.n == other.n
            and self.parts == other.parts
            and _same(self.tables, other.tables)
            and _same(self.patterns, other.patterns)
            and (self.moments is None) == (other.moments is None)
            and (self.moments is None or other.moments is None or np.array_equal(self.moments, other.moments))
        )

    __hash__ = None  # type: ignore[assignment]
    _repr_html_ = printed

    __dir__ = hiding(
        "counted", "holds_units", "moments", "of_sources", "parts", "patterns", "repeats", "shown", "sources",
        "units_of", "with_repeats",
    )  # fmt: skip

    def __repr__(self) -> str:
        return f"<Counts of {how_many(self.n, 'report')}: {self._contents()}, by {self.plan!r}>"

    def _contents(self) -> str:
        if self.parts:
            return f"{len(self.parts):,} arms, whose tables are in counts.arms"
        parts = [in_print(self.plan, names) for names in list(self.tables)[:5]]
        parts += [f"{len(self.tables) - 5} more tables"] * (len(self.tables) > 5)
        if self.moments is not None:
            parts.append({2: "every pair", 3: "every triple"}[self.moments.ndim])
        return ", ".join(parts) or "how many there are"

    def save(self, path: str | AnyFile) -> None:
        """Write an .npz file with the plan inside, whole or not at all."""
        check_target(path)
        check_ending(path, ".npz", "counts are written to a NumPy file")
        write_arrays(path, self.plan, [arm._arrays() for arm in self.arms], self.sources, self.repeats)

    def _arrays(self) -> dict[str, Any]:
        """What a file holds of these counts, of one arm."""
        arrays: dict[str, Any] = {}
        for place, (names, array) in enumerate(self.tables.items()):
            arrays |= {f"names {place}": np.array(names), f"table {place}": array}
            if names in self.patterns:
                line = self.patterns[names].reshape(-1)
                shown = np.flatnonzero(line)  # most may never have been shown
                arrays |= {f"patterns {place}": shown, f"shown {place}": line[shown]}
        if self.moments is not None:
            arrays["moments"] = self.moments
        if self.n > self._check_agreement() or not arrays:
            arrays["n"] = np.array(self.n)  # without it, all were asked, as in files of version 0.1.0
        return arrays

    @classmethod
    def load(cls, path: str | AnyFile) -> "Counts":
        """Read counts that `save` wrote, and check them."""
        if not isinstance(path, str | AnyFile):
            raise CountError(f"counts are loaded from a file, by its path; found {abbreviated(path)}")
        plan, of_arms, sources, repeats = read_arrays(path)
        try:
            parts = [cls._from_arrays(arm, own) for arm, own in zip(plan.arms, of_arms, strict=True)]
            made = cls(plan, arms=parts) if plan.has_arms else parts[0]
            return made.of_sources(sources).with_repeats(repeats)
        except (CountError, SchemaError) as error:
            raise CountError(f"{path}: {error}") from None
        except (KeyError, ValueError, IndexError, TypeError):
            raise CountError(f"{path}: is not a file of counts, or it is damaged") from None

    @classmethod
    def _from_arrays(cls, plan: Plan, arrays: Mapping[str, Any]) -> "Counts":
        """The counts of a plan without arms, from what `_arrays` gives."""
        places = range(sum(key.startswith("table ") for key in arrays))
        names = {at: tuple(arrays[f"names {at}"].tolist()) for at in places}
        tables = {names[at]: arrays[f"table {at}"] for at in places}
        patterns = {
            names[at]: patterns_at(plan, names[at], arrays[f"patterns {at}"], arrays[f"shown {at}"])
            for at in places
            if f"patterns {at}" in arrays
        }
        n = int(arrays["n"]) if "n" in arrays else None
        return cls(plan, tables, n=n, moments=arrays.get("moments"), patterns=patterns)


def _places(names: Sequence[str], table: Names) -> list[int]:
    """Where these features stand among themselves in a table."""
    left = [name for name in table if name in names]
    return [left.index(name) for name in names]


def _same(left: Mapping[Names, Array], right: Mapping[Names, Array]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(array, right[names]) for names, array in left.items())


def _order(counts: Counts) -> int:
    return 0 if counts.moments is None else counts.moments.ndim


def _remade(
    plan: Plan,
    n: int,
    tables: dict[Names, Array],
    moments: Array | None,
    patterns: dict[Names, Array],
    parts: tuple[Counts, ...],
    sources: Sources,
    repeats: Repeats,
) -> Counts:
    made = Counts(plan, arms=parts) if parts else Counts(plan, tables, n=n, moments=moments, patterns=patterns)
    return made.of_sources(sources).with_repeats(repeats)
