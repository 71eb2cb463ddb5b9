"""Randomizing many records at once: answers in, from memory or from files; reports out, in memory or to a file."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from deniable.errors import AnswerError, PlanError, abbreviated
from deniable.files import check_stopped, check_target
from deniable.kernels.perturb import Codes, Draws
from deniable.reports import answer_files, answers_in
from deniable.reports.fields import fields
from deniable.reports.parquet import PLAN_KEY, file_schema, write
from deniable.reports.randomness import secure, seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.text.progress import watched


@overload
def randomize(data: Any, plan: Plan, *, rng: np.random.Generator | None = None, output: None = None) -> Reports: ...


@overload
def randomize(data: Any, plan: Plan, *, rng: np.random.Generator | None = None, output: str | Path) -> int: ...


def randomize(
    data: Any, plan: Plan, *, rng: np.random.Generator | None = None, output: str | Path | None = None
) -> Reports | int:
    """Randomize many records at once, each by itself, as its respondent's device would.

    Parameters
    ----------
    data : dataframe, mapping of columns, list of dicts, path or list of paths
        The true answers: any dataframe, a mapping from names to columns, a list of records, or CSV and Parquet files.
        Files are named by a path, a glob such as `"answers/*.csv"`, a folder or a list of these. They are read a batch
        at a time, in the order of the list, those of a glob or a folder sorted by name.
    plan : Plan
        What is asked, and how each answer is randomized.
    rng : numpy.random.Generator, optional
        Makes the reports repeatable, for simulations and tests only. Each batch of a file is randomized as by a call of
        its own with this generator. Without it, randomness comes from a keystream keyed by the operating system at
        each call.
    output : str or Path, optional
        A Parquet file to write the reports to, whole or not at all; it must not be one of the files that are read.
        From files to a file, memory does not grow with the number of records.

    Returns
    -------
    Reports or int
        The reports in the order of the records; with `output`, how many were written to it.

    Raises
    ------
    AnswerError
        An answer or a column does not fit its question. The message names the column and the row, and the file.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> reports = dn.randomize({"smoker": [True, False, True]}, plan)
    >>> len(reports)
    3

    From a folder of CSV and Parquet files to one file of reports:

    >>> dn.randomize("answers/", plan, output="reports.parquet")  # doctest: +SKIP
    12000
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    draws = secure() if rng is None else seeded(rng)
    files = answer_files.found_files(data, plan.schema.names) if answer_files.are_files(data) else None
    if output is not None:
        check_target(output, *files or ())
        return write(output, plan, _from_files(files, plan, draws) if files else _at_once(data, plan, draws))
    return _joined(plan, _from_files(files, plan, draws)) if files else randomize_part(data, plan, draws)


def _from_files(files: Sequence[Path], plan: Plan, draws: Draws) -> Iterator[Reports]:
    """The randomized answers of files, a batch at a time; errors name the file and the row in it."""
    for batch in watched(answer_files.batches(files, plan.schema.names), "records randomized"):
        try:
            part = randomize_part(batch.table, plan, draws, first_row=batch.first_row)
        except AnswerError as error:
            raise AnswerError(f"{batch.path}: {error}") from None
        check_stopped()
        yield part


def _at_once(data: Any, plan: Plan, draws: Draws) -> Iterator[Reports]:
    """The randomized answers of records in memory, made when they are asked for."""
    yield randomize_part(data, plan, draws)


def _joined(plan: Plan, parts: Iterable[Reports]) -> Reports:
    """The reports of all parts, one after another."""
    tables = [part.table for part in parts]
    return Reports(plan, pa.concat_tables(tables) if tables else file_schema(plan).empty_table())


def randomize_part(data: Any, plan: Plan, draws: Draws, first_row: int = 0) -> Reports:
    """Randomize some records with given draws; `first_row` is the number of the first record in error messages."""
    if isinstance(data, Reports) or (isinstance(data, pa.Table) and PLAN_KEY in (data.schema.metadata or {})):
        raise AnswerError("these are reports, randomized already; once more would spoil every estimate made of them")
    columns = answers_in.columns(data, plan.schema.names)
    codes = (answers_in.encode(feature.to_json(), columns[feature.name], first_row) for feature in plan.schema)
    return randomize_codes(codes, plan, draws)


def randomize_codes(codes: Iterable[Codes], plan: Plan, draws: Draws) -> Reports:
    """Randomize integer codes, an array for each feature."""
    arrays: dict[str, Any] = {}
    for coded, protocol, field in zip(codes, plan.protocols, fields(plan).values(), strict=True):
        arrays |= zip(field.names, field.arrays(protocol.randomize(coded, draws), len(coded)), strict=True)
    return Reports(plan, pa.table(arrays))
