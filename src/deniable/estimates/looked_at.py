"""An estimate as people look at it: a picture, a notebook, a summary in lines of text; methods of `Estimate`."""

from math import isnan, prod
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import names_of
from deniable.estimates.interface import AnyEstimate
from deniable.estimates.weighted_sums import table
from deniable.inference.intervals import checked_level
from deniable.survey.describe import answer_in_words
from deniable.tables.table import SHOWN
from deniable.text import html
from deniable.text.fixed_phrases import NOT_ENOUGH, forged_in_words, how_many
from deniable.text.tables import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(
    est: AnyEstimate,
    kind: str | None = None,
    *,
    level: float = 0.95,
    ax: "Axes | None" = None,
    path: str | Path | None = None,
) -> "Figure":
    """Draw the table of proportions with their confidence intervals.

    Parameters
    ----------
    kind
        "intervals", or "map" for a table of two features or more in colours; what suits the table without it.
    level
        The confidence level of the intervals.
    ax
        The matplotlib axes to draw on; without it, a new figure.
    path
        Where to save the picture, if anywhere.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, in the colours of matplotlib's current style, light or dark. It needs `deniable[report]`.

    Examples
    --------
    >>> figure = est.plot(path="smoker.png")
    """
    return table(est, level=level).plot(kind, ax=ax, path=path)


def in_notebook(est: AnyEstimate) -> str:
    """An estimate in a notebook: what it is, and its table if that is short enough to be looked at."""
    said = html.printed(repr(est))
    if prod(len(feature.answers) for feature in est.features) > SHOWN:
        return said
    try:
        return said + table(est)._repr_html_()
    except EstimateError:  # a feature is called as one of the table's own columns
        return said


class _Named(AnyEstimate, Protocol):
    """What a summary needs to know of an estimate."""

    @property
    def method(self) -> str:
        """How it was made."""

    @property
    def asked(self) -> int:
        """How many respondents were asked these features."""


def summary(est: _Named, level: float = 0.95) -> str:
    """The shares of each feature's answers with their intervals, as lines of text.

    Parameters
    ----------
    level
        The confidence level of the intervals.

    Returns
    -------
    str
        Whom it is about, the level and the number of reports in the first line, then a table for each feature, and last
        how far forged reports could move a share.

    Examples
    --------
    >>> print(est.project("smoker").summary())
    Estimate (consistent) of smoker, about the population; 95% intervals; 20,000 reports.
    <BLANKLINE>
    smoker   share      SE     low    high
    ------  ------  ------  ------  ------
    no      0.6966  0.0044  0.6879  0.7052
    yes     0.3034  0.0044  0.2948  0.3121
    <BLANKLINE>
    If 1% of the reports were forged, a share could move by up to 0.013.
    """
    what = f"Estimate ({est.method}) of {' x '.join(names_of(est.features))}, about the {est.subject}"
    some = f"{est.asked:,} of {est.n:,} respondents were asked this"
    reports = how_many(est.asked, "report") if est.asked == est.n else some
    lines = [f"{what}; {100 * checked_level(level):g}% intervals; {reports}."]
    moved = []
    for feature in est.features:
        rows, own = [], table(est.project(feature.name), level=level)
        moved.append(own.influence)
        for row in own.to_pylist():
            share, error, low, high = (row[name] for name in ("proportion", "stderr", "low", "high"))
            ends = [NOT_ENOUGH, None] if isnan(low) else [f"{low:.4f}", f"{high:.4f}"]
            rows.append([answer_in_words(feature, row[feature.name]), f"{share:.4f}", f"{error:.4f}", *ends])
        head = (feature.name, "share", "SE", "low", "high")
        lines += ["", *aligned(head, rows, numbers=range(1, 5), rule=True, colour=False)]
    forged = forged_in_words(max(moved))
    return "\n".join([*lines, "", forged] if forged else lines)
