"""Coverage of the intervals as they are printed: how often they hold the truth, over a grid of whole surveys.

The grid is over protocols, epsilons, numbers of respondents and numbers of features; each setting is repeated. The
cells of one survey are correlated, so the standard error of a coverage is that of a ratio of sums over surveys.
"""

import csv
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache, partial
from hashlib import sha256
from itertools import product
from math import nan, sqrt
from pathlib import Path

import numpy as np

from deniable import __version__
from deniable.errors import EstimateError
from deniable.inference.one_feature import Array
from deniable.text.progress import told
from deniable.validation import coverage_survey
from deniable.validation.coverage_survey import KINDS, Interval, Setting, questions
from deniable.validation.figure_files import write_csv
from deniable.validation.processes import spread

# EPSILONS are those of each feature.
EPSILONS = (1.0, 2.0, 4.0)
# SIZES are the numbers of respondents.
SIZES = (1_000, 10_000)
# ORDERS are the numbers of features.
ORDERS = (1, 2, 3)
# SURVEYS is how many surveys there are of each setting, and QUICK how many in a quick run.
SURVEYS, QUICK = 150, 8
# LEVEL is the confidence level of all intervals.
LEVEL = 0.95
# ANSWERED is the share of the intervals asked for that must be given for their coverage to be judged.
ANSWERED = 0.5


@dataclass(frozen=True)
class Held(Setting):
    """Coverage of the intervals of one question in many surveys: how many were asked for, given, and held the truth.

    `value` is the share of those given that held it, and `error` its standard error. For the errors of tables, question
    is `error of ...`, and value the root mean square error over cells.
    """

    version: str
    question: str
    surveys: int
    asked: int
    given: int
    value: float
    error: float

    @property
    def setting(self) -> Setting:
        """The setting that was repeated."""
        return Setting(self.kind, self.epsilon, self.n, self.order)

    @property
    def judged(self) -> bool:
        """Whether enough of the intervals asked for were given to judge their coverage."""
        return self.given >= ANSWERED * self.asked > 0


def measure(setting: Setting, surveys: int) -> list[Held]:
    """All questions that a setting allows, in so many surveys; the same whenever and wherever it is run."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    tallies: dict[str, list[Array]] = defaultdict(list)
    squares: dict[str, list[float]] = defaultdict(list)
    for _ in range(surveys):
        intervals, errors = _one_survey(setting, rng)
        for question, tally in _tally(intervals).items():
            tallies[question].append(tally)
        for method, error in errors.items():
            squares[method].append(error)
    coverages = [_coverage(setting, question, np.array(each)) for question, each in tallies.items()]
    return coverages + [_accuracy(setting, method, np.array(each)) for method, each in squares.items()]


def _one_survey(setting: Setting, rng: np.random.Generator) -> tuple[list[Interval], dict[str, float]]:
    """All intervals of one survey with their truths, and the mean square error of each method's table."""
    plan = coverage_survey.plan_for(setting.kind, setting.epsilon, setting.order)
    shares = coverage_survey.shares_for([feature.levels for feature in plan.schema])
    own, reports = coverage_survey.survey(plan, setting.n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of shows in the tally
        counts, found = coverage_survey.tables(plan, reports)
        intervals = [*coverage_survey.intervals_of_tables(found, own, shares)]
        if setting.order == 2:
            intervals += coverage_survey.joint_intervals(plan, counts, found, setting.n, rng)
    tables = {method: est.table()["proportion"].to_numpy().reshape(own.shape) for method, est in found.items()}
    return intervals, {method: float(np.mean((table - own) ** 2)) for method, table in tables.items()}


def _tally(intervals: Sequence[Interval]) -> dict[str, Array]:
    """How many intervals of each question were asked for, were given, and held the truth."""
    sums: dict[str, Array] = defaultdict(lambda: np.zeros(3))
    for question, truth, low, high in intervals:
        sums[question] += (1, low == low, low - 1e-12 <= truth <= high + 1e-12)
    return sums


def _coverage(setting: Setting, question: str, tallies: Array) -> Held:
    """The coverage of the intervals of one question, from the tally of each survey."""
    asked, given, held = tallies.T
    return _held(setting, question, len(tallies), int(asked.sum()), int(given.sum()), *_ratio(held, given))


def _accuracy(setting: Setting, method: str, squares: Array) -> Held:
    """The root mean square error of a method's tables, from the mean square error of each survey."""
    surveys, root = len(squares), sqrt(float(np.mean(squares)))
    error = float(np.std(squares)) / sqrt(surveys) / (2 * root) if root else 0.0
    return _held(setting, f"error of {method}", surveys, surveys, surveys, root, error)


def _held(of: Setting, question: str, surveys: int, asked: int, given: int, value: float, error: float) -> Held:
    return Held(of.kind, of.epsilon, of.n, of.order, _version(), question, surveys, asked, given, value, error)


def _ratio(held: Array, given: Array) -> tuple[float, float]:
    """A ratio of sums over surveys and its standard error; if all are alike, that of one interval in each survey."""
    if not given.sum():
        return nan, nan
    value = float(held.sum() / given.sum())
    error = float(np.sqrt(np.sum((held - value * given) ** 2)) / given.sum())
    return value, error or sqrt(LEVEL * (1 - LEVEL) / np.count_nonzero(given))


def settings(*, quick: bool) -> list[Setting]:
    """The settings of the grid; a quick grid has one epsilon and one size."""
    epsilons, sizes = (EPSILONS[1:2], SIZES[:1]) if quick else (EPSILONS, SIZES)
    return [Setting(*each) for each in product(KINDS, epsilons, sizes, ORDERS)]


def measured(path: Path, *, quick: bool) -> list[Held]:
    """The coverage grid, written to a file after every setting; what an earlier run has written is not done again."""
    surveys = QUICK if quick else SURVEYS
    todo = settings(quick=quick)
    earlier = _read(path, surveys, _version())
    found = {setting: earlier[setting] for setting in todo if setting in earlier}
    if found:
        again = f"remove {path.name} to do them again"
        print(f"{len(found)} of {len(todo)} settings of coverage are from an earlier run; {again}", file=sys.stderr)
    left = [setting for setting in todo if setting not in found]
    for setting, own in told(
        spread(partial(_measured, surveys=surveys), left, alone=quick), lambda each: _line(each, len(found), len(todo))
    ):
        found[setting] = own
        _write(_in_order(found, todo), path)
    return _in_order(found, todo)


def _in_order(found: dict[Setting, list[Held]], todo: Sequence[Setting]) -> list[Held]:
    """All that was found, in the order of the grid."""
    return [one for setting in todo for one in found.get(setting, [])]


@cache
def _version() -> str:
    """The key of what is measured: the version, and a hash of all code of the package, room by room."""
    return f"{__version__} {code_hash(Path(__file__).parents[1])}"


def code_hash(package: Path) -> str:
    """A hash of the names and contents of all Python files of a package, those in folders too."""
    code = sha256()
    for file in sorted(package.rglob("*.py")):
        code.update(f"{file.relative_to(package).as_posix()}\n".encode() + file.read_bytes())
    return code.hexdigest()[:12]


def _line(each: tuple[Setting, list[Held]], done: int, of: int) -> str:
    setting = each[0]
    return f"coverage, {done + 1} of {of} settings: {setting.kind}, epsilon {setting.epsilon:g}, N = {setting.n:,}"


def _measured(setting: Setting, surveys: int) -> tuple[Setting, list[Held]]:
    return setting, measure(setting, surveys)


def _write(found: Sequence[Held], path: Path) -> None:
    write_csv(path, [field.name for field in fields(Held)], map(astuple, found))


def check(path: Path) -> None:
    """Refuse a damaged file of an earlier run before anything is done."""
    _rows(path)


def _read(path: Path, surveys: int, version: str) -> dict[Setting, list[Held]]:
    """The settings that an earlier run of the same code with as many surveys has written in full."""
    found: dict[Setting, list[Held]] = defaultdict(list)
    for one in _rows(path):
        if one.surveys == surveys and one.version == version:
            found[one.setting].append(one)
    return {setting: own for setting, own in found.items() if [one.question for one in own] == questions(setting)}


def _rows(path: Path) -> list[Held]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [Held(**{f.name: f.type(row[f.name]) for f in fields(Held)}) for row in csv.DictReader(file)]  # type: ignore[operator]
        except (KeyError, ValueError, TypeError, csv.Error):
            raise EstimateError(f"{path}: is not of an earlier run; remove it, or take another folder") from None
