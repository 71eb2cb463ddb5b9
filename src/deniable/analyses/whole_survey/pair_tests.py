"""Which pairs of features of a survey are associated: a chi-square test of independence for each that was asked.

Of a pair, blocks that ask both give the contrasts u and v of the features and w of their interaction, with the
covariance at independence. The test is of d = w - u x v, with the delta method, from all those blocks. The d of several
pairs share their features' contrasts, so that the test of all pairs together is one of all d with their covariance; the
sum of the pairs' own would be too large by chance more often than a chi-square, the rarer answers are the more.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.analyses.associations import false_discovery_rate
from deniable.analyses.whole_survey.contrasts import Places, Terms, set_contrasts
from deniable.analyses.whole_survey.evidence import Margin, Seen, SurveyEvidence
from deniable.analyses.whole_survey.reference import Independent
from deniable.inference.one_feature import Array

# A margin at which covariances are evaluated has at least this share of each answer that equal shares would have.
LEAST_SHARE = 0.01
# At most so many contrasts are tested together, with the covariance of all of them.
MOST_TOGETHER = 1_000


@dataclass(frozen=True)
class PairTest:
    """The test of one pair: its chi-square, and the typical standard error of a contrast of its interaction."""

    pair: Places
    statistic: float
    degrees: int
    stderr: float

    @property
    def p_value(self) -> float:
        """How often chance alone gives as much."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.statistic))


@dataclass(frozen=True)
class PairTests:
    """The tests of all pairs that were asked together, by place, and what is known of single features."""

    tests: tuple[PairTest, ...]
    never_asked: tuple[Places, ...]  # pairs that no arm asks together
    p_value: float  # how often chance alone gives as much association in all pairs together

    @cached_property
    def stderr(self) -> float:
        """The standard error of a contrast of the pair in the middle."""
        return float(np.median([one.stderr for one in self.tests]))


def independent_margins(evidence: SurveyEvidence) -> Independent:
    """The table of independent features, with the estimated share of each answer, cut to what can be."""
    singles = Terms(evidence.levels, tuple(one for one in evidence.sets if len(one) == 1))
    A, b = evidence.information(singles, evidence.uniform)
    y = np.linalg.solve(A, b)
    shares = {}
    for one, where in singles.slices.items():
        m = evidence.levels[one[0]]
        found = np.maximum((1 + y[where] @ set_contrasts([m], [True])) / m, LEAST_SHARE / m)
        shares[one[0]] = found / found.sum()
    return Independent(shares)


def pair_tests(evidence: SurveyEvidence, independent: Independent) -> PairTests:
    """The tests of independence of all pairs, with covariances at a table of independent features."""
    asking = defaultdict(list)
    for part in evidence.seen:
        for one in part.sets():
            if len(one) == 2:
                asking[one].append(part)
    every = [(i, j) for j in range(len(evidence.levels)) for i in range(j)]
    tests = [_test(evidence, pair, asking[pair], independent.margin) for pair in sorted(asking)]
    never_asked = tuple(sorted(pair for pair in every if pair not in asking))
    return PairTests(tuple(tests), never_asked, _together(evidence, independent, tests))


def _together(evidence: SurveyEvidence, independent: Independent, tests: list[PairTest]) -> float:
    """The p-value of all pairs together; of very many contrasts the least false discovery rate of a list of pairs."""
    from scipy.special import chdtrc

    terms = Terms(evidence.levels, tuple(evidence.sets))
    if terms.count > MOST_TOGETHER or not tests:
        return min(
            (float(rate) for rate in false_discovery_rate(np.array([one.p_value for one in tests]))), default=1.0
        )
    A, b = evidence.information(terms, independent)
    S = np.linalg.inv(A)
    y, slopes, apart = S @ b, [], []
    for i, j in (one.pair for one in tests):
        slope = np.zeros((terms.sizes[terms.sets.index((i, j))], terms.count))
        where = [terms.slices[one] for one in ((i,), (j,), (i, j))]
        for at, part in zip(where, _slopes(independent.margin((i, j))), strict=True):
            slope[:, at] = part
        slopes.append(slope)
        apart.append(y[where[2]] - np.outer(y[where[0]], y[where[1]]).reshape(-1))
    d, R = np.concatenate(apart), np.concatenate(slopes)
    return float(chdtrc(len(d), d @ np.linalg.solve(R @ S @ R.T, d)))


def _test(evidence: SurveyEvidence, pair: Places, parts: list[Seen], margin: Margin) -> PairTest:
    """The test of one pair, from the blocks that ask it."""
    (i, j), expected = pair, margin(pair)
    terms = Terms(evidence.levels, ((i,), (j,), pair))
    A, b = np.zeros((terms.count, terms.count)), np.zeros(terms.count)
    for part in parts:
        sets = [(i,), (j,), pair]
        rows = part.contrasts(sets)
        weights = part.kind.n * np.linalg.inv(part.covariance(rows, margin(part.places)))
        A += weights
        b += weights @ (rows @ part.shares)
    S = np.linalg.inv(A)
    u, v, w = (S @ b)[terms.slices[i,]], (S @ b)[terms.slices[j,]], (S @ b)[terms.slices[pair]]
    slope = np.hstack(_slopes(expected))
    d, V = w - np.outer(u, v).reshape(-1), slope @ S @ slope.T
    statistic = float(d @ np.linalg.solve(V, d))
    return PairTest(pair, statistic, len(d), float(np.sqrt(np.diagonal(V).mean())))


def _slopes(expected: Array) -> list[Array]:
    """The derivatives of d by u, v and w, at an expected table of a pair."""
    u, v = feature_means(expected.sum(axis=1)), feature_means(expected.sum(axis=0))
    of_u, of_v = -np.kron(np.eye(len(u)), v[:, None]), -np.kron(u[:, None], np.eye(len(v)))
    return [np.asarray(of_u, np.float64), np.asarray(of_v, np.float64), np.eye(len(u) * len(v))]


def feature_means(shares: Array) -> Array:
    """The means of the contrasts of one feature whose answers have these shares."""
    return np.asarray(set_contrasts([len(shares)], [True]) @ shares)
