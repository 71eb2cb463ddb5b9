"""Counting on an engine: files are described, then counted in parts, by its workers; tallies come back as one sum.

What is shipped are paths and numbers of row groups. A part is counted by one thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from platform import node
from typing import Any

from deniable.counts.counts import Counts
from deniable.counts.sources import Described, Descriptions, check_unchanged, described, part_batches
from deniable.counts.tally import Tally
from deniable.errors import ReportError
from deniable.files.stores import AnyFile
from deniable.reports.engines.engine import Engine, total
from deniable.reports.fields import fields
from deniable.survey.plan import Plan

PART_CELLS = 1 << 28  # A task reads at most about so many values, reports times columns: a second or two.
MOST_EACH = 32  # There are at most so many tasks for each worker: of more, larger ones, or a scheduler has too many.
PARTS_EACH = 2  # There are at least so many tasks for each worker, if they are long enough: they even out.
LEAST = 1 / 2  # What is less than this share of PART_CELLS for each worker is one task: more take longer to begin.
FILES_EACH = 16  # A task describes so many files; if there are no more, the driver does, as a job would take longer.


@dataclass(frozen=True)
class Piece:
    """Some row groups of a file, and how many reports they hold. The file's others are not in it: it is shipped."""

    file: Described
    groups: tuple[int, ...]
    reports: int

    def __len__(self) -> int:
        return self.reports


@dataclass(frozen=True)
class Part:
    """What one task counts: pieces of files."""

    pieces: tuple[Piece, ...]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


def count_on(engine: Engine, files: Sequence[AnyFile], names: Any, order: int | None, plan: Plan | None) -> Counts:
    """The counts of files of reports, which every worker can open."""
    every = [file.resolve() if isinstance(file, Path) else file for file in files]
    chunks = [every[start : start + FILES_EACH] for start in range(0, len(every), FILES_EACH)]
    found: Descriptions = described(plan, every) if len(chunks) == 1 else total(engine, described, plan, chunks)
    own, sources = found.plan, found.sources
    tally = Tally.of(own, names, order=order)  # refuses here what cannot be counted
    tasks = parts_of(found.files, engine.workers, PART_CELLS // _columns(own, tally))
    if not tasks:
        return tally.counts().of_sources(sources)
    counted: Tally = total(engine, tally_of, (own, names, order), tasks, "reports counted")
    return counted.counts().of_sources(sources)


def _columns(plan: Plan, tally: Tally) -> int:
    """How many columns of a file are read, of the arm that needs most."""
    arms = zip(plan.arms, tally.arms, strict=True)
    return max(1, *(sum(len(fields(arm)[name].names) for name in own.needed) for arm, own in arms))


def parts_of(files: Sequence[Described], workers: int, limit: int) -> list[Part]:
    """Tasks of about the same size, large files in several and small ones together: of about `limit` reports at most.

    They are larger if they would be more than MOST_EACH for each worker, and smaller if fewer than PARTS_EACH; but each
    worker has one alone where that is less than LEAST of the limit. While a cluster has no workers the limit decides.
    """
    pieces = [
        Piece(alone, (group,), rows)
        for file in files
        for alone in [replace(file, groups=(), source={})]
        for group, rows in enumerate(file.groups)
        if rows
    ]
    most = limit
    if workers:
        each = -(-sum(map(len, pieces)) // workers)
        fewest = PARTS_EACH if each > LEAST * limit else 1
        most = min(max(limit, -(-each // MOST_EACH)), -(-each // fewest))
    parts: list[list[Piece]] = []
    rows = most
    for piece in pieces:
        if rows + len(piece) // 2 >= most:
            parts.append([])
            rows = 0
        parts[-1].append(piece)
        rows += len(piece)
    return [Part(tuple(_joined(file, [*own]) for file, own in groupby(part, _file))) for part in parts]


def _joined(file: Described, pieces: Sequence[Piece]) -> Piece:
    """One piece of several of a file."""
    return Piece(file, tuple(group for one in pieces for group in one.groups), sum(map(len, pieces)))


def _file(piece: Piece) -> Described:
    return piece.file


# -- what workers do ---------------------------------------------------------------------------------------------------


def tally_of(job: tuple[Plan, Any, int | None], part: Part) -> Tally:
    """The tally of one part; a file that is not what it was when it was described is an error."""
    plan, names, order = job
    tally = Tally.of(plan, names, order=order, expected=len(part))
    rows = tally.batch_rows(len(part), 1)
    needed = [arm.needed for arm in tally.arms]
    for piece in part.pieces:
        _check_unchanged(piece.file)
        for batch in part_batches(plan, piece.file.path, piece.groups, needed, rows, threads=False):
            tally.add_shown(len(batch), batch.shown, batch.arm)
        _check_unchanged(piece.file)
    return tally


def _check_unchanged(file: Described) -> None:
    if not file.path.is_file():
        raise ReportError(
            f"{file.path}: was there when counting began, and {node()}, which is to count it, does not find it. Was it "
            "removed, or is it where only the driver can look? Workers need a path or an address that they can open"
        )
    check_unchanged(file)
