"""What the page says of whether reports fit their plan, and of how far forged reports could move its shares."""

from dataclasses import dataclass

from deniable.analyses.fit.check import check, points_in_words
from deniable.counts.counts import Counts
from deniable.page.blocks import Table
from deniable.survey.describe import distinct_titles


@dataclass(frozen=True)
class Checked:
    """The tests of fit, whether all of them fit, and the influence of forged reports by question."""

    fits: bool
    tests: Table
    influence: Table


def checked(counts: Counts) -> Checked:
    """The check of fit of counts, as tables."""
    found, titles = check(counts), distinct_titles(counts.plan.schema)
    results = ((one, "fits" if one.fits else f"DOES NOT FIT: {one.worst}") for one in found.tests)
    tests = Table(
        "Tests of whether the reports fit their plan, each with a false-alarm rate below 1 in 1 000",
        ("test", "result", "tests"),
        tuple((one.kind, result, f"{one.tests:,}") for one, result in results),
        words=2,
    )
    influence = Table(
        "How far a share could move if 1% of the reports were forged",
        ("question", "at most"),
        tuple((titles[name], points_in_words(one)) for name, one in found.influence.items()),
    )
    return Checked(found.fits, tests, influence)
