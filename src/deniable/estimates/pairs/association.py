"""The association of two features: its strength, and a test of their independence.

`association` and `independence` are methods of `Estimate`. Behind them `pair_table` and `tested` answer for one pair,
or for many pairs at once: if a group's truth has one more axis, every result has that axis first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan, prod

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.crafted_reports import influence_of_sums
from deniable.estimates.interface import AnyEstimate, Respondents, dense_covariance, total
from deniable.estimates.pairs.independence import stratified_test, wald_test_if_any
from deniable.estimates.pairs.rare_answers import merged_answers, merged_parts
from deniable.estimates.ratios_of_shares import correlation, of_features
from deniable.estimates.respondent_group import normal_if_independent, testable
from deniable.inference.about_whom import Subject
from deniable.inference.association import AssociationDistribution, WaldTest, divisors_positive, strength
from deniable.inference.one_feature import Array
from deniable.inference.ratios import AbsoluteDistribution, RatioDistribution, without_rounding
from deniable.inference.results import Association, Independence, JointAnswer, Merged, effective_n
from deniable.inference.tensors import along, sandwich
from deniable.inference.trust import SLACK, Bools
from deniable.survey.schema import Feature


def association(est: AnyEstimate, first: str, second: str) -> Association:
    """The strength of association of two features: Cramer's V and mutual information, corrected for their bias.

    A missing answer counts as an answer, so that people who skip both questions make these go together;
    `est.among(...)` has the association among those who answered.

    Parameters
    ----------
    first, second
        The names of two features.

    Returns
    -------
    Association
        `cramers_v` and `mutual_information`, each with its interval from a noncentral chi-square distribution; where
        that cannot be had, V of two flags has that of their correlation, which it is without its sign. Mutual
        information divides by every cell, so that more rare answers may be merged for it, and none may be empty.

    Examples
    --------
    >>> round(est.association("smoker", "age").cramers_v.value, 3)
    0.105
    """
    est, groups = of_features(est, "association", first, second)
    _check_sums(groups, "association")
    if any(group.unshrunk for group in groups):
        raise EstimateError(
            "measures of association are corrected for noise that a model has shrunk already: ask them of "
            f"dn.estimate(counts, [{first!r}, {second!r}]), or the model for a correlation"
        )
    return Association(*(_measured(est, groups, mutual=mutual) for mutual in (False, True)))


def _measured(est: AnyEstimate, groups: Sequence[Respondents], *, mutual: bool) -> JointAnswer:
    """Cramer's V, or mutual information, of the two features of an estimate, whose rare answers may be merged."""
    subject, n = est.subject, est.n
    rows, merged = _merged(est, groups, subject, mutual=mutual)
    table = pair_table(groups, rows, subject)
    found = table.strength(mutual=mutual)
    name, most = ("mutual information", inf) if mutual else ("Cramer's V", 1.0)
    noiseless = not any(group.zero_by_chance(subject) for group in groups)
    if noiseless and not without_rounding(table.covariance, SLACK / n).any():
        value = float(found.distribution.known)
        point = RatioDistribution(value, 1.0, 0.0, 0.0, 0.0)
        return JointAnswer(name, value, point, isfinite(value), subject, nan, 0.0, most, merged=merged, n=n)
    line = along(found.gradient.reshape(table.shares.shape), [matrix.T for matrix in rows])
    sampling = sum(group.sampling_variance(line) for group in groups) / n**2
    size = effective_n(n, sampling, float(found.gradient @ table.covariance @ found.gradient), subject)
    value = min(float(found.distribution.value), most)
    flags = not mutual and all(len(feature.columns) == 1 for feature in est.features)
    if not found.enough and flags and (phi := _without_its_sign(est)).enough:
        return phi
    crafted = influence_of_sums(groups, found.slope(value)[None] * line[None]) if found.enough else nan
    return JointAnswer(
        name, value, found.distribution, bool(found.enough), subject, size, 0.0, most, merged=merged, n=n,
        influence=crafted,
    )  # fmt: skip


def _without_its_sign(est: AnyEstimate) -> JointAnswer:
    """Cramer's V of two flags, which is their correlation without its sign, with the interval of that.

    It can be given where the noncentral chi-square distribution cannot, which needs every cell to be nearly normal.
    """
    first, second = (feature.name for feature in est.features)
    phi = correlation(est, first, second)
    assert isinstance(phi.distribution, RatioDistribution)
    distribution = AbsoluteDistribution.of(phi.distribution)
    return replace(phi, name="Cramer's V", value=abs(phi.value), distribution=distribution, least=0.0)


def _merged(
    est: AnyEstimate, groups: Sequence[Respondents], subject: Subject, *, mutual: bool = False
) -> tuple[list[Array], tuple[Merged, ...]]:
    """The weights of the answers to two features, rare ones being merged if they would keep all from being answered.

    That is decided from the margins alone, whatever the association is.
    """
    rows = all_answers(est.features)
    if not all(subject in group.subjects for group in groups):
        return rows, ()
    missing = [_place_of_missing(feature) for feature in est.features]
    for part in merged_parts(groups, rows, subject, missing=missing, mutual=mutual):
        return part.rows, merged_answers(est.features, [order[0] for order in part.orders], part.rows)
    return rows, ()


def _place_of_missing(feature: Feature) -> int | None:
    return None if feature.missing is None else list(feature.answers).index(feature.missing)


def independence(est: AnyEstimate, first: str, second: str) -> Independence:
    """Wald's test of whether two features are independent in the population, whomever the estimate is about.

    Of a sum of estimates it tests independence within each group of respondents (a stratified test, as Cochran's,
    Mantel's and Haenszel's): two groups that differ may be independent each, though their mixture is not. For the
    population that several waves have in common, ask the estimate of all of them, `dn.estimate([...])`. A missing
    answer counts as an answer; `est.among(...)` has the test among those who answered.

    Parameters
    ----------
    first, second
        The names of two features.

    Returns
    -------
    Independence
        The chi-square statistic, its degrees of freedom and the p-value, which is nan if there are not enough reports.

    Examples
    --------
    >>> est.independence("smoker", "age").p_value < 0.001
    True
    """
    est, groups = of_features(est, "independence", first, second)
    _check_sums(groups, "independence")
    rows, merged = _merged(est, groups, Subject.POPULATION)
    test = stratified_test(groups, rows)
    p_value = float(test.p_value) if testable(groups, rows) else nan
    return Independence(float(test.statistic), test.degrees, p_value, merged, len(groups))


def _check_sums(groups: Sequence[Respondents], asker: str) -> None:
    """Refuse tables whose answers do not sum to the whole, as those of unary encoding's plain estimates."""
    if not all(group.adds_up for group in groups):
        raise EstimateError(f'{asker} needs tables whose answers sum to the whole; use method="consistent"')


@dataclass(frozen=True, eq=False)
class Strength:
    """The strength of association: its confidence distribution, and the gradient of its square by the cells' shares."""

    distribution: AssociationDistribution
    gradient: Array
    enough: Bools

    def slope(self, value: float) -> Array:
        """How fast the strength rises with its square where it has this value; nan where it is only a test's."""
        of = self.distribution
        known = (of.found > of.bias) & (value > 0)
        return np.where(known, 1 / (2 * of.scale * value) if of.scale and value > 0 else 0.5, nan)


@dataclass(frozen=True, eq=False)
class PairTable:
    """The shares of the cells of two features, or of many pairs; their covariance; and whether all are trusted.

    `test` is Wald's test of independence about the same subject; None where something is known beforehand.
    """

    shares: Array
    covariance: Array
    trusted: Bools
    test: WaldTest | None
    tested: Bools | bool = False  # whether the test alone says that there are enough reports for V

    def strength(self, *, mutual: bool) -> Strength:
        """Cramer's V of two features, or their mutual information.

        There are enough reports if every cell were nearly normal with independent answers of the same margins (for V in
        one block, nearly enough for the test), and all margins are surely above zero; for mutual information, which
        divides by every cell, all cells.
        """
        distribution, gradient = strength(self.shares, self.covariance, mutual=mutual, test=self.test)
        trusted = self.trusted if mutual else self.trusted | self.tested
        enough = trusted & divisors_positive(self.shares, self.covariance, cells=mutual)
        enough &= np.isfinite(distribution.value) & np.isfinite(distribution.stderr)
        return Strength(distribution, gradient, np.asarray(enough))


def pair_table(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> PairTable:
    """The table of two features, given the weights of their answers; of many pairs, if the truth has one more axis."""
    n = sum(group.n for group in groups)
    shares = total([along(group.truth, rows) for group in groups]) / n
    covariance = sandwich(rows, dense_covariance(groups, subject, prod(matrix.shape[1] for matrix in rows))) / n**2
    each = [group.judged(rows, subject) for group in groups]
    trusted = np.asarray(normal_if_independent(each, rows, subject).all(axis=(-2, -1)))
    tested = _tested_in_a_block(groups, rows, subject)
    return PairTable(shares, covariance, trusted, wald_test_if_any(groups, rows, subject), tested)


def _tested_in_a_block(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> Bools | bool:
    """Whether both features stand in one block, and there is a test of independence about the population.

    Then V, whose interval is that of the test's statistic, needs no more than the test. Noise of features asked apart
    multiplies, so that it is further from normal than the rule of the test sees.
    """
    in_a_block = all(isinstance(group, BlockGroup) and len(group.views) == 1 for group in groups)
    return testable(groups, rows) if in_a_block and subject is Subject.POPULATION else False
