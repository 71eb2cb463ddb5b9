"""A file of a plan, of reports or of counts, opened: the plan in it, how large it is, and what was checked.

What a file is, its first bytes say, not its name. All of it is read: a file that was changed, that is damaged, or whose
reports do not fit their plan is refused with the reason.
"""

from dataclasses import dataclass

from deniable.analyses.fit.check import influence_by_feature, points_in_words
from deniable.counts.count import count
from deniable.counts.counts import Counts
from deniable.counts.fit import fits
from deniable.counts.sources import find_files, plan_and_total
from deniable.errors import DeniableError
from deniable.estimates.designs.groups import arm_sizes
from deniable.files import file_size
from deniable.files.stores import file_at
from deniable.survey.plan import Plan
from deniable.text.fixed_phrases import how_many

# PARQUET and ZIP are the first bytes of files of reports and of counts.
PARQUET, ZIP = b"PAR1", b"PK"
# OTHERS says of files that hold no plan what to do with them, by their endings.
OTHERS = {
    ".toml": "a survey file promises nothing yet: `deniable plan` makes a plan of it",
    ".csv": "these are answers, or results: show takes a plan, reports or counts",
    ".sig": "a signature promises nothing by itself: `deniable verify` checks it against its plan",
    ".ndjson": "rows of a pipe: `deniable collect` makes reports of them",
    ".db": "a collector's store: `deniable serve` opens it, and gives its counts and reports",
    ".html": "open a page in a browser: show takes a plan, reports or counts",
}


@dataclass(frozen=True)
class Opened:
    """What a file, or several files of reports, hold: "plan", "reports" or "counts", and what was checked."""

    path: str
    kind: str
    files: int
    size: int  # in bytes
    plan: Plan
    counts: Counts | None  # what was counted: of reports, what `count` does without names
    checks: tuple[str, ...]

    @property
    def in_one_line(self) -> str:
        """The name of the file, what it is, and its size."""
        of = "" if self.counts is None else f" of {how_many(self.counts.n, 'report')}"
        what = {"plan": "a plan", "reports": "reports", "counts": "counts"}[self.kind]
        if self.kind == "reports" and self.counts is not None:
            what, of = how_many(self.counts.n, "report"), ""
        files = f" in {self.files:,} files" if self.files > 1 else ""
        return f"{self.path}: {what}{of}{files}, {self.size:,} bytes"


def opened(path: str) -> Opened:
    """Open and check a file of a plan, reports or counts, or a folder or glob of files of reports."""
    there = file_at(path)
    if not there.is_file():
        return _reports(path)
    try:
        with there.open("rb") as file:
            first = file.read(4)
    except OSError as error:
        raise DeniableError(f"{path}: cannot be read: {error.strerror}") from None
    if first == PARQUET:
        return _reports(path)
    if first.startswith(ZIP):
        return _counts(path)
    if instead := OTHERS.get(there.suffix.lower()):
        raise DeniableError(f"{path}: {instead}")
    plan = Plan.load(path)
    return Opened(path, "plan", 1, file_size(path), plan, None, _of_plan())


def _of_plan() -> tuple[str, ...]:
    """What reading a plan has checked."""
    return (
        "The fingerprint is that of the plan's content: nobody changed one without the other.",
        "Epsilon follows from the probabilities, worked out again in exact fractions.",
    )


def _reports(path: str) -> Opened:
    files = find_files(path)
    plan, total = plan_and_total(files)
    counts = count(files)
    assert counts.n == total  # every report was read
    checks = (*_of_plan(), f"{how_many(total, 'report')} read, each of them one that the plan can give.")
    return Opened(path, "reports", len(files), sum(map(file_size, files)), plan, counts, checks + _fit(counts))


def _counts(path: str) -> Opened:
    counts = Counts.load(path)
    checks = (*_of_plan(), "All tables agree with each other on how many reports there are and what they show.")
    return Opened(path, "counts", 1, file_size(path), counts.plan, counts, checks + _fit(counts))


def _fit(counts: Counts) -> tuple[str, ...]:
    """The check of fit: whether the reports can come from devices that followed the plan; and the sizes of arms."""
    sizes = [f"Sizes of arms against their shares: {arm_sizes(counts)}."] if counts.plan.has_arms and counts.n else []
    return (*(f"Check of fit, {test}." for test in fits(counts)), *sizes, *_forged(counts))


def _forged(counts: Counts) -> tuple[str, ...]:
    """How far forged reports could move the shares of each question."""
    moved = influence_by_feature(counts)
    if not moved:
        return ()
    each = ", ".join(f"{name} {points_in_words(one)}" for name, one in moved.items())
    return (f"If 1% of the reports were forged, a share could move by up to: {each}.",)
