"""The association of two features: its strength, and a test of their independence.

`association` and `independence` are methods of `Estimate`. Behind them `pair_table` and `tested` answer for one pair,
or for many pairs at once: if a group's truth has one more axis, every result has that axis first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan, prod

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.interface import AnyEstimate, Respondents, dense_covariance, total
from deniable.estimates.ratios_of_shares import of_features
from deniable.estimates.respondent_group import judge, testable
from deniable.inference.about_whom import Subject
from deniable.inference.association import AssociationDistribution, divisors_positive, strength, wald
from deniable.inference.one_feature import Array
from deniable.inference.ratios import RatioDistribution, without_rounding
from deniable.inference.results import Association, Independence, JointAnswer, effective_n
from deniable.inference.tensors import along, sandwich
from deniable.inference.trust import SLACK, Bools


def association(est: AnyEstimate, first: str, second: str) -> Association:
    """The strength of association of two features: Cramer's V and mutual information, corrected for their bias.

    Parameters
    ----------
    first, second
        The names of two features.

    Returns
    -------
    Association
        `cramers_v` and `mutual_information`, each with its interval from a noncentral chi-square distribution. Mutual
        information divides by every cell, so all of them must surely not be empty.

    Examples
    --------
    >>> round(est.association("smoker", "age").cramers_v.value, 3)
    0.106
    """
    est, groups = of_features(est, "association", first, second)
    _check_sums(groups, "association")
    rows, subject, n = all_answers(est.features), est.subject, est.n
    table = pair_table(groups, rows, subject)
    noiseless = not any(group.zero_by_chance(subject) for group in groups)
    noiseless = noiseless and not without_rounding(table.covariance, SLACK / n).any()
    results = []
    for name, mutual, most in (("Cramer's V", False, 1.0), ("mutual information", True, inf)):
        found = table.strength(mutual=mutual)
        if noiseless:
            value = float(found.distribution.known)
            point = RatioDistribution(value, 1.0, 0.0, 0.0, 0.0)
            results.append(JointAnswer(name, value, point, isfinite(value), subject, nan, 0.0, most))
            continue
        line = along(found.gradient.reshape(table.shares.shape), [matrix.T for matrix in rows])
        sampling = sum(group.sampling_variance(line) for group in groups) / n**2
        size = effective_n(n, sampling, float(found.gradient @ table.covariance @ found.gradient), subject)
        value = min(float(found.distribution.value), most)
        results.append(JointAnswer(name, value, found.distribution, bool(found.enough), subject, size, 0.0, most))
    return Association(*results)


def independence(est: AnyEstimate, first: str, second: str) -> Independence:
    """Wald's test of whether two features are independent in the population, whomever the estimate is about.

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
    statistic, degrees, p_value = tested(groups, all_answers(est.features))
    return Independence(float(statistic), degrees, float(p_value))


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


@dataclass(frozen=True, eq=False)
class PairTable:
    """The shares of the cells of two features, or of many pairs; their covariance; and whether all are trusted."""

    shares: Array
    covariance: Array
    trusted: Bools

    def strength(self, *, mutual: bool) -> Strength:
        """Cramer's V of two features, or their mutual information.

        There are enough reports if the interval of every cell is trusted, and all margins are surely above zero; for
        mutual information, which divides by every cell, all cells.
        """
        distribution, gradient = strength(self.shares, self.covariance, mutual=mutual)
        enough = self.trusted & divisors_positive(self.shares, self.covariance, cells=mutual)
        enough &= np.isfinite(distribution.value) & np.isfinite(distribution.stderr)
        return Strength(distribution, gradient, np.asarray(enough))


def pair_table(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> PairTable:
    """The table of two features, given the weights of their answers; of many pairs, if the truth has one more axis."""
    n = sum(group.n for group in groups)
    shares = total([along(group.truth, rows) for group in groups]) / n
    covariance = sandwich(rows, dense_covariance(groups, subject, prod(matrix.shape[1] for matrix in rows))) / n**2
    return PairTable(shares, covariance, np.asarray(judge(groups, rows, subject)[1].all(axis=(-2, -1))))


def tested(groups: Sequence[Respondents], rows: Sequence[Array]) -> tuple[Array, int, Array]:
    """Wald's test of independence of two features, about the population: statistic, degrees of freedom and p-value.

    Where there are not enough reports for the test the p-value is nan.
    """
    from scipy.special import chdtrc

    n = sum(group.n for group in groups)
    shares = total([along(group.truth, rows) for group in groups]) / n
    covariance = sandwich(rows, total([group.at_independence() for group in groups])) / n**2
    statistic, degrees = wald(shares, covariance)
    return statistic, degrees, np.where(testable(groups, rows), chdtrc(degrees, statistic), np.nan)
