"""Queries that count reports where they are: one GROUP BY for each table, and a few rows that come back.

The rows have a column for each unit (a feature, or a block of several), null where a table does not have it, and `n`,
how many reports there are. With arms, a column `arm` has the arm's number. A unit's number is the place of the report's
pattern in `Protocol.patterns`; where patterns would be too many, and a report may mark several values, it is a place on
the axis of `Counts.array`, so that a report is in the rows of all the cells that it counts in. Each table has a row of
zeros, so that one without reports is known to have been counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from itertools import count as counting
from typing import Any

from deniable.counts.layout import Names, patterns_shape
from deniable.counts.tally import Tally, asked_tables, checked_order, units_asked
from deniable.counts.tally_kinds import Moments, kinds_of_order
from deniable.counts.warehouse.dialects import dialect_of
from deniable.counts.warehouse.shown import MALFORMED, Evidence, InBytes, InColumns, Storage
from deniable.errors import CountError, PlanError, abbreviated
from deniable.reports.fields import fields
from deniable.survey.plan import Plan

MOST_GROUPINGS = 2_000  # A query groups at most so many times: each reads the table once more.
NULL = "CAST(NULL AS BIGINT)"  # It stands in a row for a unit that its table does not have.
MOST_LETTERS = 63  # PostgreSQL cuts longer names of columns, in bytes.


def sql(
    plan: Plan,
    names: Sequence[str] | Sequence[Sequence[str]] | None = None,
    *,
    order: int | None = None,
    table: str = "reports",
    dialect: str = "duckdb",
    packed: str | None = None,
) -> str:
    """Write the SQL query that counts reports inside a database (a warehouse), for `count_patterns` to read.

    Parameters
    ----------
    plan
        The plan of the reports.
    names
        The features of one table, or a list of such lists for several tables, as `count` takes them.
    order
        Instead of names: every pair of features (2), every triple (3), ..., with one GROUP BY for each.
    table
        What to select from, as it is to stand in the query: the name of a table or a view, or a subquery in brackets
        with an alias. Its columns are those of `Reports.table`, which `Reports.save` writes.
    dialect
        "duckdb", "postgres" or "spark".
    packed
        The name of a column of bytes that holds whole reports, as devices send them, instead of columns.

    Returns
    -------
    str
        One query. A report that cannot be of this plan comes back as one that `count_patterns` refuses.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
    >>> query = dn.sql(plan, ["smoker", "drinker"], table="reports", dialect="postgres")
    >>> query.splitlines()[0]
    'SELECT u0 AS "smoker", u1 AS "drinker", n AS "n" FROM (SELECT'
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"a query needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    if (names is None) == (order is None):
        raise CountError("a query takes names of features, or order=2 for every pair; give one of them")
    for argument, given in (("table", table), ("packed", "-" if packed is None else packed)):
        if not isinstance(given, str) or not given.strip():
            raise CountError(f"{argument}= takes a name, as it stands in the database; found {abbreviated(given)}")
    of = dialect_of(dialect)
    storage = InColumns(plan, of, table) if packed is None else InBytes(plan, of, table, packed)
    groupings = _groupings(storage, _tables(plan, names, order))
    return "\nUNION ALL\n".join(_queries(storage, groupings))


def count_columns(plan: Plan) -> tuple[str, dict[str, str], str]:
    """The columns of what a query returns: of the arms' numbers, of each unit by its name, and of how many reports.

    A unit whose name a database would cut, or take for another, is called by its place, or the next that is free.
    """
    units = list(dict.fromkeys(name for arm in plan.arms for name in fields(arm)))
    taken = {"arm", "n"}
    found: dict[str, str] = {}
    for place, name in enumerate(units):
        names = chain([name] if len(name.encode()) <= MOST_LETTERS else [], (f"unit {k}" for k in counting(place)))
        found[name] = next(one for one in names if one.casefold() not in taken)
        taken.add(found[name].casefold())
    return "arm", found, "n"


def keeps_patterns(arm: Plan, units: Names) -> bool:
    """Whether a table's reports are grouped by whole patterns, not put into all the cells that they count in."""
    return not any(arm.units[name].several for name in units) or patterns_shape(arm, units) is not None


def _tables(plan: Plan, names: Any, order: Any) -> list[list[Names]]:
    """The tables of each arm, as the units of each in their order; of an arm that asks nothing wanted, one of none."""
    if names is not None:
        asked = asked_tables(plan, names)
        Tally.of(plan, names)  # refuses what has too many cells
        found = [list(dict.fromkeys(units_asked(arm, asked))) for arm in plan.arms]
    else:
        size = checked_order(plan, order)
        found = [_of_order(arm, size) for arm in plan.arms]
    return [own or [()] for own in found]


def _of_order(arm: Plan, size: int) -> list[Names]:
    """The tables that an arm's tables of some size follow from, as `count` has them: they, or that of all units."""
    kinds = kinds_of_order(arm, size)
    if any(isinstance(kind, Moments) for kind in kinds):
        return list(combinations(fields(arm), min(size, len(fields(arm)))))
    return [kind.needed for kind in kinds]


@dataclass(frozen=True)
class _Grouping:
    """One GROUP BY: a table of units that some arms show alike."""

    arms: tuple[int, ...]
    units: Names


def _groupings(storage: Storage, tables: Sequence[Sequence[Names]]) -> list[_Grouping]:
    """What to group: arms that show a table's units in the same place, and by the same protocols, go together."""
    found: dict[tuple[Any, ...], tuple[list[int], Names]] = {}
    for arm, own in enumerate(tables):
        of = storage.plan.arms[arm]
        for units in own:
            shown = tuple((of.units[name], tuple(storage.numbers(arm, name))) for name in units)
            found.setdefault((units, shown), ([], units))[0].append(arm)
    if len(found) > MOST_GROUPINGS:
        raise CountError(
            f"this takes {len(found):,} groupings, each of which reads all reports, and a query has at most "
            f"{MOST_GROUPINGS:,}; ask for fewer tables, or let dn.count read the reports once"
        )
    return [_Grouping(tuple(arms), units) for arms, units in found.values()]


def _queries(storage: Storage, groupings: Sequence[_Grouping]) -> Iterator[str]:
    """The parts of a query: each grouping, its rows of zeros, and the reports of no arm."""
    units = sorted({name for one in groupings for name in one.units}, key=list(count_columns(storage.plan)[1]).index)
    for grouping in groupings:
        yield _grouped(storage, grouping, units)
    arms = range(len(storage.plan.arms)) if storage.plan.has_arms else ()
    zeros = [
        ", ".join([*map(str, [arm] if arms else []), *("0" if name in one.units else NULL for name in units), "0"])
        for one in groupings
        for arm in one.arms
    ]
    columns = ", ".join(f"z{k}" for k in range(len(units) + bool(arms) + 1))
    yield f"SELECT {columns} FROM (VALUES ({'), ('.join(zeros)})) AS zeros({columns})"
    if arms:
        missing = ", ".join([str(MALFORMED), *[NULL] * len(units), "count(*)"])
        yield f"SELECT {missing} FROM {storage.rows} WHERE ({storage.says(arms)}) IS NOT TRUE"


def _grouped(storage: Storage, grouping: _Grouping, units: Sequence[str]) -> str:
    """One GROUP BY, with the names of columns."""
    d, plan = storage.dialect, storage.plan
    arm_column, columns, n = count_columns(plan)
    of = plan.arms[grouping.arms[0]]
    numbers: dict[str, str] = {}  # what is read of a report, under names of its own
    keys: dict[str, str] = {}
    joins: list[str] = []
    for name in grouping.units:
        read = storage.numbers(grouping.arms[0], name)
        names = [f"x{len(numbers) + k}" for k in range(len(read))]
        numbers |= zip(names, read, strict=True)
        evidence = Evidence(d, fields(of)[name], names)
        place = f"u{units.index(name)}"
        if keeps_patterns(of, grouping.units) or not of.units[name].several:
            keys[place] = evidence.pattern
        else:
            keys[place] = f"{place}.place"
            joins.append(_join(place, evidence, of.units[name].columns))
    if plan.has_arms:
        numbers["a"], keys["a"] = storage.arm(grouping.arms), "r.a"
    inner = ", ".join(f"{number} AS {name}" for name, number in numbers.items()) or "1 AS one"
    grouped = ", ".join(f"{key} AS {place}" for place, key in keys.items())
    by = ", ".join(map(str, range(1, len(keys) + 1)))
    where = f" WHERE {storage.says(grouping.arms)}" if plan.has_arms else ""
    told = [f"a AS {d.identifier(arm_column)}"] if plan.has_arms else []
    told += [
        f"{f'u{k}' if name in grouping.units else NULL} AS {d.identifier(columns[name])}"
        for k, name in enumerate(units)
    ]
    return (
        f"SELECT {', '.join(told)}, n AS {d.identifier(n)} FROM (SELECT\n"
        f"  {grouped}, count(*) AS n\n"
        f"  FROM (SELECT {inner} FROM {storage.rows}{where}) AS r\n"
        f"{''.join(joins)}  GROUP BY {by}\n) AS counted"
    )


def _join(place: str, evidence: Evidence, columns: int) -> str:
    """A report for each place on a unit's axis that it belongs to."""
    if evidence.dialect.joins_own_values and evidence.places:
        own = ", ".join(f"({at}, {bit})" for at, bit in evidence.places)
        return f"  JOIN LATERAL (VALUES {own}) AS {place}(place, bit) ON {place}.bit = 1\n"
    places = ", ".join(f"({k})" for k in range(MALFORMED, columns + 1))
    return f"  JOIN (VALUES {places}) AS {place}(place) ON {evidence.marks(f'{place}.place')}\n"
