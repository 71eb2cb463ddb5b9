"""Expected half-widths of a plan's tables: what each question costs the others, and curves for a picture of it."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.analyses.expectation import checked_people, expectation
from deniable.charts.curves import MOST, Curves
from deniable.errors import PlanError
from deniable.inference.one_feature import Array
from deniable.survey.aim import Names
from deniable.survey.blocks import TIMES, grouped
from deniable.survey.describe import FILLED
from deniable.survey.plan import Plan
from deniable.survey.without import with_epsilon
from deniable.text.html import printed
from deniable.text.progress import told
from deniable.text.tables import aligned

# Without a number of respondents, this one is supposed.
PEOPLE = 10_000
# Grids reach from one over this to this many times the plan's own number of respondents, and its epsilon.
PEOPLE_REACH, EPSILON_REACH = 10.0, 4.0
# The grid of epsilon has so many places.
EPSILONS = 9
# No epsilon beyond these is drawn.
LEAST, MOST_EPSILON = 0.1, 12.0


def tables_of(plan: Plan) -> list[Names]:
    """The wanted tables of a plan; of one made for none, all pairs that some arm asks, or else its questions."""
    if plan.want is not None:
        return list(plan.want)
    pairs = dict.fromkeys(pair for arm in plan.arms for pair in combinations(arm.schema.names, 2))
    return list(pairs) or [(name,) for name in plan.schema.names]


def half_widths(plan: Plan, tables: Sequence[Names], n: int | None, guess: Any) -> list[float]:
    """The expected half-width of each of some tables."""
    return [expectation(plan, table, n=n, guess=guess).half_width for table in tables]


@dataclass(frozen=True, eq=False)
class Costs:
    """What each question costs the others: a table for Arrow, which prints with the dearest question first.

    `everywhere` are the questions that have no row: they are in every wanted table, and there is nothing to compare.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("region", ["north", "south", "east"])])
    >>> plan = dn.design(schema, epsilon=2.0, want=[("smoker", "drinker"), "region"], n=10_000)
    >>> print(plan.costs())
    question   half-width   without it      people
    --------  -----------  -----------  ----------
    region    1.94 points  1.38 points  1.98 times
    smoker    1.93 points  1.85 points  1.08 times
    drinker   1.93 points  1.85 points  1.08 times
    Half-widths of 95 % intervals with 10,000 people, of the wanted tables that do not hold it, root
    mean square; and how many times as many people they need because it is asked.
    """

    table: pa.Table
    n: int
    everywhere: tuple[str, ...] = ()

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def to_pydict(self) -> dict[str, list[Any]]:
        """The columns, by name."""
        return dict(self.table.to_pydict())

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows, in the order of the schema."""
        return list(self.table.to_pylist())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of the Arrow C interface, which data frames read."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        rows = sorted(self.to_pylist(), key=lambda row: -row["people"])
        named = [name for name in ("question", "table") if name in self.column_names]
        head = [*named, "half-width", "without it", "people"]
        lines = [
            [*(row[name] for name in named), _in_points(row["half_width"]), _in_points(row["half_width_without"]),
             f"{row['people']:.2f} times"]
            for row in rows
        ]  # fmt: skip
        of = "a table" if "table" in named else "the wanted tables that do not hold it, root mean square"
        said = (
            f"Half-widths of 95 % intervals with {self.n:,} people, of {of}; and how many times as many people they "
            "need because it is asked."
        )
        said += f" In every wanted table, so without a row: {', '.join(self.everywhere)}." if self.everywhere else ""
        table = aligned(head, lines, numbers=range(len(named), len(head)), rule=True, colour=False)
        return "\n".join([*table, *textwrap.wrap(said, FILLED, break_on_hyphens=False)])

    _repr_html_ = printed

    __repr__ = __str__


def _in_points(share: float) -> str:
    return f"{100 * share:.2f} points"


def question_costs(plan: Plan, n: int | None, guess: Any, *, tables: bool) -> Costs:
    """Half-widths of the wanted tables with and without each question: a row for each, or for each and each table."""
    people = checked_people(plan, n)
    every = tables_of(plan)
    with_all = dict(zip(every, half_widths(plan, every, people, guess), strict=True))
    rows: list[tuple[str, str, float, float]] = []
    for question in told(_questions(plan), lambda one: f"planning without {one}"):
        own = set(grouped(plan.schema, [question]))
        others = [table for table in every if own.isdisjoint(table)]
        if others and not set(plan.schema.names) - own <= set(plan.public):
            alone = half_widths(plan.without(question), others, people, guess)
            rows += [
                (question, TIMES.join(table), with_all[table], width)
                for table, width in zip(others, alone, strict=True)
            ]
    if not rows:
        raise PlanError("no question has others that it could cost anything: each is in every wanted table")
    told_of = {row[0] for row in rows}
    everywhere = tuple(question for question in _questions(plan) if question not in told_of)
    return Costs(_by_table(rows) if tables else _by_question(rows), people, everywhere)


def _questions(plan: Plan) -> list[str]:
    """The questions that are protected; those that are public cost nothing."""
    return [
        name for name, own in plan.schema.questions.items() if not {feature.name for feature in own} <= set(plan.public)
    ]


def _by_table(rows: Sequence[tuple[str, str, float, float]]) -> pa.Table:
    questions, tables, before, after = zip(*rows, strict=True)
    return pa.table({"question": questions, "table": tables} | _numbers(np.array(before), np.array(after)))


def _by_question(rows: Sequence[tuple[str, str, float, float]]) -> pa.Table:
    """A row for each question: root mean squares over the tables."""
    questions = list(dict.fromkeys(row[0] for row in rows))
    squares = [np.mean([(row[2] ** 2, row[3] ** 2) for row in rows if row[0] == one], axis=0) for one in questions]
    before, after = np.sqrt(np.array(squares)).T
    return pa.table({"question": questions} | _numbers(before, after))


def _numbers(before: Any, after: Any) -> dict[str, Any]:
    return {"half_width": before, "half_width_without": after, "people": (before / after) ** 2}


# -- curves ------------------------------------------------------------------------------------------------------------


def half_width_curves(plan: Plan, n: int | None, guess: Any) -> Curves:
    """The half-widths of the wanted tables; of many, of the widest, the median and the narrowest."""
    if len(plan.public) == len(plan.schema):
        raise PlanError("nothing of this plan is protected: its half-widths do not depend on epsilon")
    people = n or plan.n or PEOPLE
    tables, labels, here = _shown(tables_of(plan), people, plan, guess)
    over = np.geomspace(people / PEOPLE_REACH, people * PEOPLE_REACH, 25)
    low, high = max(LEAST / plan.epsilon, 1 / EPSILON_REACH), min(MOST_EPSILON / plan.epsilon, EPSILON_REACH)
    times = np.unique(np.append(np.geomspace(min(low, 1), max(high, 1), EPSILONS), 1.0))
    plans = [plan if one == 1 else with_epsilon(plan, float(one)) for one in times]
    return Curves(
        labels,
        people,
        plan.epsilon,
        over,
        here[:, None] * np.sqrt(people / over),
        times * plan.epsilon,
        np.array([half_widths(one, tables, people, guess) for one in plans]).T,
        here,
        guess is not None,
    )


def _shown(every: Sequence[Names], people: int, plan: Plan, guess: Any) -> tuple[list[Names], tuple[str, ...], Array]:
    """The tables that are drawn, the widest first, with their labels and half-widths."""
    widths = np.array(half_widths(plan, every, people, guess))
    order = np.argsort(-widths, kind="stable").tolist()
    said = [""] * len(order)
    if len(order) > MOST:
        said = [f"widest of {len(order):,}: ", "median: ", "narrowest: "]
        order = [order[0], order[len(order) // 2], order[-1]]
    labels = tuple(f"{word}{TIMES.join(every[place])}" for word, place in zip(said, order, strict=True))
    return [every[place] for place in order], labels, widths[order]
