"""Rows as the command line prints them in JSON and CSV: those of a table, with what it is told about."""

from typing import Any

import deniable as dn


def printed(table: Any, est: dn.Estimate, level: float = 0.95) -> list[dict[str, Any]]:
    """The rows of a table of an estimate in JSON, each with the subject, the level, reports, and their influence."""
    return [row | {"influence": table.influence} for row in printed_in_csv(table, est, level)]


def printed_in_csv(table: Any, est: dn.Estimate, level: float = 0.95) -> list[dict[str, Any]]:
    """The rows of a table of an estimate in CSV, each with the subject, the level and the number of reports."""
    return [row | {"about": str(est.subject), "level": level, "reports": est.asked} for row in table.to_pylist()]
