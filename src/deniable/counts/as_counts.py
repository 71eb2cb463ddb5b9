"""Counts from whatever holds them without doubt: counts, reports, or files of either."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deniable.counts.counts import Counts


def as_counts(source: Any, names: Sequence[Any] | None = None) -> Any:
    """The counts of a source: itself, of reports, or of the file or files that a path or paths mean.

    Reports are counted for the named features, or else as `count` does without names. Of anything else it is the
    source as it is, which whoever asks for counts refuses in its own words.
    """
    if isinstance(source, Counts):
        return source
    if isinstance(source, str | Path) and str(source).lower().endswith(".npz"):
        return Counts.load(source)
    from deniable.counts.count import count  # which needs more than counts that are there already
    from deniable.reports.reports import Reports

    files = isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source)
    return count(source, names) if files or isinstance(source, Reports | str | Path) else source


def sum_of(parts: Sequence[Counts]) -> Counts:
    """The sum of one or more counts of a plan."""
    first, *others = parts
    return sum(others, start=first)
