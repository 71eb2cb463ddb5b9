"""Weighted sums of the cells of a table over arms, about the population or about the respondents themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array


@dataclass(frozen=True, eq=False)
class CellSums:
    """Weighted sums of cells, in shares: their cumulants, and the gradient of their variance by the cells."""

    weights: Array
    mean: Array
    variance: Array
    third: Array
    fourth: Array
    gradient: Array

    def about_respondents(self, W: Array, table: Array, n: int) -> "CellSums":
        """The same about these n respondents.

        The error about the population is that about the respondents, D, and theirs, E. As D has the mean zero whoever
        the respondents are, kappa3(D) = kappa3(D + E) - 3 Cov(Var D, E) - kappa3(E). The fourth is left as it is.
        """
        center = (W @ table)[:, None]
        apart = W - center
        square = apart * apart
        gradient = self.gradient - (W * W - 2 * center * W) / n
        of_variance = (gradient * apart) @ table / n
        return replace(
            self,
            variance=self.variance - square @ table / n,
            third=self.third - 3 * of_variance - (square * apart) @ table / n**2,
            gradient=gradient,
        )

    def cumulants(self, covariance: Array, lengths: Sequence[int], n: int) -> Cumulants:
        """The cumulants in respondents, given the covariance of the cells' shares.

        The estimated variance is a function of the table; to first order it varies with its gradient there.
        """
        moved = self.gradient @ covariance
        with_variance, of_variance = (self.weights * moved).sum(axis=1), (self.gradient * moved).sum(axis=1)
        parts = (self.mean, self.variance, self.third, self.fourth, with_variance, of_variance)
        return Cumulants(*(part.reshape(lengths) for part in parts)).scaled(n)


def sampling_of_cells(table: Array) -> Array:
    """The covariance of which cell a respondent is in."""
    return np.diag(table) - np.outer(table, table)
