"""The page about a survey, one self-contained HTML file: what was asked, what is promised, what the reports tell.

All numbers are the library's own results about the population, with their confidence intervals; the template
`page.html` sets them in words. The same counts give the same page.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

from deniable.counts.as_counts import as_counts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.files import check_target, replacing
from deniable.page.blocks import Number
from deniable.page.content import content
from deniable.text.width import isolated


def write_page(counts: Any, path: str | Path, *, title: str | None = None, level: float = 0.95) -> None:
    """Write the page about a survey to an HTML file, whole or not at all.

    Parameters
    ----------
    counts
        Counts of every pair of features, as `dn.count(reports)` or `dn.count(reports, order=2)` gives them; of a plan
        with arms, of every pair that some arm asks; or reports, or a path to a file of either.
    path
        Where to write the page. A page that is there already is replaced once the new one is complete.
    title
        The title of the page.
    level
        The confidence level of all intervals.

    Examples
    --------
    >>> import tempfile
    >>> import deniable as dn
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=4.0)
    >>> reports = dn.randomize({"smoker": [True, False] * 200, "drinker": [True] * 400}, plan)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(dn.count(reports, order=2), f"{folder}/survey.html", title="Smoking and drinking")
    """
    check_target(path)
    counts = as_counts(counts)
    text = page(counts, title=title, level=level)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(counts: Counts, *, title: str | None = None, level: float = 0.95) -> str:
    """The page about counts of every pair of features that some arm asks, as HTML text."""
    check_extra()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["isolated"] = isolated
    environment.tests["exact"] = lambda cell: isinstance(cell, Number)
    template = environment.from_string(files("deniable.page").joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(c=content(counts, title=title, level=level)) + "\n"


def check_extra() -> None:
    """Refuse at once if a package that draws or sets the page is not installed."""
    for name in ("matplotlib", "jinja2"):
        try:
            __import__(name)
        except ImportError:
            raise EstimateError(f"the page needs {name}; install it with: pip install 'deniable[report]'") from None
