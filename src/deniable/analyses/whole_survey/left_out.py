"""What a model leaves out: interactions of three that blocks hold, and what shrinkage hides of those it has (`shrunk`).

If the contrasts of three features are off by chance with the variance sigma^2 beside their noise V, the chi-square
r'V^-1r of all such residuals r of a block has the mean dim r + sigma^2 tr V^-1. So sigma^2 follows from the sum over
blocks, and is taken as zero where that says less. A margin of three or more features has it as a further variance of
each of its contrasts of three and more. Three features whose own chi-square chance hardly explains have their own
sigma^2 instead, if it is larger: one strong interaction among many would be lost in the sum.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import nan, prod

import numpy as np

from deniable.analyses.whole_survey.contrasts import Places, set_contrasts
from deniable.analyses.whole_survey.evidence import Margin, SurveyEvidence
from deniable.inference.one_feature import Array

# Three features have a variance of their own if chance would give their chi-square less often than this.
UNLIKELY = 1e-3


@dataclass(frozen=True)
class LeftOut:
    """The chi-square of interactions of three against a model of pairs, and how large they may be."""

    statistic: float
    degrees: int  # 0 where no block of three was asked
    variance: float  # that one contrast may have beside its noise; nan where nothing is known
    own: Mapping[Places, float] = field(
        default_factory=dict
    )  # that of three features, by rising place, if it is larger
    held: frozenset[Places] = frozenset()  # sets of three, by rising place, that are in the model, and have none of it
    shrunk: Mapping[Places, float] = field(default_factory=dict)  # that of sets in the model, beyond prior and noise

    @property
    def known(self) -> bool:
        """Whether blocks of three or more were asked."""
        return self.degrees > 0

    @property
    def p_value(self) -> float:
        """How often chance alone gives as much, if pairs are all there is."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.statistic)) if self.known else nan

    def covariance(self, places: Places, levels: tuple[int, ...]) -> Array:
        """The covariance that interactions outside the model add to the shares of a table's cells, in C order."""
        return _over_cells(places, levels, lambda of: 0.0 if len(of) == 2 or of in self.held else self._outside(of))

    def of_shrinkage(self, places: Places, levels: tuple[int, ...]) -> Array:
        """What shrinkage hides of interactions in the model, as a covariance of the shares of a table's cells."""
        return _over_cells(places, levels, lambda of: self.shrunk.get(of, 0.0))

    def _outside(self, of: Places) -> float:
        """The variance that one contrast of a set outside the model may have beside its noise."""
        return self.own.get(of, self.variance) if self.known else 0.0


def _over_cells(places: Places, levels: tuple[int, ...], variance_of: Callable[[Places], float]) -> Array:
    """The covariance of a table's cells, given the variance of each contrast of two features and more."""
    cells, features = prod(levels), range(len(levels))
    added = np.zeros((cells, cells))
    for one in (one for size in range(2, len(levels) + 1) for one in combinations(features, size)):
        if variance := variance_of(tuple(sorted(places[place] for place in one))):
            rows = set_contrasts(levels, [place in one for place in features])
            added += variance / cells**2 * (rows.T @ rows)
    return added


def left_out(evidence: SurveyEvidence, margin: Margin) -> LeftOut:
    """What blocks of three or more questions say beyond a model whose margins are given."""
    statistic, degrees, weight = 0.0, 0, 0.0
    by_three: dict[Places, list[tuple[Array, Array]]] = defaultdict(list)
    for part in evidence.seen:
        sets = list(combinations(part.places, 3)) if not part.across else []
        if not sets:
            continue
        table, rows = margin(part.places), part.contrasts(sets)
        spread = part.covariance(rows, table) / part.kind.n
        precision, apart = np.linalg.inv(spread), rows @ (part.shares - table.reshape(-1))
        statistic += float(apart @ precision @ apart)
        degrees, weight = degrees + len(rows), weight + float(np.trace(precision))
        ends = np.cumsum([0, *(len(part.contrasts([one])) for one in sets)]).tolist()
        for one, start, end in zip(sets, ends[:-1], ends[1:], strict=True):
            by_three[one].append((apart[start:end], np.asarray(np.linalg.inv(spread[start:end, start:end]))))
    variance = max(0.0, statistic - degrees) / weight if degrees else nan
    sure = {one: found for one, seen in by_three.items() if (found := _own_variance(seen)) > variance}
    return LeftOut(statistic, degrees, variance, sure)


def _own_variance(seen: list[tuple[Array, Array]]) -> float:
    """The variance of three features' contrasts beside their noise, from residuals and precisions; 0 if unsure."""
    from scipy.special import chdtrc

    precision = np.sum([each for _, each in seen], axis=0)
    weighted = np.sum([each @ apart for apart, each in seen], axis=0)
    statistic, degrees = float(weighted @ np.linalg.solve(precision, weighted)), len(weighted)
    return (statistic - degrees) / float(np.trace(precision)) if chdtrc(degrees, statistic) < UNLIKELY else 0.0
