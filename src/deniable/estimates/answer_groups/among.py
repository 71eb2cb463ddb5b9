"""Shares among those who gave certain answers (a subpopulation, or domain): ratios, with Fieller's intervals.

That somebody is among them is one more factor of every share's weights, so that a share, a difference or an odds ratio
among them is the same question as among everybody, with the same intervals as conditional shares have.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import EstimateError
from deniable.estimates import ratios_of_shares, weighted_sums
from deniable.estimates.answer_groups.among_table import AmongTable, among_table
from deniable.estimates.answer_groups.left_answers import Product, before_among, check_left, in_words, not_among, within
from deniable.estimates.answer_groups.results_table import tidy_results
from deniable.estimates.answers_as_weights import (
    Features,
    Indicator,
    all_answers,
    answer_places,
    cell_weights,
    feature_named,
    features_given,
    names_of,
    places_of,
    two_dividing,
    two_shares,
)
from deniable.estimates.interface import AnyEstimate
from deniable.estimates.pairs import association as pair_association
from deniable.estimates.ratios_of_shares import asked
from deniable.estimates.weighted_sums import Answers, OneOrMore
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratio_questions import CONDITIONAL, DIFFERENCE, ODDS_RATIO, RATIO, Question
from deniable.inference.results import Answer, Association, Independence, JointAnswer
from deniable.survey.blocks import TIMES
from deniable.survey.schema import Feature
from deniable.tables.table import CONDITIONAL as CONDITIONAL_SHARES
from deniable.tables.table import SHARES, About, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Among:
    """An estimate among those who gave certain answers: `est.among("smoker", ["yes", "no"])`.

    `kept` are, of each feature that this depends on, the places of the answers that are not left out.

    Examples
    --------
    >>> grown = est.among("age", ["30-44", "45-64", "65+"])
    >>> grown
    <among those with age: 30-44, 45-64 or 65+, of <Estimate ...>>
    """

    est: AnyEstimate
    kept: Mapping[str, tuple[int, ...]]
    shown: tuple[str, ...]

    @property
    def features(self) -> Features:
        """The features that are shown, in order."""
        return tuple(feature_named(self.est.features, name) for name in self.shown)

    def among(self, name: str, answers: Sequence[str | bool]) -> "Among":
        """The same among those who also gave one of these answers to another feature."""
        feature = feature_named(self.est.features, name)
        places = answer_places(feature, _listed(answers))
        kept = tuple(place for place in places if place in self.kept.get(name, places))
        if not kept:
            raise EstimateError(f"nobody is left: {answers!r} of {name!r} were left out before")
        if len(kept) == len(feature.answers) and self._known(name):
            return self  # nobody is left out, and how many are left is known without an error
        return replace(self, kept={**self.kept, name: tuple(sorted(kept))})

    def project(self, *names: str) -> "Among":
        """The shares of fewer features among the same respondents."""
        places_of(self.features, names, "project takes one or more of")
        return replace(self, shown=names)

    def cell(self, answers: Answers | None = None, /, **more: OneOrMore) -> JointAnswer | Answer:
        """The share of some answers among these respondents, with its interval by Fieller.

        Examples
        --------
        >>> round(est.among("age", ["45-64", "65+"]).cell(smoker=True).value, 3)
        0.265
        """
        wanted = {**(answers or {}), **more}
        if not self.kept:
            return weighted_sums.cell(self.est, wanted)
        vectors = cell_weights(self.est.features, wanted)
        for name, own in wanted.items():
            check_left(feature_named(self.est.features, name), own, self.kept)
        names = names_of(self.est.features)
        return self.of(CONDITIONAL, [{name: vectors[names.index(name)] for name in wanted}, {}])

    def table(self, *, level: float = 0.95) -> Table:
        """The shares of all combinations of answers among these respondents, with Fieller intervals, as tidy rows.

        Examples
        --------
        >>> est.among("age", ["45-64", "65+"]).project("age").table().column("age").to_pylist()
        ['45-64', '65+']
        """
        if not self.kept:
            return weighted_sums.table(self.est.project(*self.shown), level=level)
        return self._tidy(self.features, [], level)

    def conditional(self, what: Any, *, given: Any, level: float = 0.95) -> Any:
        """Conditional shares given other features or answers to them, among these respondents.

        It takes and gives what `Estimate.conditional` does.

        Examples
        --------
        >>> grown = est.among("age", ["30-44", "45-64", "65+"])
        >>> round(grown.conditional(("smoker", True), given={"age": ["45-64", "65+"]}).value, 3)
        0.265
        """
        from deniable.estimates.answer_groups.conditional_shares import conditional

        return conditional(self, what, given=given, level=level)

    def each_given(self, what: str, *, given: str | Sequence[str], level: float = 0.95) -> Table:
        """The shares of a feature's answers among those of these respondents with each answer to other features."""
        if not self.kept:
            return ratios_of_shares.conditional(self.est, what, given=given, level=level)
        others = features_given(given)
        places_of(self.est.features, [*others, what], "conditional takes different features of this estimate,")
        features = tuple(feature_named(self.est.features, name) for name in (*others, what))
        return self._tidy(features, others, level)

    def difference(self, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
        """The difference of two conditional shares among these respondents; see `Estimate.difference`."""
        return self.of(DIFFERENCE, two_shares(self.est.features, what, between))

    def ratio(self, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
        """The ratio of two conditional shares among these respondents; see `Estimate.ratio`."""
        return self.of(RATIO, two_shares(self.est.features, what, between))

    def odds_ratio(self, first: Indicator, second: Indicator) -> JointAnswer:
        """The odds ratio of two indicators among these respondents; see `Estimate.odds_ratio`."""
        (a, is_a, no_a), (b, is_b, no_b) = two_dividing(self.est.features, first, second, self.kept)
        pairs = ((is_a, is_b), (is_a, no_b), (no_a, is_b), (no_a, no_b))
        return self.of(ODDS_RATIO, [{a: left, b: right} for left, right in pairs])

    def plot(self, kind: str | None = None, *, ax: "Axes | None" = None, path: str | Path | None = None) -> "Figure":
        """Draw the shares among these respondents with their intervals, as `table().plot()` does."""
        return self.table().plot(kind, ax=ax, path=path)

    # What an estimate is told about everybody has to be told before some are left out.
    linear, covariance, summary, posterior = map(not_among, ("linear", "covariance", "summary", "posterior"))
    about, given, merge, poststratify = map(before_among, ("about", "given", "merge", "poststratify"))

    def correlation(self, first: Indicator, second: Indicator) -> JointAnswer:
        """The correlation coefficient (phi) of two indicators among these respondents; see `Estimate.correlation`.

        Examples
        --------
        >>> round(est.among("age", ["45-64", "65+"]).correlation("smoker", ("age", "65+")).value, 3)
        -0.04
        """
        if not self.kept:
            return ratios_of_shares.correlation(self.est, first, second)
        names = [name for name, *_ in two_dividing(self.est.features, first, second, self.kept)]
        found = ratios_of_shares.correlation(self._of_pair("correlation", *names), first, second)
        return replace(found, n=self.est.n)

    def association(self, first: str, second: str) -> Association:
        """Cramer's V and mutual information of two features among these respondents; see `Estimate.association`.

        Examples
        --------
        >>> round(est.among("age", ["30-44", "45-64", "65+"]).association("smoker", "age").cramers_v.value, 3)
        0.042
        """
        if not self.kept:
            return pair_association.association(self.est, first, second)
        found = pair_association.association(self._of_pair("association", first, second), first, second)
        return Association(*(replace(one, n=self.est.n) for one in (found.cramers_v, found.mutual_information)))

    def independence(self, first: str, second: str) -> Independence:
        """Wald's test of independence of two features in the population among these; see `Estimate.independence`.

        Others, such as those who skipped both questions, may go together however they do.

        Examples
        --------
        >>> est.among("age", ["30-44", "45-64", "65+"]).independence("smoker", "age").degrees
        2
        """
        if not self.kept:
            return pair_association.independence(self.est, first, second)
        return pair_association.independence(self._of_pair("independence", first, second).apart, first, second)

    def mean_of(self, name: str, scores: Mapping[str | bool, float] | None = None, **options: Any) -> Any:
        """The mean of scores of a feature's answers among these respondents; see `Estimate.mean_of`.

        Examples
        --------
        >>> round(est.among("age", ["45-64", "65+"]).mean_of("age", {"45-64": 55, "65+": 75}).value, 1)
        64.7
        """
        from deniable.estimates.answer_groups.means import mean_of

        return mean_of(self, name, scores, **options)

    def contrasts(self, what: Indicator, **options: Any) -> Table:
        """Contrasts of a share, or of a mean, over groups among these respondents; see `Estimate.contrasts`."""
        from deniable.estimates.answer_groups.contrasts import contrasts

        return contrasts(self, what, **options)

    def of(self, question: Question, products: Sequence[Mapping[str, Array]]) -> JointAnswer:
        """The result of a question about a few shares, each of those who are among these respondents."""
        return asked(self.est, question, self.within(products))

    def within(self, products: Sequence[Mapping[str, Array]]) -> list[Product]:
        """The weights of shares times those of being among these respondents."""
        return within(self.est.features, self.kept, products)

    def answers(self, feature: Feature) -> list[int]:
        """The places of a feature's answers that are not left out."""
        return list(self.kept.get(feature.name, range(len(feature.answers))))

    def asked_of(self, names: Sequence[str]) -> int:
        """How many respondents were asked some features, and those that say who is left out."""
        return self.est.project(*dict.fromkeys([*names, *self.kept])).asked

    def _known(self, name: str) -> bool:
        """Whether the estimated shares of a feature's answers sum to one, as not those of plain unary encoding do."""
        return all(group.adds_up for group in self.est.project(name).groups)

    def _of_pair(self, asker: str, *names: str) -> AmongTable:
        return among_table(self.est, self.kept, names, asker)

    def _tidy(self, features: Features, given: Sequence[str], level: float) -> Table:
        """A row for each combination of answers that are not left out: shares given the answers to some features."""
        level, rows = checked_level(level), {feature.name: all_answers((feature,))[0] for feature in features}
        found = []
        for places in product(*(self.answers(feature) for feature in features)):
            both = {name: rows[name][place] for name, place in zip(rows, places, strict=True)}
            found.append(self.of(CONDITIONAL, [both, {name: both[name] for name in given}]))
        labels = product(*([feature.answers[place] for place in self.answers(feature)] for feature in features))
        title = TIMES.join(name for name in names_of(features) if name not in given)
        title += f" given {TIMES.join(given)}" * bool(given)
        kind, est = CONDITIONAL_SHARES if given else SHARES, self.est
        asked = self.asked_of(names_of(features))
        about = About(title, kind, est.subject, level, asked, respondents=est.n, among=self.who)
        return tidy_results(features, list(labels), found, about)

    @property
    def who(self) -> str:
        """Whom all results are about, in words: those with certain answers; nothing if nobody is left out."""
        return in_words((feature_named(self.est.features, name), self.kept[name]) for name in self.kept)

    def __repr__(self) -> str:
        return f"<{self.who or 'among everybody'}, of {self.est!r}>"


def among(est: AnyEstimate, name: str, answers: Sequence[str | bool]) -> Among:
    """Shares among those who gave one of certain answers (a subpopulation), such as all but "no answer".

    Parameters
    ----------
    name
        A feature.
    answers
        The answers of those who are looked at; all others are left out.

    Returns
    -------
    Among
        It has `cell`, `table`, `project`, `conditional`, `difference`, `ratio`, `odds_ratio`, `correlation`,
        `association`, `independence`, `mean_of`, `contrasts`, `plot`, and `among` again, with intervals that know that
        how many gave these answers is estimated, too. `dn.compare` takes two of them.

    Examples
    --------
    >>> round(est.among("age", ["45-64", "65+"]).cell(age="65+").value, 3)
    0.485
    """
    return Among(est, {}, names_of(est.features)).among(name, answers)


def _listed(answers: Any) -> list[Any]:
    if isinstance(answers, str | bool) or not isinstance(answers, Iterable):
        return [answers]
    return list(answers)
