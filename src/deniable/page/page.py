"""The page about a survey, one self-contained HTML file: what was asked, what is promised, what the reports tell.

All numbers are the library's own results about the population, with their confidence intervals; the template
`page.html` sets them in words. The same counts give the same page.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deniable.counts.as_counts import as_counts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.files import check_ending, check_target, replacing
from deniable.page.blocks import Number
from deniable.page.chosen import choices, counted
from deniable.page.content import content
from deniable.text.width import isolated


def write_page(
    counts: Any,
    path: str | Path,
    *,
    show: Sequence[Any] = (),
    answered: bool = False,
    title: str | None = None,
    organisation: str | None = None,
    dates: str | None = None,
    contact: str | None = None,
    level: float = 0.95,
) -> None:
    """Write the page about a survey to an HTML file, whole or not at all.

    Parameters
    ----------
    counts
        Counts of every pair of features, as `dn.count(reports)` or `dn.count(reports, order=2)` gives them; of a plan
        with arms, of every pair that some arm asks; or reports, or a path to a file of either.
    path
        Where to write the page. A page that is there already is replaced once the new one is complete.
    show
        What comes first, whether it can be told from chance or not: a question, "smoker"; a table of several,
        ("smoker", "age"); or shares within groups, "smoker | age". Tables of three questions and more must be counted,
        unless reports are given.
    answered
        Whether what `show` names leaves missing answers out: shares among those who answered all its questions.
    title
        The title of the page.
    organisation, dates, contact
        Who made the survey, when people were asked, and whom to ask about it: words below the title.
    level
        The confidence level of all intervals.

    Examples
    --------
    >>> import tempfile
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=4.0)
    >>> reports = dn.randomize({"smoker": [True, False] * 200, "drinker": [True] * 400}, plan)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dn.write_page(reports, f"{folder}/survey.html", title="Smoking", show=["smoker | drinker"])
    """
    facts = {"title": title, "organisation": organisation, "dates": dates, "contact": contact}
    written(counts, path, show=show, answered=answered, level=level, **facts)


def written(
    counts: Any, path: str | Path, *, show: Sequence[Any], answered: bool, level: float, **facts: str | None
) -> int:
    """Write the page as `write_page` does, and say how many reports it is about."""
    check_target(path)
    check_ending(path, ".html", "a page is written to an HTML file")
    found = as_counts(counts)
    more = counted(counts, found, choices(found.plan.schema, show)) if isinstance(found, Counts) else None
    text = page(found, show=show, answered=answered, more=more, facts=facts, level=level)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return int(found.n)


def page(
    counts: Counts,
    *,
    title: str | None = None,
    facts: Mapping[str, str | None] | None = None,
    others: Mapping[str, int] = MappingProxyType({}),
    **of: Any,
) -> str:
    """The page about counts of every pair of features that some arm asks, as HTML text; for `of` see `content`.

    A collector gives how many reports of `others` it holds, plans by their fingerprints, which the counts leave out.
    """
    check_extra()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["isolated"] = isolated
    environment.tests["exact"] = lambda cell: isinstance(cell, Number)
    template = environment.from_string(files("deniable.page").joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(c=content(counts, facts={"title": title, **(facts or {})}, **of), others=others) + "\n"


def check_extra() -> None:
    """Refuse at once if a package that draws or sets the page is not installed."""
    for name in ("matplotlib", "jinja2"):
        try:
            __import__(name)
        except ImportError:
            raise EstimateError(f"the page needs {name}; install it with: pip install 'deniable[report]'") from None
