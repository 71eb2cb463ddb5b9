"""What the page says of whether reports fit their plan, and of how far crafted reports could move its shares."""

from dataclasses import dataclass
from math import isnan

from deniable.analyses.fit.check import check
from deniable.counts.counts import Counts
from deniable.page.blocks import Table
from deniable.survey.describe import distinct_titles


@dataclass(frozen=True)
class Checked:
    """The tests of fit, whether all of them fit, and the influence of crafted reports by question."""

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
        "The most that 1% of crafted reports could move a share",
        ("question", "percentage points"),
        tuple((titles[name], "unknown" if isnan(one) else f"{100 * one:.1f}") for name, one in found.influence.items()),
    )
    return Checked(found.fits, tests, influence)
