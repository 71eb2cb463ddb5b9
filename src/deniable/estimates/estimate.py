"""Estimates of the true answers' tables, with their covariance in closed form.

`estimate` inverts the counts axis by axis (`tensors`). Exactly unbiased estimates may be negative or above N: they are
kept as they are. Estimates of disjoint groups of respondents add, whatever their plans: counts and covariances add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from deniable.counts.checks import warn_of_kept
from deniable.errors import EstimateError, refuse_weights
from deniable.estimates import looked_at, ratios_of_shares, weighted_sums
from deniable.estimates import posterior as posterior_draws
from deniable.estimates.answer_groups import among, conditional_shares, contrasts, means, merge, strata
from deniable.estimates.answers_as_weights import Features, names_of, places_of, shown_entries
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.from_counts import read_counts
from deniable.estimates.feasible import ProperTable
from deniable.estimates.given import known_margins
from deniable.estimates.given import subject as given_subject
from deniable.estimates.given.equalities import Condition
from deniable.estimates.given.known_margins import with_shrunk, with_table
from deniable.estimates.interface import Respondents, same, total
from deniable.estimates.pairs import association as pair_association
from deniable.estimates.proper_tables.shrunk_interactions import ShrunkOrder
from deniable.estimates.respondent_group import margin
from deniable.files import Sources, joined_sources
from deniable.inference.about_whom import Subject, checked_subject
from deniable.inference.one_feature import Array
from deniable.inference.results import Homogeneity
from deniable.text.completion import hiding
from deniable.text.fixed_phrases import how_many


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The estimated truth of some features: tensors like `Counts.array`'s, in respondents, with their covariance.

    It is about the population that the respondents were drawn from (sampling and randomizing), or with
    `about("respondents")` about these alone (the noise of randomizing). Only of proper tables mean and intervals are of
    two estimators.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "45-64", "65+"])])
    >>> plan = dn.Plan(schema, epsilon=4.0)
    >>> young, old = {"smoker": 0.4, "age": [0.4, 0.3, 0.2, 0.1]}, {"smoker": 0.2, "age": [0.1, 0.2, 0.3, 0.4]}
    >>> of = dn.simulate.truth(schema, [(0.5, young), (0.5, old)])
    >>> reports = dn.simulate.reports(of, plan, 20_000, np.random.default_rng(1))
    >>> counts = dn.count(reports, ["smoker", "age"])
    >>> est = dn.estimate(counts, ["smoker", "age"])
    >>> est
    <Estimate (consistent) of smoker x age, 20,000 reports, about the population>
    >>> est.n, est.asked, est.mean.shape
    (20000, 20000, (2, 5))
    """

    features: Features
    groups: tuple[Respondents, ...]
    method: str
    subject: Subject = Subject.POPULATION
    conditions: tuple[Condition, ...] = ()
    fitted: Array | None = None  # a proper table with its margins, in respondents, if that is what is asked for
    proper: ProperTable | None = None  # where that comes from, while it can be fitted again
    shrinkage: tuple[ShrunkOrder, ...] = ()  # of the interactions of each order, in the table that was shrunk
    agreement: Homogeneity | None = None  # of the surveys that were combined, if there are several
    sources: Sources = field(default_factory=dict, compare=False)  # whose reports these are
    kept: bool = field(default=False, compare=False)  # whether they are of a plan that keeps answers

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in the order of the axes."""
        return names_of(self.features)

    @property
    def n(self) -> int:
        """How many respondents there are, whether or not they were asked these features."""
        return sum(group.n for group in self.groups)

    @property
    def asked(self) -> int:
        """How many respondents were asked these features: those whose reports the estimate is made from."""
        return sum(group.asked for group in self.groups)

    @cached_property
    def truth(self) -> Array:
        """Estimated numbers of respondents, with an entry for each evidence column of an axis."""
        truth = (total([group.truth for group in self.groups]) if self.fitted is None else self.fitted).view()
        truth.setflags(write=False)  # it is the groups' own
        return truth

    @cached_property
    def mean(self) -> Array:
        """Estimated numbers of respondents by (not looked at, value 1, ...), of a flag (not looked at, True)."""
        return shown_entries(self.features, self.truth)

    @cached_property
    def variance(self) -> Array:
        """The estimated variance of each entry of `mean`; negative where there are not enough reports."""
        return shown_entries(self.features, total([group.variances(self.subject) for group in self.groups]))

    @property
    def mean_from(self) -> str:
        """The estimator that `mean` and all values are of."""
        return self.method

    @property
    def intervals_from(self) -> str:
        """The estimator that intervals are of: of proper tables and joint results of likelihood the consistent one."""
        if self.fitted is None:
            return self.method
        return "; ".join(dict.fromkeys(group.intervals_from for group in self.groups))

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """A test of whether the arms, or the surveys that were combined, agree; None where there is nothing to agree.

        Examples
        --------
        >>> later = dn.simulate.counts(of, plan, np.random.default_rng(2), n=30_000)
        >>> dn.estimate([counts, later], ["smoker", "age"]).homogeneity.degrees
        7
        """
        over_arms = [group.seen.homogeneity for group in self.groups if isinstance(group, ArmsGroup)]
        return over_arms[0] if self.agreement is None and len(self.groups) == len(over_arms) == 1 else self.agreement

    # Weighted sums of entries, with their intervals: those of one cell, of any weights, of all cells.
    covariance = weighted_sums.covariance
    covariance_of = weighted_sums.covariance_of
    cell = weighted_sums.cell
    linear = weighted_sums.linear
    table = weighted_sums.table
    summary = looked_at.summary
    plot = looked_at.plot
    _repr_html_ = looked_at.in_notebook
    # Ratios of shares, with their intervals.
    conditional = conditional_shares.conditional
    difference = ratios_of_shares.difference
    ratio = ratios_of_shares.ratio
    odds_ratio = ratios_of_shares.odds_ratio
    correlation = ratios_of_shares.correlation
    # Groups of answers, and what is asked of them.
    merge = merge.merge
    among = among.among
    mean_of = means.mean_of
    contrasts = contrasts.contrasts
    # What is known beforehand: margins, empty cells, the shares of strata.
    given = known_margins.given
    poststratify = strata.poststratify
    # The association of two features.
    association = pair_association.association
    independence = pair_association.independence
    # Whom it is about.
    about = given_subject.about
    # Draws from proper tables.
    posterior = posterior_draws.posterior
    sample = posterior_draws.sample

    def project(self, *names: str) -> "Estimate":
        """The estimate of fewer features (a margin), in this order.

        Parameters
        ----------
        *names
            One or more of the features' names.

        Returns
        -------
        Estimate
            The same estimate, of these features alone.

        Examples
        --------
        >>> est.project("age").names
        ('age',)
        """
        if len(names) == 1 and isinstance(names[0], list | tuple):
            names = tuple(names[0])
        axes = places_of(self.features, names, "project takes one or more of")
        groups = tuple(group.project(axes) for group in self.groups)
        features = tuple(self.features[axis] for axis in axes)
        fitted = None if self.fitted is None else margin(self.fitted, axes)
        return replace(self, features=features, groups=groups, fitted=fitted, proper=None)

    def __add__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.features != other.features or self.subject != other.subject:
            raise EstimateError(
                "estimates add over the same features with the same values, in the same order, about the same people; "
                f"found {', '.join(self.names)}, about the {self.subject}, and {', '.join(other.names)}, about the "
                f"{other.subject}"
            )
        sources = joined_sources(self.sources, other.sources, EstimateError, "these estimates")
        if self.kept and other.kept:
            warn_of_kept("estimates", 2)
        method = self.method if self.method == other.method else "mixed"
        if (self.fitted is None) != (other.fitted is None):
            raise EstimateError(f"proper tables add to proper tables; found {self.method} and {other.method}")
        fitted = None if self.fitted is None or other.fitted is None else self.fitted + other.fitted
        both = {"groups": self.groups + other.groups, "conditions": self.conditions + other.conditions}
        both |= {"shrinkage": self.shrinkage + other.shrinkage}
        return replace(self, **both, sources=sources, method=method, fitted=fitted, proper=None, agreement=None)  # type: ignore[arg-type]

    def __radd__(self, other: Any) -> "Estimate":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        return all(same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.compare)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without what was cached

    __dir__ = hiding("agreement", "covariance_of", "fitted", "groups", "kept", "proper")

    def __repr__(self) -> str:
        of = f"{' x '.join(self.names)}, {how_many(self.n, 'report')}"
        what = f"<Estimate ({self.method}) of {of}, about the {self.subject}"
        return f"{what}>" if self.fitted is None else f"{what}; intervals from: {self.intervals_from}>"


def estimate(
    counts: Any,
    names: str | Sequence[str],
    *,
    method: str = "consistent",
    about: str = "population",
    weights: None = None,
) -> Estimate:
    """Estimate the table of some features from counts that hold it.

    Parameters
    ----------
    counts
        Counts; or reports, or a path to a file of either. Arms are combined by generalized least squares. A list is of
        waves: surveys of different people, whatever their plans, in one estimate about the population, which weights
        each by how much it says (while `+` of estimates adds groups of respondents up). Of one plan that keeps answers,
        they are waves of the same people, and share the noise of what was kept.
    names
        The features of the table, in the order of its axes.
    method
        "consistent" centres each report's evidence, so that a choice's values sum to the whole and all tables agree
        with their margins; "centred" is that with equal weights, "unbiased" the plain estimate. "feasible" is a proper
        table, with the uncertainty of "consistent"; it uses whole patterns that were kept. "shrunk" is that with
        interactions shrunk where chance may explain them, towards what fewer features make: closer where reports say
        little, but biased, as `shrinkage` says order by order; up to a thousand cells.
    about
        Whom standard errors and intervals are about: the "population" that the respondents were drawn from, or these
        "respondents" alone, without the sampling variance.
    weights
        A weight for each respondent is refused: reports do not say whose they are. `poststratify` weights strata.

    Returns
    -------
    Estimate
        The table, with its covariance in closed form.

    Examples
    --------
    >>> est = dn.estimate(counts, ["smoker", "age"], method="feasible")
    >>> est.mean_from, est.intervals_from
    ('feasible', 'consistent')
    """
    refuse_weights(weights, EstimateError)
    subject = checked_subject(about, "an estimate")
    made = read_counts(counts, names, method)
    est = Estimate(made.features, (made.group,), method, agreement=made.agreement, sources=made.sources, kept=made.kept)
    est = est.about(subject)
    if made.proper is None:
        return est
    return with_shrunk(est, made.proper) if method == "shrunk" else with_table(est, made.proper)
