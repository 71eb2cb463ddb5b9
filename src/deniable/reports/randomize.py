"""Randomizing many records at once: answers in, from memory or from files; reports out, in memory or to a file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from deniable.errors import AnswerError, PlanError, abbreviated, refuse_weights
from deniable.files import check_ending, check_stopped, check_target
from deniable.files.stores import AnyFile
from deniable.kernels.perturb import Codes, Draws
from deniable.reports import answer_files, answers_in
from deniable.reports.answer_files import AnswerFile, Batch, Files, are_files, found_files
from deniable.reports.answers_in import LeftOutError
from deniable.reports.arm_answers import Numbers, asked_codes, combined_codes, drawn_arms, given_arms, taken
from deniable.reports.arm_columns import checked_arm
from deniable.reports.arm_groups import ArmGroups
from deniable.reports.engines.randomizing import is_distributed, randomize_on
from deniable.reports.fields import fields
from deniable.reports.parquet import PLAN_KEY, WRITTEN_TO, write
from deniable.reports.randomness import secure, seeded
from deniable.reports.reading import csv_files
from deniable.reports.reading.columns import codes as codes_of_column
from deniable.reports.reading.csv_files import CsvForm
from deniable.reports.reading.multi_select import in_one_column, tick_columns
from deniable.reports.reading.numbers_apart import warn_of_numbers_apart
from deniable.reports.reading.problems import LeftOut, Problems, problems_in, rows_in_words
from deniable.reports.reading.words import words_for_none
from deniable.reports.reports import Reports, joined_tables, no_reports
from deniable.survey.plan import Plan
from deniable.text.progress import watched

Places = Callable[[Sequence[int]], Sequence[str]]  # words for where rows are

# What an error adds to an answer that is missing where each record's arm is drawn, so that all answers are needed.
MAY_BE_LEFT_OUT = (
    "; if each record was asked one arm, name the column that says which, arm='...': answers to the questions of other "
    "arms may then be left out"
)


@overload
def randomize(
    data: Any,
    plan: Plan,
    *,
    rng: np.random.Generator | int | None = None,
    output: None = None,
    arm: str | None = None,
    na: Sequence[str] = (),
    keep_going: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    engine: None = None,
) -> Reports: ...


@overload
def randomize(
    data: Any,
    plan: Plan,
    *,
    rng: np.random.Generator | int | None = None,
    output: str | Path,
    arm: str | None = None,
    na: Sequence[str] = (),
    keep_going: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    engine: Any = None,
) -> int: ...


def randomize(
    data: Any,
    plan: Plan,
    *,
    rng: np.random.Generator | int | None = None,
    output: str | Path | None = None,
    arm: str | None = None,
    na: Sequence[str] = (),
    keep_going: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    engine: Any = None,
    weights: None = None,
) -> Reports | int:
    """Randomize many records at once, each by itself, as its respondent's device would.

    Parameters
    ----------
    data : dataframe, mapping, list of dicts, path or list of paths
        The true answers: any dataframe, a mapping from names to columns, a list of records, or CSV and Parquet files.
        A null is the missing answer of a question that has one, and so is a question that a record of a list leaves
        out; of any other question it is an error.
        A flag's column may have its own two words or the usual ones, `yes` and `no` in many languages; a multi-select
        question may be a column for each of its answers, or one by the question's name that holds lists, or text such
        as `"TV;Radio"`; a value of a choice may have other blanks and another case than its question lists.
        Files are named by a path, a glob such as `"answers/*.csv"`, a folder or a list of these. They are read a batch
        at a time, in the order of the list, those of a glob or a folder sorted by name.
    plan : Plan
        What is asked, and how each answer is randomized.
    rng : numpy.random.Generator or int, optional
        Makes the reports repeatable, for simulations and tests only. Each batch of a file is randomized as by a call of
        its own with this generator. Without it, randomness comes from a keystream keyed by the operating system at
        each call.
    output : str or Path, optional
        A Parquet file to write the reports to, whole or not at all; it must not be one of the files that are read. One
        that exists is replaced: reports of the same answers, drawn again, cost epsilon again.
        From files to a file, memory does not grow with the number of records.
    arm : str, optional
        Of a plan with arms, the column that holds the name of each record's arm, where respondents know it already;
        what a record's arm does not ask may be null, missing or anything. Without it, which a plan whose arms are
        assigned refuses, each record's arm is drawn before any answer is looked at, and only its questions' are.
    na : list of str, optional
        More words or numbers that stand for no answer, such as `"-9"`, beside `"NA"`, `"N/A"`, `"."` and empty cells.
    keep_going : bool
        Leave records out whose answers cannot be read, with a warning that says how many, instead of refusing all.
    delimiter, encoding : str, optional
        How CSV files are written; without them an obvious delimiter is found, and files are UTF-8, or marked as UTF-16.
    engine : dask.distributed.Client or SparkSession, optional
        Lets a cluster randomize files, or the parts of a Dask or Spark frame, to a new folder of files, `output`. A
        Spark frame brings its engine.
    weights : None
        A weight for each respondent is refused: reports do not say whose they are. `poststratify` weights strata.

    Returns
    -------
    Reports or int
        The reports in the order of the records, of a plan with arms arm by arm; with `output`, how many were written
        to it.

    Raises
    ------
    AnswerError
        Answers or columns do not fit their questions. The message tells of all problems of a file, by column and kind,
        with the line of the first one of each.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> reports = dn.randomize({"smoker": [True, False, True]}, plan)
    >>> len(reports)
    3

    Of a plan with arms each record is asked one of them; or a column says which one it was:

    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=1.0, arms=[["smoker"], ["drinker"]])
    >>> answers = {"asked": ["smoker", "drinker"], "smoker": [True, None], "drinker": [None, False]}
    >>> [len(one) for one in dn.randomize(answers, plan, arm="asked").arms]
    [1, 1]

    From a folder of CSV and Parquet files to one file of reports:

    >>> dn.randomize("answers/", plan, output="reports.parquet")  # doctest: +SKIP
    12000
    """
    refuse_weights(weights, AnswerError)
    options = {"arm": arm, "na": na, "keep_going": keep_going, "delimiter": delimiter, "encoding": encoding}
    made: Reports | int
    if engine is not None or is_distributed(data):
        if rng is not None:
            raise PlanError("what an engine randomizes is not repeatable: leave rng out")
        made, left_out = randomize_on(engine, data, plan, output, options)
    else:
        work = work_of(plan, options, rng)
        made = work.in_memory(data) if output is None else work.to_file(data, output)
        left_out = sum(work.left_out, start=LeftOut())
    left_out.warn()
    return made


def work_of(plan: Plan, options: Mapping[str, Any], rng: np.random.Generator | int | None = None) -> "Work":
    """What is the same for all parts of the data that `randomize` is given, from its options."""
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    form = CsvForm(options["delimiter"], options["encoding"])
    arm, na = checked_arm(plan, options["arm"]), words_for_none(options["na"])
    reading = Reading(arm, na, bool(options["keep_going"]), form)
    return Work(plan, secure() if rng is None else seeded(rng), reading, [], Counter())


def wanted_columns(plan: Plan, arm: str | None, there: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The columns that data with some columns must have for a plan, and those that are looked at if they are there."""
    together = in_one_column(plan.schema, there)
    names = [
        name
        for question, features in plan.schema.questions.items()
        for name in ([question] if question in together else [feature.name for feature in features])
    ]
    return (names, ()) if arm is None else ((arm,), names)


@dataclass(frozen=True)
class Reading:
    """How answers are read: the column of arms, words for no answer, whether bad records are left out, how CSV is."""

    arm: str | None
    na: tuple[str, ...]
    keep_going: bool
    form: CsvForm


@dataclass(frozen=True, eq=False)
class Work:
    """What is the same for all parts of the data: plan, draws, how answers are read; and what was left out of each."""

    plan: Plan
    draws: Draws
    reading: Reading
    left_out: list[LeftOut]
    ragged: Counter[str]  # rows of each CSV file with too many or too few cells

    def in_memory(self, data: Any) -> Reports:
        """The randomized answers of data, from memory or files."""
        with self.words_for_arms():
            return _joined(self.plan, self.from_files(self.files(data))) if are_files(data) else self.part(data)

    def to_file(self, data: Any, output: str | AnyFile) -> int:
        """Write the randomized answers of data, from memory or files, to a file; return how many there were."""
        with self.words_for_arms():
            files = self.files(data) if are_files(data) else None
            check_target(output, *(file.path for file in files or ()))
            check_ending(output, ".parquet", WRITTEN_TO)
            return write(output, self.plan, self.at_once([data]) if files is None else self.from_files(files))

    def files(self, data: Files) -> list[AnswerFile]:
        """The files of answers that paths mean, each of which has the columns that it must have."""
        return found_files(data, self.wanted, self.reading.form)

    @contextmanager
    def words_for_arms(self) -> Iterator[None]:
        """Say of an answer that is missing where each record's arm is drawn what would let it be left out."""
        try:
            yield
        except LeftOutError as error:
            drawn = self.plan.has_arms and self.reading.arm is None
            raise AnswerError(f"{error}{MAY_BE_LEFT_OUT if drawn else ''}") from None

    def wanted(self, there: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The columns that data with some columns must have, and those that are looked at if they are there."""
        return wanted_columns(self.plan, self.reading.arm, there)

    def from_files(self, files: Sequence[AnswerFile]) -> Iterator[Reports]:
        """The randomized answers of files, a batch at a time; errors name the file and lines in it."""
        every = iter(watched(answer_files.batches(files, self._leave_out), "records randomized"))
        for batch in every:
            try:
                part = self.part(batch.table, batch.first_row, batch.file.places)
            except AnswerError as error:
                raise self._told(error, batch, every) from None
            check_stopped()
            yield part
        if self.reading.keep_going:
            self.left_out.append(LeftOut(ragged=self.ragged.total()))
        for file in files if not self.reading.keep_going else ():
            if self.ragged[str(file.path)]:
                raise self._error(Problems({}), file)

    def _leave_out(self, file: AnswerFile) -> None:
        """Count a row with too many or too few cells."""
        self.ragged[str(file.path)] += 1

    def _told(self, error: AnswerError, batch: Batch, later: Iterable[Batch]) -> AnswerError:
        """An error with all problems of a file, from the batch in which the first one was found on."""
        found = self._problems(batch.table, batch.first_row)
        if not found:
            return type(error)(f"{batch.file.path}: {error}")
        for more in takewhile(lambda one: one.file is batch.file, later):
            found += self._problems(more.table, more.first_row)
        return self._error(found, batch.file)

    def _error(self, found: Problems, file: AnswerFile) -> AnswerError:
        """An error with the problems of a file, and its rows of another length."""
        count = self.ragged[str(file.path)] if not self.reading.keep_going else 0
        ragged = csv_files.ragged_in_words(file.path, file.form, count) if count and file.form else ""
        told = found.error(file.places, ragged)
        return type(told)(f"{file.path}: {told}")

    def _problems(self, data: Any, first_row: int = 0) -> Problems:
        """What is wrong with some records."""
        return problems_in(self.plan, self._columns(data), self.reading.arm, self.reading.na, first_row)[0]

    def at_once(self, batches: Iterable[Any]) -> Iterator[Reports]:
        """The randomized answers of records in memory that come in batches, made when they are asked for."""
        first_row = 0
        for data in batches:
            yield (part := self.part(data, first_row))
            first_row += len(part) + (self.left_out[-1].records if self.reading.keep_going else 0)

    def part(self, data: Any, first_row: int = 0, places: Places | None = None) -> Reports:
        """The randomized answers of some records; `first_row` is the number of the first one in error messages."""
        columns = self._columns(data)
        if first_row == 0:
            warn_of_numbers_apart(self.plan.schema, columns, self.reading.na)
        if self.reading.keep_going:
            columns = self._kept(columns)
        try:
            return self._randomized(columns, first_row)
        except AnswerError:
            if places is None and (found := self._problems(data, first_row)):
                raise found.error(rows_in_words) from None
            raise

    def _columns(self, data: Any) -> dict[str, Any]:
        """The columns of some records that are asked for, those of multi-select questions in one column split."""
        if isinstance(data, Reports) or (isinstance(data, pa.Table) and PLAN_KEY in (data.schema.metadata or {})):
            raise AnswerError(
                "these are reports, randomized already; once more would spoil every estimate made of them"
            )
        groups = len(self.plan.schema.questions) < len(self.plan.schema)
        columns = answers_in.columns(
            _with_skipped(data, self.plan), *self.wanted(answers_in.names_in(data) if groups else ())
        )
        for question, features in in_one_column(self.plan.schema, columns).items():
            columns |= tick_columns(question, features, columns[question])
        return columns

    def _kept(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns without the records that have a problem, which are counted."""
        rows = len(next(iter(columns.values())))
        found, bad = problems_in(self.plan, columns, self.reading.arm, self.reading.na)
        self.left_out.append(LeftOut(len(bad), rows, found.by_column))
        good = np.delete(np.arange(rows), bad)
        return {name: taken(column, good) for name, column in columns.items()} if len(bad) else columns

    def _randomized(self, columns: Mapping[str, Any], first_row: int) -> Reports:
        """The randomized answers of columns."""
        plan, arm, na = self.plan, self.reading.arm, self.reading.na
        if not plan.has_arms:
            return _of_one(plan, lambda n: codes_of_column(plan.schema[n], columns[n], first_row, na), self.draws)
        if arm is None:
            numbers: Numbers = drawn_arms(plan, len(columns[plan.schema.names[0]]), self.draws)
        else:
            numbers = given_arms(plan, arm, columns[arm], first_row)
        return _of_arms(plan, asked_codes(plan, columns, numbers, first_row, na), self.draws)


def _with_skipped(data: Any, plan: Plan) -> Any:
    """A list of records with null for each question that may be skipped and is not there; other data as they are."""
    names = [feature.name for feature in plan.schema if feature.missing is not None]
    if not names or not isinstance(data, Sequence) or not all(isinstance(record, Mapping) for record in data):
        return data
    return [dict.fromkeys(names) | dict(record) for record in data]


def _joined(plan: Plan, parts: Iterable[Reports]) -> Reports:
    """The reports of all parts, one after another; with arms, arm by arm."""
    tables: list[list[Any]] = [[] for _ in plan.arms]
    for part in parts:
        for waiting, own in zip(tables, part.arms, strict=True):
            if len(own):
                waiting.append(own.table)
    made = [
        Reports(arm, joined_tables(own)) if own else no_reports(arm) for arm, own in zip(plan.arms, tables, strict=True)
    ]
    return Reports.of_arms(plan, made)


def randomize_codes(codes: Iterable[Codes], plan: Plan, draws: Draws, arms: Numbers | None = None) -> Reports:
    """Randomize integer codes, an array for each feature of the plan's schema.

    With arms, each record is of the arm whose number is given, or else drawn first; only what it asks is looked at.
    """
    given = dict(zip(plan.schema.names, codes, strict=True))
    if not plan.has_arms:
        return _of_one(plan, given.__getitem__, draws)
    numbers = drawn_arms(plan, len(given[plan.schema.names[0]]), draws) if arms is None else np.asarray(arms)
    groups = ArmGroups.of(numbers, len(plan.arms))
    own = (
        {name: groups.array(given[name], number) for name in arm.schema.names} if groups.size(number) else {}
        for number, arm in enumerate(plan.arms)
    )
    return _of_arms(plan, own, draws)


def _of_arms(plan: Plan, codes: Iterable[Mapping[str, Codes]], draws: Draws) -> Reports:
    """The reports of each arm from its own codes, by the features' names; none for an arm that has no records."""
    parts = [
        _of_one(arm, own.__getitem__, draws) if own else no_reports(arm)
        for arm, own in zip(plan.arms, codes, strict=True)
    ]
    return Reports.of_arms(plan, parts)


def _of_one(plan: Plan, codes_of: Callable[[str], Codes], draws: Draws) -> Reports:
    """The reports of a plan without arms, block by block; a feature's codes are asked for when its turn comes."""
    arrays: dict[str, Any] = {}
    for block, field in zip(plan.blocks, fields(plan).values(), strict=True):
        codes = combined_codes([codes_of(name) for name in block.names], block.levels)
        arrays |= zip(field.names, field.arrays(block.protocol.randomize(codes, draws), len(codes)), strict=True)
    return Reports(plan, pa.table(arrays))
