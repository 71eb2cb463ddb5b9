"""What a plan was made for: the tables that are wanted, and how many respondents are expected.

It travels beside the plan, in its JSON too, and is no part of what the plan means: neither fingerprint nor equality
depend on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from deniable.errors import PlanError
from deniable.survey.schema import Schema

Names = tuple[str, ...]


@dataclass(frozen=True)
class Aim:
    """The wanted tables, each by the names of its features, and the expected number of respondents, if it is known."""

    want: tuple[Names, ...]
    n: int | None = None

    def to_json(self) -> dict[str, Any]:
        """What the plan's JSON holds of it."""
        return {"want": [list(names) for names in self.want]} | ({} if self.n is None else {"n": self.n})


def aim_from_json(document: Mapping[str, Any], schema: Schema) -> Aim | None:
    """What a plan's JSON says it was made for; None if it says nothing."""
    if "want" not in document and "n" not in document:
        return None
    want, n = document.get("want"), document.get("n", 1)
    if not isinstance(want, list) or not want or not all(_is_table(names, schema) for names in want):
        raise PlanError(f"the plan's want must be a list of tables of its features; found {want!r:.200}")
    if type(n) is not int or n < 1:
        raise PlanError(f"the plan's n must be a number of respondents, a whole number above 0; found {n!r:.200}")
    return Aim(tuple(map(tuple, want)), document.get("n"))


def _is_table(names: Any, schema: Schema) -> bool:
    """Whether what a plan's JSON wants is a table: one or more different features."""
    return (
        isinstance(names, list)
        and bool(names)
        and all(isinstance(name, str) and name in schema for name in names)
        and len(set(names)) == len(names)
    )


def wanted_tables(schema: Schema, want: Any, order: int) -> tuple[Names, ...]:
    """The wanted tables, checked, each in the schema's order: those that are named, or all of so many questions."""
    if want is None:
        if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= len(schema):
            raise PlanError(f"order is how many questions each wanted table has, 1 to {len(schema)}; found {order!r}")
        return tuple(combinations(schema.names, order))
    if isinstance(want, str) or not isinstance(want, Sequence) or not want:
        raise PlanError(f'want is a list of tables, [("smoker", "age"), "region"]; found {want!r:.200}')
    return tuple(dict.fromkeys(names for table in want for names in _wanted(schema, table)))


def _wanted(schema: Schema, table: Any) -> list[Names]:
    """One wanted table; or of a multi-select question that is wanted by its name alone, one of each flag."""
    names = (table,) if isinstance(table, str) else table
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise PlanError(f"a wanted table is a name or several; found {table!r:.200}")
    found = [feature.name for name in names for feature in schema.questions.get(name) or (schema[name],)]
    if len(set(found)) < len(found):
        raise PlanError(f"a wanted table has each question once; found {table!r:.200}")
    return [(name,) for name in found] if isinstance(table, str) else [tuple(sorted(found, key=schema.index))]
