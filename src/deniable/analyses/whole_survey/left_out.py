"""What a model of pairs leaves out: interactions of three, where blocks of three or more questions were asked.

If the contrasts of three features are off by chance with the variance sigma^2 beside their noise V, the chi-square
r'V^-1r of all such residuals r of a block has the mean dim r + sigma^2 tr V^-1. So sigma^2 follows from the sum over
blocks, and is taken as zero where that says less. A margin of three or more features has it as a further variance of
each of its contrasts of three and more.
"""

from dataclasses import dataclass
from itertools import combinations
from math import nan, prod

import numpy as np

from deniable.analyses.whole_survey.contrasts import set_contrasts
from deniable.analyses.whole_survey.evidence import Margin, SurveyEvidence
from deniable.inference.one_feature import Array


@dataclass(frozen=True)
class LeftOut:
    """The chi-square of interactions of three against a model of pairs, and how large they may be."""

    statistic: float
    degrees: int  # 0 where no block of three was asked
    variance: float  # that one contrast may have beside its noise; nan where nothing is known

    @property
    def known(self) -> bool:
        """Whether blocks of three or more were asked."""
        return self.degrees > 0

    @property
    def p_value(self) -> float:
        """How often chance alone gives as much, if pairs are all there is."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.statistic)) if self.known else nan

    def covariance(self, levels: tuple[int, ...]) -> Array:
        """The covariance that interactions of three and more add to the shares of a table's cells, in C order."""
        cells = prod(levels)
        sets = [one for size in range(3, len(levels) + 1) for one in combinations(range(len(levels)), size)]
        added = np.zeros((cells, cells))
        if self.known:
            for one in sets:
                rows = set_contrasts(levels, [place in one for place in range(len(levels))])
                added += self.variance / cells**2 * (rows.T @ rows)
        return added


def left_out(evidence: SurveyEvidence, margin: Margin) -> LeftOut:
    """What blocks of three or more questions say beyond a model whose margins are given."""
    statistic, degrees, weight = 0.0, 0, 0.0
    for part in evidence.seen:
        sets = list(combinations(part.places, 3)) if not part.across else []
        if not sets:
            continue
        table, rows = margin(part.places), part.contrasts(sets)
        precision = part.kind.n * np.linalg.inv(part.covariance(rows, table))
        apart = rows @ (part.shares - table.reshape(-1))
        statistic += float(apart @ precision @ apart)
        degrees, weight = degrees + len(rows), weight + float(np.trace(precision))
    return LeftOut(statistic, degrees, max(0.0, statistic - degrees) / weight if degrees else nan)
