"""Counts from whatever holds them without doubt: counts, reports, or files of either."""

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.counts.counts import Counts
from deniable.errors import abbreviated
from deniable.files.stores import AnyFile


def as_counts(source: Any, names: Sequence[Any] | None = None) -> Any:
    """The counts of a source: itself, of reports, or of the file or files that a path or paths mean.

    Reports are counted for the table of the named features, or for several such tables, or else as `count` does without
    names. Of anything else it is the source as it is, which whoever asks for counts refuses in its own words.
    """
    if isinstance(source, Counts):
        return source
    if isinstance(source, str | AnyFile) and str(source).lower().endswith(".npz"):
        return Counts.load(source)
    from deniable.counts.count import count, count_table  # which needs more than counts that are there already
    from deniable.reports.reports import Reports

    files = isinstance(source, list | tuple) and source and all(isinstance(one, str | AnyFile) for one in source)
    if not files and not isinstance(source, Reports | str | AnyFile):
        return source
    one = names is not None and all(isinstance(name, str) for name in names)
    return count_table(source, names) if names and one else count(source, names)


def no_counts(asking: str, found: Any, *, waves: bool = False) -> str:
    """What is said of something that holds no counts, and the next step if it looks like true answers."""
    told = f"{asking} counts, as dn.count or Counts.load give them, reports, or a path to either"
    answers = hasattr(found, "columns") or isinstance(found, Mapping)
    hint = "; answers become reports by dn.randomize(answers, plan)" if answers else ""
    return f"{told}{', or a list of waves' if waves else ''}; found {abbreviated(found)}{hint}"


def sum_of(parts: Sequence[Counts]) -> Counts:
    """The sum of one or more counts of a plan."""
    first, *others = parts
    return sum(others, start=first)
