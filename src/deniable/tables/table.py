"""The table of results: what `est.table()`, `conditional`, `dn.associations`, `dn.compare` and regressions give.

It holds plain columns and makes an Arrow table of them only when it is asked for one. What scripts do with a
`pyarrow.Table` goes on working: each such method is written out here.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.inference.about_whom import Subject
from deniable.tables.rows_in_words import Written, in_words
from deniable.text import html
from deniable.text.fixed_phrases import answer_as_text, how_many
from deniable.text.tables import aligned

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.survey.schema import Feature

Column = Sequence[Any] | npt.NDArray[Any]

# SHOWN is how many rows `print` and a notebook show at most.
SHOWN = 100


@dataclass(frozen=True)
class Kind:
    """A kind of table: the column with the estimate, those with the ends of its interval, and those not printed."""

    value: str
    ends: tuple[str, str] = ("low", "high")
    hidden: tuple[str, ...] = ()
    note: str = ""  # said below a table
    percent: bool = True  # whether pictures have it in percent; otherwise in a unit of its own
    tested: bool = False  # whether zero means that there is nothing


SHARES = Kind("proportion")
CONDITIONAL = Kind("proportion", note="Shares among those with each answer that is given.")
CHANGES = Kind("difference", note="Differences are after less before.", tested=True)
DIFFERENCES = Kind("difference", tested=True)
COEFFICIENTS = Kind("coefficient", tested=True)
LOG_ODDS = Kind("coefficient", note="Coefficients are in log odds.", percent=False, tested=True)
MEANS = Kind("mean", percent=False)
DIFFERENCES_OF_MEANS = Kind("difference", percent=False, tested=True)
HOLM = "Each interval is by itself; p_holm allows for all contrasts (Holm)."
CONTRASTS = Kind("estimate", note=HOLM, tested=True)
CONTRASTS_OF_MEANS = Kind("estimate", note=HOLM, percent=False, tested=True)
WAVES = Kind("value", percent=False)
SHARES_BY_WAVE = Kind("value")
PAIRS = Kind(
    "effect",
    ("listed_low", "listed_high"),
    ("low", "high"),
    "Intervals, listed_low to listed_high, allow for the pairs being those that came out surest.",
    percent=False,
    tested=True,
)
# PICTURED are the kinds of tables that there are pictures of: all but cross-tabulations, which have no single value.
PICTURED = (
    SHARES, CONDITIONAL, CHANGES, DIFFERENCES, COEFFICIENTS, LOG_ODDS, MEANS, DIFFERENCES_OF_MEANS, CONTRASTS,
    CONTRASTS_OF_MEANS, WAVES, SHARES_BY_WAVE, PAIRS,
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """What a table is about: its title and kind, whom it is about, the confidence level, and how many reports."""

    title: str
    kind: Kind
    subject: Subject
    level: float
    reports: int
    intervals: str = ""  # what kind of intervals, if not ordinary confidence intervals
    respondents: int | None = None  # in all, where some of them may not have been asked all of it
    caveat: str = ""  # why intervals may hold less often than they say, as a sentence
    influence: float = nan  # the most that 1 % of crafted reports could move any of the results, where that is known
    reference: str = ""  # of a regression: the answers that all others are compared with
    among: str = ""  # which of them all results are about, if not everybody

    @property
    def caption(self) -> str:
        """About whom, at which level, from how many reports; and what may not hold."""
        about = f"About the {self.subject}; {self.intervals_in_words}; {self.reports_in_words}."
        among = f"{self.among[0].upper()}{self.among[1:]}." if self.among else ""
        return " ".join(part for part in (among, about, self.reference_in_words, self.caveat) if part)

    @property
    def reference_in_words(self) -> str:
        """Which answers all others are compared with, as a sentence; nothing if none are."""
        return f"Compared with {self.reference}." if self.reference else ""

    @property
    def intervals_in_words(self) -> str:
        """The intervals, with their level."""
        return f"{self.intervals} {100 * self.level:g}% intervals".lstrip()

    @property
    def reports_in_words(self) -> str:
        """How many reports, or how many of the respondents were asked, where not all were."""
        if self.respondents not in (None, self.reports):
            return f"{self.reports:,} of {self.respondents:,} respondents were asked this"
        return how_many(self.reports, "report")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of results, with whom it is about (`subject`), its confidence `level` and how many `reports` it is from.

    It prints, renders in a notebook, and is an Arrow table to whatever reads Arrow: `pyarrow.table(t)`,
    `polars.DataFrame(t)`. Iterating gives rows as dictionaries, `t["low"]` a column.

    Examples
    --------
    >>> t = est.project("age").about("population").table()
    >>> print(t)
    age    proportion  stderr     low    high
    18-29      0.2546  0.0050  0.2449  0.2645
    30-44      0.2407  0.0049  0.2311  0.2505
    45-64      0.2598  0.0050  0.2500  0.2696
    65+        0.2449  0.0050  0.2352  0.2547
    About the population; 95% intervals; 20,000 reports.
    >>> t.column_names, t.num_rows, t.subject
    (['age', 'proportion', 'stderr', 'low', 'high'], 4, 'population')
    """

    columns: Mapping[str, Column]
    keys: tuple[str, ...]  # the columns that name a row
    about: About
    features: tuple["Feature", ...] = ()  # the features that are keys, whose labels pictures have

    @property
    def subject(self) -> Subject:
        """Whom the results are about: "population" or "respondents"."""
        return self.about.subject

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.about.level

    @property
    def reports(self) -> int:
        """How many reports the results are from."""
        return self.about.reports

    @property
    def influence(self) -> float:
        """The most that any of the results could move if 1 % of the reports were forged; nan if that is unknown."""
        return self.about.influence

    # -- as it was: what a pyarrow.Table does --------------------------------------------------------------------------

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), ()))

    @property
    def num_columns(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return self.num_rows, self.num_columns

    @property
    def schema(self) -> "pa.Schema":
        """The names and types of the columns, for Arrow."""
        return self.to_arrow().schema

    def __len__(self) -> int:
        return self.num_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_pylist())

    def __getitem__(self, name: str | int) -> "pa.ChunkedArray":
        return self.column(name)

    def column(self, name: str | int) -> "pa.ChunkedArray":
        """A column by its name or place, as an Arrow array."""
        self._check_columns([name] if isinstance(name, str) else [])
        return self.to_arrow().column(name)

    def to_pydict(self) -> dict[str, list[Any]]:
        """The columns, by name, as lists."""
        return {name: _listed(column) for name, column in self.columns.items()}

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows, as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.to_pydict().values(), strict=True)]

    def select(self, names: Sequence[str]) -> "Table":
        """The table with these columns alone."""
        self._check_columns(names)
        return self._with({name: self.columns[name] for name in names})

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse names that no column has."""
        if missing := [name for name in names if name not in self.columns]:
            raise KeyError(f"no column {missing[0]!r}; there are {', '.join(map(repr, self.columns))}")

    def slice(self, offset: int = 0, length: int | None = None) -> "Table":
        """Some rows, from one of them on."""
        end = None if length is None else offset + length
        return self._with({name: column[offset:end] for name, column in self.columns.items()})

    def filter(self, mask: Any) -> "Table":
        """The rows that an Arrow expression or a mask of true and false keeps."""
        return self._with(self.to_arrow().filter(mask).to_pydict())

    def sort_by(self, by: Any) -> "Table":
        """The rows in the order of a column, `"proportion"`, or of several, `[("age", "ascending"), ...]`."""
        return self._with(self.to_arrow().sort_by(by).to_pydict())

    def equals(self, other: "Table | pa.Table") -> bool:
        """Whether another table has the same columns with the same content."""
        return bool(self.to_arrow().equals(other.to_arrow() if isinstance(other, Table) else other))

    def __eq__(self, other: object) -> bool:
        return self.about == other.about and self.equals(other) if isinstance(other, Table) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def titled(self, more: str) -> "Table":
        """The table with something more said in its title."""
        return replace(self, about=replace(self.about, title=f"{self.about.title}, {more}"))

    def _with(self, columns: Mapping[str, Column]) -> "Table":
        return replace(self, columns=columns, keys=tuple(name for name in self.keys if name in columns))

    # -- as others read it ---------------------------------------------------------------------------------------------

    def to_arrow(self) -> "pa.Table":
        """The table as a `pyarrow.Table`."""
        return self._arrow

    @cached_property
    def _arrow(self) -> "pa.Table":
        import pyarrow as pa

        return pa.table({name: pa.array(_of_one_type(_listed(column))) for name, column in self.columns.items()})

    def __getstate__(self) -> dict[str, Any]:
        kept = ("columns", "keys", "about", "features")  # not what was cached
        return {name: getattr(self, name) for name in kept}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of the Arrow C interface, which data frames read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas data frame; pandas must be installed."""
        _check_installed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """The table as a polars data frame; polars must be installed."""
        _check_installed("polars")
        import polars

        return polars.DataFrame(self.to_arrow())

    # -- as people look at it ------------------------------------------------------------------------------------------

    def wide(self, name: str, *, values: str | None = None) -> "Table":
        """A cross-tabulation: the answers to one feature side by side, a column each.

        Parameters
        ----------
        name
            The feature whose answers become columns; the others name the rows.
        values
            The column to show as numbers, such as "proportion" or "low". Without it cells are text, the estimate and
            half the length of its interval, "0.093 ± 0.006": an interval need not lie evenly around its estimate, and
            "low" and "high" have its ends.

        Returns
        -------
        Table
            A row for each combination of the other answers. Where there are not enough reports for an interval, or it
            says little, the text says so.

        Examples
        --------
        >>> print(est.about("population").table().wide("smoker"))
        age    no             yes
        18-29  0.157 ± 0.009  0.097 ± 0.007
        30-44  0.168 ± 0.009  0.072 ± 0.007
        45-64  0.186 ± 0.010  0.073 ± 0.007
        65+    0.184 ± 0.009  0.060 ± 0.007
        Columns: smoker. About the population; 95% intervals; 20,000 reports.
        """
        from deniable.tables.cross_tabs import wide

        return wide(self, name, values)

    def plot(self, kind: str | None = None, *, ax: "Axes | None" = None, path: str | Path | None = None) -> "Figure":
        """Draw the table: its estimates with their intervals, or a map of colours.

        Parameters
        ----------
        kind
            "intervals" draws every row with its interval; "map" a table of two features, or all pairs, in colours.
            Without it, intervals, but a map of many pairs or of very many rows.
        ax
            The matplotlib axes to draw on; without it, a new figure.
        path
            Where to save the picture, if anywhere: a name that ends in .png, .svg, .pdf or another format.

        Returns
        -------
        matplotlib.figure.Figure
            The picture, in the colours of matplotlib's current style, light or dark. It needs `deniable[report]`.

        Examples
        --------
        >>> figure = est.conditional("smoker", given="age").plot(path="smoker.svg")
        """
        from deniable.tables.pictures import plot

        return plot(self, kind, ax, path)

    def written(self, most: int | None = None) -> Written:
        """The table in words, or its first rows."""
        shown = [name for name in self.columns if name not in self.about.kind.hidden]
        return in_words(self.slice(0, most).to_pylist(), shown, self.about.kind.ends)

    @property
    def caption(self) -> str:
        """About whom, at which level and from how many reports, and what else is to be known of the numbers."""
        left_out = self.num_rows - SHOWN
        more = f"The first {SHOWN} of {self.num_rows:,} rows." if left_out > 0 else ""
        return " ".join(part for part in (more, self.about.kind.note, self.about.caption) if part)

    def __str__(self) -> str:
        from deniable.survey.describe import FILLED

        shown = self.written(SHOWN)
        lines = aligned(shown.head, shown.rows, numbers=shown.numbers, rule=False, colour=False)
        return "\n".join([*lines, *textwrap.wrap(self.caption, FILLED, break_on_hyphens=False)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = self.written(SHOWN)
        return html.table(shown.head, shown.rows, numbers=shown.numbers, title=self.about.title, caption=self.caption)


def _listed(column: Column) -> list[Any]:
    """A column as a list of Python's own values."""
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values that an Arrow column can hold: answers of a flag beside other words become words."""
    mixed = {bool, str} <= {type(value) for value in values}
    return [answer_as_text(value) for value in values] if mixed else values


def _check_installed(package: str) -> None:
    """Refuse at once if a package that this library does not need is not installed."""
    try:
        __import__(package)
    except ImportError:
        raise EstimateError(
            f"to_{package} needs {package}; install it with: pip install {package}. Without it, to_arrow(), "
            "to_pylist() and to_pydict() give the same rows"
        ) from None
