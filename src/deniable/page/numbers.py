"""The page's numbers for programs: a JSON document inside the page, with every table at full precision."""

import json
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import deniable
from deniable.page.blocks import Cell, Chart, Number, Table
from deniable.page.chosen import Chosen
from deniable.survey.plan import Plan

# ESCAPED are the characters that could end a script element or a line of it, and what JSON writes for them.
ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def document(
    facts: Mapping[str, str], plan: Plan, n: int, level: float, chosen: Iterable[Chosen], tables: Mapping[str, Table]
) -> str:
    """All numbers of a page as JSON text that can stand inside a script element of HTML."""
    found = {
        "made with": f"deniable {deniable.__version__}",
        **facts,
        "about": "population",
        "level": level,
        "reports": n,
        "plan": {"fingerprint": plan.fingerprint, "epsilon": plan.epsilon, "not protected": list(plan.public)},
        "chosen": [_chosen(one) for one in chosen],
        "tables": [{"name": name, **_table(table)} for name, table in tables.items()],
    }
    return "".join(ESCAPED.get(letter, letter) for letter in json.dumps(found, ensure_ascii=False, allow_nan=False))


def named(charts: Iterable[Chart | None]) -> Iterator[tuple[str, Table]]:
    """The tables of charts, by their names."""
    for chart in charts:
        if chart is not None:
            yield chart.name, chart.table


def _chosen(one: Chosen) -> dict[str, Any]:
    """A chosen result by the names of questions and answers, with null where there are not enough reports."""
    rows = [
        {name: None if isinstance(cell, float) and not isfinite(cell) else cell for name, cell in row.items()}
        for row in one.records
    ]
    told = {"name": one.chart.name, "questions": one.choice.names, "given": one.choice.given}
    return {**told, **({"among": one.among} if one.among else {}), "rows": rows}


def _table(table: Table) -> dict[str, Any]:
    return {"caption": table.caption, "columns": table.head, "rows": [list(map(_cell, row)) for row in table.rows]}


def _cell(cell: Cell) -> Any:
    if isinstance(cell, Number):
        return cell.value if isfinite(cell.value) else None
    return cell
