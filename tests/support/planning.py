"""Wanted tables to plan for, listed once, and the survey of eight questions that is the planner's worked case."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

import deniable as dn
from deniable.survey.planning.information import Wanted
from tests.support.situations import values

EIGHT = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", values(4)),
        dn.Choice("income", values(5)),
        dn.Flag("drinks"),
        dn.Flag("diabetes"),
        dn.Choice("region", values(6)),
        dn.Flag("insured"),
        dn.Flag("depressed"),
    ]
)
EIGHT_WANTED = [
    ("smoker", "age"),
    ("smoker", "income"),
    ("smoker", "drinks"),
    ("depressed", "age"),
    ("depressed", "smoker"),
    ("diabetes", "age"),
    ("insured", "income"),
    "region",
]
# Total variance over all tables and cells, of the noise alone, for one respondent: flags, questions of a table, and
# the least at epsilon 1, 2 and 4.
OPTIMA = {
    (4, 2): (161.3, 31.00, 3.088),
    (6, 2): (837.2, 159.9, 23.53),
    (6, 3): (2324.5, 442.2, 46.90),
    (4, 3): (174.9, 31.51, 2.402),
}
MULTI = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Flags("drinks", ["tea", "beer"]),
        dn.Choice("age", values(3)),
        dn.Choice("region", values(4)),
    ]
)


def wanted(levels: Sequence[int], tables: Sequence[tuple[int, ...]], weights: Sequence[float] | None = None) -> Wanted:
    """Wanted tables of questions with so many answers; those with two are flags."""
    flags = frozenset(place for place, m in enumerate(levels) if m == 2)
    return Wanted(tuple(levels), flags, tuple(tables), np.array(weights or [1.0] * len(tables)))


def every_table(flags: int, size: int) -> Wanted:
    """All tables of so many of these flags."""
    return wanted([2] * flags, list(combinations(range(flags), size)))
