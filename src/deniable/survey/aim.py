"""What a plan was made for: the tables that are wanted, how many respondents are expected, and how it was designed.

It travels beside the plan, in its JSON too, and is no part of what the plan means: neither fingerprint nor equality
depend on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import Any

from deniable.errors import PlanError, abbreviated, listed
from deniable.survey.schema import Schema

Names = tuple[str, ...]
GOALS = ("mean", "worst")


@dataclass(frozen=True)
class Manner:
    """The options that a design was made with, by which it can be made again, for other questions say."""

    goal: str = "mean"
    weights: tuple[tuple[Names, float], ...] = ()  # of wanted tables that have one
    most: int | None = None
    apart: tuple[Names, ...] = ()
    together: tuple[Names, ...] = ()
    spare: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """The same as `design` takes it."""
        return asdict(self) | {"weights": dict(self.weights)}

    def to_json(self) -> dict[str, Any]:
        """What the plan's JSON holds of it: the goal, and what is not as it would be without a word."""
        plain = asdict(Manner())
        return {name: value for name, value in asdict(self).items() if name == "goal" or value != plain[name]}

    def without(self, gone: Sequence[str], want: Sequence[Names]) -> "Manner":
        """The same for a survey without some questions, which wants these tables."""
        parts = [(_less(table, gone), table, weight) for table, weight in self.weights]
        parts.sort(key=lambda part: part[0] == part[1])  # a table that stays as it is has its own weight
        weights = {part: weight for part, _, weight in parts if part in want}
        apart, together = (tuple(left for one in of if len(left := _less(one, gone)) > 1)
                           for of in (self.apart, self.together))  # fmt: skip
        return Manner(self.goal, tuple(weights.items()), self.most, apart, together, self.spare)


def _less(names: Names, gone: Sequence[str]) -> Names:
    return tuple(name for name in names if name not in gone)


@dataclass(frozen=True)
class Aim:
    """The wanted tables, each by the names of its features, and the expected number of respondents, if it is known.

    `manner` is how a plan was designed for them; None of a plan whose arms and blocks somebody said.
    """

    want: tuple[Names, ...]
    n: int | None = None
    manner: Manner | None = None

    def to_json(self) -> dict[str, Any]:
        """What the plan's JSON holds of it."""
        found: dict[str, Any] = {"want": [list(names) for names in self.want]}
        if self.n is not None:
            found["n"] = self.n
        return found if self.manner is None else found | {"design": self.manner.to_json()}


def aim_from_json(document: Mapping[str, Any], schema: Schema) -> Aim | None:
    """What a plan's JSON says it was made for; None if it says nothing."""
    if not document.keys() & {"want", "n", "design"}:
        return None
    want, n = document.get("want"), document.get("n", 1)
    if not isinstance(want, list) or not want or not all(_is_table(names, schema) for names in want):
        raise PlanError(f"the plan's want must be a list of tables of its features; found {abbreviated(want)}")
    if type(n) is not int or n < 1:
        raise PlanError(f"the plan's n must be a number of respondents, a whole number above 0; found {abbreviated(n)}")
    manner = _manner(document["design"], schema) if "design" in document else None
    return Aim(tuple(map(tuple, want)), document.get("n"), manner)


def _manner(found: Any, schema: Schema) -> Manner:
    """How a plan's JSON says that it was designed."""
    plain = asdict(Manner())
    given = plain | found if isinstance(found, dict) else {}
    if given.keys() != plain.keys() or not all(_is_option(name, one, schema) for name, one in given.items()):
        raise PlanError(f"the plan's design must be options of a design of its features; found {abbreviated(found)}")
    weights = tuple((tuple(table), float(weight)) for table, weight in given["weights"])
    apart, together = (tuple(map(tuple, given[name])) for name in ("apart", "together"))
    return Manner(given["goal"], weights, given["most"], apart, together, float(given["spare"]))


def _is_option(name: str, found: Any, schema: Schema) -> bool:
    """Whether what a plan's JSON has as an option of its design is one."""
    match name:
        case "goal":
            return found in GOALS
        case "most":
            return found is None or (type(found) is int and found > 0)
        case "spare":
            return type(found) in (int, float) and 0 <= found < 1
        case "weights":
            return isinstance(found, list | tuple) and all(_is_weight(one, schema) for one in found)
    return isinstance(found, list | tuple) and all(_is_table(one, schema) for one in found)


def _is_weight(found: Any, schema: Schema) -> bool:
    """Whether what a plan's JSON has among its weights is a table and a positive number."""
    return (
        isinstance(found, list)
        and len(found) == 2
        and _is_table(found[0], schema)
        and type(found[1]) in (int, float)
        and 0 < found[1] < float("inf")
    )


def _is_table(names: Any, schema: Schema) -> bool:
    """Whether what a plan's JSON wants is a table: one or more different features."""
    return (
        isinstance(names, list)
        and bool(names)
        and all(isinstance(name, str) and name in schema for name in names)
        and len(set(names)) == len(names)
    )


def unwanted(names: Sequence[str], tables: Sequence[Names]) -> list[str]:
    """The questions among `names` that no wanted table has."""
    return [name for name in names if not any(name in table for table in tables)]


def wanted_tables(schema: Schema, want: Any, order: int | None = None) -> tuple[Names, ...]:
    """The wanted tables, checked, each in the schema's order: those that are named, or all of so many questions."""
    if want is None:
        return _tables_of_order(schema, min(2, len(schema)) if order is None else order)
    if order is not None:
        raise PlanError("order wants every table of so many questions; leave it out, or what is wanted by name")
    if isinstance(want, str) or not isinstance(want, Sequence) or not want:
        raise PlanError(f'want is a list of tables, [("smoker", "age"), "region"]; found {abbreviated(want)}')
    if isinstance(want, tuple) and len(want) > 1 and all(isinstance(name, str) for name in want):
        one, each = f"[({listed(want)})]", f"[{listed(want)}]"
        raise PlanError(f"want is a list of tables: {one} for one table of all these, {each} for each by itself")
    return tuple(dict.fromkeys(names for table in want for names in tables_named(schema, table)))


def _tables_of_order(schema: Schema, order: Any) -> tuple[Names, ...]:
    """All tables of so many questions."""
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= len(schema):
        raise PlanError(
            f"order is how many questions each wanted table has, 1 to {len(schema)}; found {abbreviated(order)}"
        )
    return tuple(combinations(schema.names, order))


def tables_named(schema: Schema, table: Any) -> list[Names]:
    """One wanted table; or of a multi-select question that is in it by its name, one table with each of its flags."""
    names = (table,) if isinstance(table, str) else table
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise PlanError(f"a wanted table is a name or several; found {abbreviated(table)}")
    found = [[one.name for one in schema.questions.get(name) or (schema[name],)] for name in names]
    every = [name for own in found for name in own]
    if len(set(every)) < len(every):
        raise PlanError(f"a wanted table has each question once; found {abbreviated(table)}")
    return [tuple(sorted(one, key=schema.index)) for one in product(*found)]
