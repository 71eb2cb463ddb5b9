"""Estimates of the true answers' tables, with their covariance in closed form.

`estimate` inverts the counts axis by axis (`tensors`). Exactly unbiased estimates may be negative or above N: they are
kept as they are. Estimates of disjoint groups of respondents add, whatever their plans: counts and covariances add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates import posterior as posterior_draws
from deniable.estimates import ratios_of_shares, weighted_sums
from deniable.estimates.answers_as_weights import Features, names_of, over_cells, places_of, with_margins
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.from_counts import read_counts
from deniable.estimates.feasible import ProperTable
from deniable.estimates.given.conditioned_group import condition
from deniable.estimates.given.equalities import Cells, Condition, Shares, Sums, equalities
from deniable.estimates.interface import Respondents, same, total
from deniable.estimates.pairs import association as pair_association
from deniable.estimates.respondent_group import margin
from deniable.inference.about_whom import Subject, checked_subject
from deniable.inference.one_feature import Array
from deniable.inference.results import Homogeneity


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The estimated truth of some features: tensors like `Counts.array`'s, in respondents, with their covariance.

    It is about these respondents (the noise of randomizing alone), or with `about("population")` about the population
    that they were drawn from (with the sampling added). Only of proper tables mean and intervals are of two estimators.

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
    <Estimate (consistent) of smoker x age, 20,000 reports, about the respondents>
    >>> est.n, est.asked, est.mean.shape
    (20000, 20000, (2, 5))
    """

    features: Features
    groups: tuple[Respondents, ...]
    method: str
    subject: Subject = Subject.RESPONDENTS
    conditions: tuple[Condition, ...] = ()
    fitted: Array | None = None  # a proper table with its margins, in respondents, if that is what is asked for
    proper: ProperTable | None = None  # where that comes from, while it can be fitted again
    agreement: Homogeneity | None = None  # of the surveys that were combined, if there are several

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
    def mean(self) -> Array:
        """Estimated numbers of respondents; index 0 of an axis means that the feature is not looked at."""
        mean = (total([group.truth for group in self.groups]) if self.fitted is None else self.fitted).view()
        mean.setflags(write=False)  # it is the groups' own
        return mean

    @cached_property
    def variance(self) -> Array:
        """The estimated variance of each entry of `mean`; negative where there are not enough reports."""
        return total([group.variances(self.subject) for group in self.groups])

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
    plot = weighted_sums.plot
    _repr_html_ = weighted_sums.in_notebook
    # Ratios of shares, with their intervals.
    conditional = ratios_of_shares.conditional
    difference = ratios_of_shares.difference
    ratio = ratios_of_shares.ratio
    odds_ratio = ratios_of_shares.odds_ratio
    correlation = ratios_of_shares.correlation
    # The association of two features.
    association = pair_association.association
    independence = pair_association.independence
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

    def about(self, subject: str) -> "Estimate":
        """The same estimate about the respondents, or about the population that they were drawn from.

        Parameters
        ----------
        subject
            "respondents" or "population".

        Returns
        -------
        Estimate
            The same mean, with the variance of randomizing alone, or with the sampling variance added.

        Examples
        --------
        >>> est.about("population").cell(smoker=True).stderr > est.cell(smoker=True).stderr
        True
        """
        wanted = checked_subject(subject, "an estimate")
        if any(wanted not in group.subjects for group in self.groups):
            if self.agreement is not None:
                raise EstimateError("an estimate from several surveys is about the population")
            if self.asked != self.n:
                raise EstimateError(
                    f"only {self.asked:,} of {self.n:,} respondents were asked these features: the estimate is about "
                    "the population"
                )
            raise EstimateError(
                f"this estimate was conditioned about the {self.subject}; say about({str(wanted)!r}) before given(...)"
            )
        return replace(self, subject=wanted)

    def given(self, known: Shares | Sums = (), *, zeros: Cells = ()) -> "Estimate":
        """Condition mean and covariance on known margins (post-stratification), empty cells or other linear equalities.

        What is known holds about the same subject as the estimate. Covariances are evaluated at the proper table that
        obeys it and is closest to the reports. A feasible table is fitted again.

        Parameters
        ----------
        known
            Known proportions, `{"age": {"65+": 0.2}}`; or any equalities as `[(weights, value)]`, weights shaped like
            `mean` and the value in respondents.
        zeros
            Answers that cannot go together, as `[{"smoker": True, "age": "18-29"}]`.

        Returns
        -------
        Estimate
            The conditioned estimate. `conditions` tells how far the estimate was from each equality. A contradiction,
            or what no proper table can have, is an error; an equality far from the estimate is warned about.

        Examples
        --------
        >>> round(est.given({"age": {"65+": 0.25}}).cell(age="65+").value, 9)
        0.25
        """
        if self.fitted is not None and self.proper is None:
            raise EstimateError(
                'only a feasible table can be fitted again with what is known: method="feasible", and given(...) '
                "before project or +"
            )
        told = list(equalities(self.features, self.n, known, zeros))
        of_cells = [(what, over_cells(self.features, weights), value / self.n) for what, weights, value in told]
        proper = self.proper and self.proper.given(of_cells)
        before = replace(self, fitted=None, proper=None)
        group, conditions = condition(self.groups, self.subject, told)
        after = replace(before, groups=(group,), conditions=(*self.conditions, *conditions))
        return _with_table(after, proper) if proper else after

    def __add__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.features != other.features or self.subject != other.subject:
            raise EstimateError(
                "estimates add over the same features with the same values, in the same order and about the same; "
                f"found {', '.join(self.names)}, about the {self.subject}, and {', '.join(other.names)}, about the "
                f"{other.subject}"
            )
        method = self.method if self.method == other.method else "mixed"
        if (self.fitted is None) != (other.fitted is None):
            raise EstimateError(f"proper tables add to proper tables; found {self.method} and {other.method}")
        fitted = None if self.fitted is None or other.fitted is None else self.fitted + other.fitted
        both = {"groups": self.groups + other.groups, "conditions": self.conditions + other.conditions}
        return replace(self, **both, method=method, fitted=fitted, proper=None, agreement=None)  # type: ignore[arg-type]

    def __radd__(self, other: Any) -> "Estimate":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without what was cached

    def __repr__(self) -> str:
        reports = "1 report" if self.n == 1 else f"{self.n:,} reports"
        what = f"<Estimate ({self.method}) of {' x '.join(self.names)}, {reports}, about the {self.subject}"
        return f"{what}>" if self.fitted is None else f"{what}; intervals from: {self.intervals_from}>"


def estimate(counts: Counts | Sequence[Counts], names: str | Sequence[str], *, method: str = "consistent") -> Estimate:
    """Estimate the table of some features from counts that hold it.

    Parameters
    ----------
    counts
        Counts, as `count` or `Counts.load` give them; arms are combined by generalized least squares. A list is of
        waves: surveys of different people, whatever their plans, in one estimate about the population, which weights
        each by how much it says (while `+` of estimates adds groups of respondents up).
    names
        The features of the table, in the order of its axes.
    method
        "consistent" centres each report's evidence, so that a choice's values sum to the whole and all tables agree
        with their margins; "centred" is that with equal weights, "unbiased" the plain estimate. "feasible" is a proper
        table, with the uncertainty of "consistent"; it uses whole patterns that were kept.

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
    made = read_counts(counts, names, method)
    est = Estimate(made.features, (made.group,), method, made.subject, agreement=made.agreement)
    return est if made.proper is None else _with_table(est, made.proper)


def _with_table(est: Estimate, table: ProperTable) -> Estimate:
    """An estimate whose mean is a proper table, and whose uncertainty is its own."""
    return replace(est, fitted=with_margins(est.features, est.n * table.shares), proper=table)
