"""Randomizing many records at once: answers in, from memory or from files; reports out, in memory or to a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from deniable.errors import AnswerError, PlanError, abbreviated
from deniable.files import check_stopped, check_target
from deniable.kernels.perturb import Codes, Draws
from deniable.reports import answer_files, answers_in
from deniable.reports.answers_in import LeftOutError
from deniable.reports.arm_answers import Numbers, asked_codes, combined_codes, drawn_arms, given_arms
from deniable.reports.arm_groups import ArmGroups
from deniable.reports.fields import fields
from deniable.reports.parquet import PLAN_KEY, write
from deniable.reports.randomness import secure, seeded
from deniable.reports.reports import Reports, joined_tables, no_reports
from deniable.survey.plan import Plan
from deniable.text.progress import watched

# What an error adds to an answer that is missing where each record's arm is drawn, so that all answers are needed.
MAY_BE_LEFT_OUT = (
    ". If each record was asked one arm, name the column that says which, arm='...': answers to the questions of other "
    "arms may then be left out"
)


@overload
def randomize(
    data: Any, plan: Plan, *, rng: np.random.Generator | int | None = None, output: None = None, arm: str | None = None
) -> Reports: ...


@overload
def randomize(
    data: Any, plan: Plan, *, rng: np.random.Generator | int | None = None, output: str | Path, arm: str | None = None
) -> int: ...


def randomize(
    data: Any,
    plan: Plan,
    *,
    rng: np.random.Generator | int | None = None,
    output: str | Path | None = None,
    arm: str | None = None,
) -> Reports | int:
    """Randomize many records at once, each by itself, as its respondent's device would.

    Parameters
    ----------
    data : dataframe, mapping, list of dicts, path or list of paths
        The true answers: any dataframe, a mapping from names to columns, a list of records, or CSV and Parquet files.
        A null is the missing answer of a question that has one, and so is a question that a record of a list leaves
        out; of any other question it is an error.
        Files are named by a path, a glob such as `"answers/*.csv"`, a folder or a list of these. They are read a batch
        at a time, in the order of the list, those of a glob or a folder sorted by name.
    plan : Plan
        What is asked, and how each answer is randomized.
    rng : numpy.random.Generator or int, optional
        Makes the reports repeatable, for simulations and tests only. Each batch of a file is randomized as by a call of
        its own with this generator. Without it, randomness comes from a keystream keyed by the operating system at
        each call.
    output : str or Path, optional
        A Parquet file to write the reports to, whole or not at all; it must not be one of the files that are read.
        From files to a file, memory does not grow with the number of records.
    arm : str, optional
        Of a plan with arms, the column that holds the name of each record's arm, where respondents know it already;
        what a record's arm does not ask may be null, missing or anything. Without it each record's arm is drawn,
        before its answers are looked at, and only those to the arm's questions are. A plan whose arms are assigned
        needs it.

    Returns
    -------
    Reports or int
        The reports in the order of the records, of a plan with arms arm by arm; with `output`, how many were written
        to it.

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
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    work = _Work(plan, secure() if rng is None else seeded(rng), _checked_arm(plan, arm))
    try:
        return _reports_or_file(data, work, output)
    except LeftOutError as error:
        drawn = plan.has_arms and arm is None
        raise AnswerError(f"{error}{MAY_BE_LEFT_OUT if drawn else ''}") from None


def _reports_or_file(data: Any, work: "_Work", output: str | Path | None) -> Reports | int:
    """The randomized answers of data, from memory or files, in memory or in a file, of which it is how many."""
    plan = work.plan
    files = answer_files.found_files(data, *work.names) if answer_files.are_files(data) else None
    if output is not None:
        check_target(output, *files or ())
        return write(output, plan, work.from_files(files) if files else work.at_once(data))
    return _joined(plan, work.from_files(files)) if files else work.part(data)


def _checked_arm(plan: Plan, arm: Any) -> str | None:
    """The column that names each record's arm; refuse one that is not needed, or is missing."""
    if arm is None and plan.assigned:
        raise PlanError(
            "the arms of this plan are not drawn, they are assigned to respondents; say which column holds the name of "
            "each record's arm: randomize(..., arm='arm')"
        )
    if arm is not None and not plan.has_arms:
        raise PlanError(f"this plan has no arms, but a column of their names is given, arm={arm!r}; leave it out")
    if not isinstance(arm, str | None):
        raise PlanError(f"arm is the name of the column that holds each record's arm; found {abbreviated(arm)}")
    return arm


@dataclass(frozen=True, eq=False)
class _Work:
    """What is the same for all parts of the data: plan, draws, and the column of the arms' names, if there is one."""

    plan: Plan
    draws: Draws
    arm: str | None

    @property
    def names(self) -> tuple[Sequence[str], Sequence[str]]:
        """The columns that the data must have, and those that are looked at if they are there."""
        return (self.plan.schema.names, ()) if self.arm is None else ((self.arm,), self.plan.schema.names)

    def from_files(self, files: Sequence[Path]) -> Iterator[Reports]:
        """The randomized answers of files, a batch at a time; errors name the file and the row in it."""
        for batch in watched(answer_files.batches(files, *self.names), "records randomized"):
            try:
                part = self.part(batch.table, batch.first_row)
            except AnswerError as error:
                raise type(error)(f"{batch.path}: {error}") from None
            check_stopped()
            yield part

    def at_once(self, data: Any) -> Iterator[Reports]:
        """The randomized answers of records in memory, made when they are asked for."""
        yield self.part(data)

    def part(self, data: Any, first_row: int = 0) -> Reports:
        """The randomized answers of some records; `first_row` is the number of the first one in error messages."""
        if isinstance(data, Reports) or (isinstance(data, pa.Table) and PLAN_KEY in (data.schema.metadata or {})):
            raise AnswerError(
                "these are reports, randomized already; once more would spoil every estimate made of them"
            )
        plan = self.plan
        columns = answers_in.columns(_with_skipped(data, plan), *self.names)
        if not plan.has_arms:
            questions = {feature.name: feature.to_json() for feature in plan.schema}
            return _of_one(plan, lambda n: answers_in.encode(questions[n], columns[n], first_row), self.draws)
        if self.arm is None:
            numbers: Numbers = drawn_arms(plan, len(columns[plan.schema.names[0]]), self.draws)
        else:
            numbers = given_arms(plan, self.arm, columns[self.arm], first_row)
        return _of_arms(plan, asked_codes(plan, columns, numbers, first_row), self.draws)


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
