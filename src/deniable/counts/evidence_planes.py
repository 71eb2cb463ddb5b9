"""Evidence: which values each report supports, as bit planes (64 reports to a word) and as codes. Internal.

How a feature's evidence follows from what its reports show is known by its field (`reports.fields`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from deniable.kernels.bitplanes import Words, words_for
from deniable.reports.fields import columns_by_name, fields
from deniable.reports.report_columns import Place, whole
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Shown


@dataclass(frozen=True)
class Evidence:
    """Some reports' evidence. Row 0 of `planes` is 1 for each report; a feature's planes start at `firsts[name]`.

    `shown` is what was gathered: features that need no planes are counted from it.
    """

    reports: int
    planes: Words
    firsts: Mapping[str, int]
    shown: Mapping[str, Shown]


def gather(plan: Plan, table: Any, names: Iterable[str], first: Place) -> dict[str, Shown]:
    """What a table of reports shows of each feature, as numbers: packed bits of each column, codes, or seed and bucket.

    All that asks Arrow for something is here, for one thread at a time: threads that do so together hold each other up.
    `first` is the number of the first report, or of each, for errors.
    """
    of, found = fields(plan), columns_by_name(table)
    return {name: of[name].shown(of[name].conform(found, first)) for name in names}


def gather_from(reports: Reports, start: int, rows: int, names: Iterable[str]) -> tuple[int, dict[str, Shown]]:
    """What some reports in memory, of a plan without arms, show; they were checked when they were made."""
    of, table = fields(reports.plan), reports.table
    part = table if len(table) <= rows else table.slice(start, rows)
    found = columns_by_name(part)
    return len(part), {name: of[name].shown([whole(found[own]) for own in of[name].names]) for name in names}


def plane_rows(plan: Plan, names: Iterable[str]) -> int:
    """How many planes these features have, with that of all reports."""
    return 1 + sum(plan.units[name].columns for name in names)


def evidence(
    plan: Plan, reports: int, shown: Mapping[str, Shown], planes: Sequence[str], memory: Words, tools: ModuleType
) -> Evidence:
    """The evidence of what was gathered, with the planes of some features.

    Planes are made in `memory`, over what was there: fresh memory would cost more than the copying does.
    """
    bits = memory[:, : words_for(reports)]
    if not planes:
        return Evidence(reports, bits, {}, shown)
    packed, rows = [np.full((reports + 7) // 8, 255, np.uint8)], [0]  # all reports
    of, firsts, row = fields(plan), {}, 1
    for name in planes:
        first, row = row, row + plan.units[name].columns
        firsts[name] = first
        if copies := of[name].fill(shown[name], bits[first:row], tools):
            packed += copies
            rows += range(first, row)
    tools.copy(np.array([array.ctypes.data for array in packed]), np.array(rows), reports, bits)
    return Evidence(reports, bits, firsts, shown)
