"""Rows as the command line prints them in JSON and CSV: those of a table, with what it is told about."""

from typing import Any

import deniable as dn


def printed(table: Any, est: dn.Estimate, level: float = 0.95) -> list[dict[str, Any]]:
    """The rows of a table of an estimate, each with the subject, the level and the number of reports."""
    return [row | {"about": str(est.subject), "level": level, "reports": est.asked} for row in table.to_pylist()]
