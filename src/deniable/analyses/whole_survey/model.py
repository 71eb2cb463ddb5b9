"""A model of a whole survey: one table of every question, of which any margin can be asked, with its intervals."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan, prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.analyses.whole_survey.contrasts import Places, Terms
from deniable.analyses.whole_survey.evidence import SurveyEvidence
from deniable.analyses.whole_survey.fitted_group import FittedGroup
from deniable.analyses.whole_survey.left_out import LeftOut
from deniable.analyses.whole_survey.pair_tests import PairTests
from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import of_one_type
from deniable.estimates.estimate import Estimate
from deniable.files import Sources
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.reports.randomness import checked_generator
from deniable.survey.schema import Schema
from deniable.tables.table import About, Kind, Table
from deniable.text.fixed_phrases import how_many
from deniable.text.html import printed

if TYPE_CHECKING:
    import pyarrow as pa

# Margins of at most so many cells get intervals.
MOST_CELLS = 4096
# The table of a model's pairs.
GRAPH = Kind("chi_square", note="Tests of independence; in_model says whether the model holds the pair's interaction.")

# NEVER_ASKED is said below tables of features that nobody was asked together.
NEVER_ASKED = (
    "Nobody was asked both {} and {}: the model takes them as independent given the others, which no report can tell, "
    "so that there are no intervals."
)
# CAVEATS are said below tables with interactions of more features than are in the model or tested, by how many are.
CAVEATS = {
    2: "Where three answers depend on each other beyond their pairs, intervals hold less often than they say.",
    3: "Where four answers depend on each other beyond any three of them, intervals hold less often than they say.",
}


class Machine(Protocol):
    """A log-linear model, as whatever can be asked of its coefficients."""

    @property
    def terms(self) -> Terms:
        """Its terms."""

    def margin(self, coefficients: Array, places: Places) -> Array:
        """The table of some features."""

    def drawn(self, coefficients: Array, n: int, rng: np.random.Generator) -> list[npt.NDArray[Any]]:
        """The answers of n records that are drawn from the model, an array for each feature."""


class Spread(Protocol):
    """How far the margins of a fitted model vary."""

    def around(self, places: Places) -> tuple[Array, Array, Array]:
        """The covariance of the shares of a margin's cells; how far off they were unshrunk; their covariance then."""


@dataclass(frozen=True, repr=False)
class FitQuality:
    """How a model was fitted, how well it fits, and what it cannot tell.

    Examples
    --------
    >>> model = dn.fit(counts)
    >>> model.fit_quality.form, model.fit_quality.pairs
    ('whole table', 1)
    """

    form: str  # "whole table" or "junction tree"
    pairs: int  # whose interactions the model holds
    not_in_model: int  # pairs that were asked, and are not in it
    never_asked: int  # pairs that no arm asks together
    coefficients: int
    effective: float  # coefficients that shrinkage left, nan where that is not known
    strength: float  # of shrinkage: one over the prior variance of the logarithm of an interaction
    strength_of_three: float  # the same of interactions of three; infinite where the model has none
    risk: float  # Stein's, of the contrasts that the model holds, in units of the noise of one
    stderr: float  # of a contrast of the pair in the middle, before shrinkage
    order_because: str  # why interactions of three are in the model, or are not
    left_out: LeftOut
    freed: int = 0  # interactions with a prior variance of their own

    _repr_html_ = printed

    def __repr__(self) -> str:
        of_three = f" and {self.threes} threes" * (self.order > 2)
        strengths = f"{self.strength:g}" + f" and {self.strength_of_three:g}" * (self.order > 2)
        lines = [
            f"Log-linear model of {self.pairs} pairs{of_three}, {self.coefficients:,} coefficients, as a {self.form}.",
            f"Order {self.order}: {self.order_because}.",
            f"Shrunk by Stein's risk: strength {strengths}, {self.effective:.1f} coefficients left free. "
            f"Before it, an interaction has a standard error of about {self.stderr:.3f}.",
        ]
        if self.freed:
            lines.append(
                f"Larger than the prior of all others explains, and with one of their own: "
                f"{how_many(self.freed, 'interaction')}."
            )
        if self.not_in_model:
            lines.append(
                f"Not in the model, as nothing was seen of them or they did not fit: "
                f"{how_many(self.not_in_model, 'pair')}."
            )
        if self.never_asked:
            lines.append(
                f"Never asked together, taken as independent given the others, and so without intervals: "
                f"{how_many(self.never_asked, 'pair')}."
            )
        return "\n".join([*lines, self._third_order(), self._higher_order()])

    @property
    def threes(self) -> int:
        """How many sets of three features have their interactions in the model."""
        return len(self.left_out.held)

    @property
    def order(self) -> int:
        """The most features of which the model holds interactions: 3 where those of three pay by Stein's risk, or 2."""
        return 3 if self.threes else 2

    @property
    def judged_features(self) -> int:
        """The most features that a table may have for the model to be tested against what it leaves out there."""
        return 3 if self.left_out.known else 2

    def _higher_order(self) -> str:
        """What intervals of larger tables do not hold, in words."""
        return (
            f"Interactions of {self.judged_features + 1} and more are neither in the model nor tested: where answers "
            f"have them, intervals of tables of {self.judged_features + 1} and more hold less often than they say."
        )

    def _third_order(self) -> str:
        """What is known of interactions of three, in words."""
        left = self.left_out
        if not left.known:
            return "No block of three was asked: intervals hold what noise and shrinkage leave open."
        whose = "beyond pairs" if self.threes else "which the model leaves out"
        held = "that is not in the model" if self.threes else ""
        return (
            f"Interactions of three, {whose}: chi-square {left.statistic:,.0f} with "
            f"{left.degrees:,} degrees of freedom, p = {left.p_value:.2g}; intervals of three and more hold a "
            f"standard deviation of {np.sqrt(left.variance):.3f} for each{held and f' {held}'}{self._own_thirds()}."
        )

    def _own_thirds(self) -> str:
        """What is said of three features whose interactions are surely larger than those of others."""
        if not (own := self.left_out.own):
            return ""
        return f", and up to {np.sqrt(max(own.values())):.3f} for {len(own)} three that surely have more"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """One table of every question of a survey, fitted to all tables that were asked; `dn.fit` makes it.

    Examples
    --------
    >>> model = dn.fit(counts)
    >>> model
    <Model of smoker x age (8 cells), 20,000 reports: 1 pair, whole table>
    >>> round(float(model.project("smoker").cell(smoker=True).value), 2)
    0.3
    """

    schema: Schema
    n: int
    machine: Machine
    coefficients: Array
    spread: Spread
    evidence: SurveyEvidence
    pairs: PairTests
    fit_quality: FitQuality
    sources: Sources = field(default_factory=dict)

    def project(self, *names: str) -> Estimate:
        """The estimate of some features, in this order: the margin of the model, about the population.

        Its intervals hold what the noise of the answers, sampling and shrinkage leave open, and interactions of three
        and more as far as blocks of three say how large they are. Of features that nobody was asked together there are
        none.

        Parameters
        ----------
        *names
            One or more of the survey's features.

        Returns
        -------
        Estimate
            It answers what other estimates do, but for measures of association and tests of independence.

        Examples
        --------
        >>> model = dn.fit(counts)
        >>> model.project("age", "smoker").conditional("smoker", given="age").num_rows
        8
        """
        if len(names) == 1 and isinstance(names[0], list | tuple):
            names = tuple(names[0])
        if not names or len(set(names)) < len(names):
            raise EstimateError(f"project takes one or more different features; found {abbreviated(names)}")
        places = tuple(self.schema.index(name) for name in names)
        features = tuple(self.schema[name] for name in names)
        cells = prod(feature.levels for feature in features)
        if cells > MOST_CELLS:
            raise EstimateError(
                f"a table of {cells:,} cells is more than the {MOST_CELLS:,} that get intervals; ask for fewer "
                "features, or draw records with sample"
            )
        left, levels = self.fit_quality.left_out, tuple(feature.levels for feature in features)
        outside = left.covariance(places, levels)
        covariance, apart_from, loose = self.spread.around(places)
        shares, columns = self.machine.margin(self.coefficients, places), [len(one.columns) for one in features]
        before = shares + apart_from.reshape(shares.shape)
        apart = [(i, j) for i, j in combinations(range(len(places)), 2) if self._never_asked(places[i], places[j])]
        own = covariance + outside + left.of_shrinkage(places, levels)
        group = FittedGroup.of_shares(self.n, (shares, own), (before, loose + outside), columns, apart)
        return Estimate(features, (group,), "whole survey", fitted=group.truth, sources=self.sources)

    def table(self, *names: str, level: float = 0.95) -> Table:
        """All proportions of the table of some features with their intervals: `project(...).table()`.

        Parameters
        ----------
        *names
            One or more of the survey's features.
        level
            The confidence level of the intervals.

        Returns
        -------
        Table
            A row for each combination of answers: the features, proportion, stderr, low and high. A
            caveat stands below it if it has interactions that are neither in the model nor tested.

        Examples
        --------
        >>> model = dn.fit(counts)
        >>> model.table("smoker").column_names
        ['smoker', 'proportion', 'stderr', 'low', 'high']
        """
        est = self.project(*names)
        table, own = est.table(level=level), [feature.name for feature in est.features]
        apart = [
            pair for pair in combinations(own, 2) if self._never_asked(*(self.schema.index(name) for name in pair))
        ]
        if apart:
            first, second = apart[0]
            return Table(table.columns, table.keys, replace(table.about, caveat=NEVER_ASKED.format(first, second)))
        if len(own) <= (judged := self.fit_quality.judged_features):
            return table
        return Table(table.columns, table.keys, replace(table.about, caveat=CAVEATS[judged]))

    def _never_asked(self, first: int, second: int) -> bool:
        """Whether nobody was asked both of two features, by place."""
        return (min(first, second), max(first, second)) in self.pairs.never_asked

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> "pa.Table":
        """Synthetic records of all questions, drawn from the model.

        They follow the model, which came from randomized answers alone: they cost no more privacy.

        Parameters
        ----------
        n
            How many records to draw.
        rng
            A numpy Generator or a seed, for draws that can be repeated.

        Returns
        -------
        pyarrow.Table
            A row for each record and a column for each feature.

        Examples
        --------
        >>> model = dn.fit(counts)
        >>> model.sample(3, 1).column_names
        ['smoker', 'age']
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise EstimateError(f"sample takes how many records to draw, a whole number; found {abbreviated(n)}")
        rng = np.random.default_rng() if rng is None else checked_generator(rng, EstimateError)
        import pyarrow as pa

        drawn = self.machine.drawn(self.coefficients, int(n), rng)
        return pa.table(
            {
                feature.name: pa.array(of_one_type(feature.answers)).take(pa.array(codes))
                for feature, codes in zip(self.schema, drawn, strict=True)
            }
        )

    def measurements(self) -> list[tuple[tuple[str, ...], Array, float]]:
        """The tables that the model was fitted to, as noisy marginals for other tools, such as mbi (Private-PGM).

        They are unbiased, and not shrunk: cells may be below zero. Of features that one arm asks apart there is a table
        of each feature and of each pair, which have the same noise in common.

        Returns
        -------
        list of tuple
            Of each table its features, the estimated numbers of all n respondents in its cells, in C order of the
            features' answers, and the standard error of a cell: the root mean square over cells, at the model.

        Examples
        --------
        >>> model = dn.fit(counts)
        >>> features, cells, stderr = model.measurements()[0]
        >>> features, cells.shape
        (('smoker',), (2,))
        """
        names = self.schema.names
        return [
            (
                tuple(names[place] for place in part.places),
                self.n * part.shares,
                self.n * part.stderr(self.machine.margin(self.coefficients, part.places)),
            )
            for part in self.evidence.seen
        ]

    def graph(self) -> Table:
        """The pairs of features, surest association first: a test of independence, and whether the model holds them.

        Returns
        -------
        Table
            A row for each pair: first, second, chi_square, degrees, p_value and in_model; without a test for pairs that
            no arm asks together.

        Examples
        --------
        >>> model = dn.fit(counts)
        >>> model.graph().column_names
        ['first', 'second', 'chi_square', 'degrees', 'p_value', 'in_model']
        """
        names, kept = [feature.name for feature in self.schema], set(self.machine.terms.sets)
        rows: list[tuple[Any, ...]] = [
            (*(names[place] for place in one.pair), one.statistic, one.degrees, one.p_value, one.pair in kept)
            for one in sorted(self.pairs.tests, key=lambda one: (one.p_value, -one.statistic / one.degrees))
        ]
        rows += [(*(names[place] for place in pair), nan, 0, nan, False) for pair in self.pairs.never_asked]
        head = ("first", "second", "chi_square", "degrees", "p_value", "in_model")
        columns = (
            dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)) if rows else {one: [] for one in head}
        )
        about = About("pairs of the model", GRAPH, Subject.POPULATION, 0.95, self.n)
        return Table(columns, ("first", "second"), about)

    _repr_html_ = printed

    def __repr__(self) -> str:
        features, cells = list(self.schema), prod(feature.levels for feature in self.schema)
        named = " x ".join(feature.name for feature in features) if len(features) < 5 else f"{len(features)} features"
        pairs = f"{self.fit_quality.pairs} pair{'s' * (self.fit_quality.pairs != 1)}"
        if threes := self.fit_quality.threes:
            pairs += f" and {threes} three{'s' * (threes != 1)}"
        size = f"{cells:,}" if cells < 10**9 else f"{cells:.1e}"
        return f"<Model of {named} ({size} cells), {how_many(self.n, 'report')}: {pairs}, {self.fit_quality.form}>"
