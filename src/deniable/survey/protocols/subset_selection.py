"""Subset selection (Ye and Barg; Wang et al.), for choices: a set of k values that holds the true one with chance q."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from deniable.client import INTEGERS, SCALE
from deniable.errors import PlanError
from deniable.kernels import perturb
from deniable.kernels.perturb import Codes, Draws, Planes
from deniable.survey.protocols.base import AskedFor, Form
from deniable.survey.protocols.dependence import Array, Dependence
from deniable.survey.protocols.grid import Epsilon, check_epsilon, largest, whole_number
from deniable.survey.schema import Feature


@dataclass(frozen=True, init=False)
class SubsetSelection(AskedFor):
    """A set of `size` values: with probability q it holds the true one, else it does not; the rest is uniform.

    All sets with the true value are as likely, and all sets without it, so for sets of k among m values
    ratio = q (m - k) / ((1 - q) k). Evidence: the values in the set. With sets of one value it is GRR's channel, on
    another grid of integers. By default the size is that with the least variance, about m / (e^epsilon + 1).

    Examples
    --------
    >>> schema = dn.Schema([dn.Choice("illness", [f"illness {k}" for k in range(8)])])
    >>> dn.Plan(schema, {"illness": dn.SubsetSelection(epsilon=1.0)})["illness"].size
    2
    """

    asked: Epsilon | None
    q_numerator: int
    size: int
    columns: int
    name = "subset selection"
    form = Form.BITS

    def __init__(self, *, epsilon: Epsilon, size: int | None = None) -> None:
        known = 0 if size is None else whole_number(size, "size", *INTEGERS[self.name]["size"])
        self.__dict__.update(asked=check_epsilon(epsilon), q_numerator=0, size=known, columns=0)

    @cached_property
    def dependence(self) -> Dependence:
        self._check_bound()
        return Dependence.fixed_size(Fraction(self.q_numerator, SCALE), self.size, self.columns)

    @property
    def always_marked(self) -> int | None:
        return self.size

    @property
    def odds(self) -> tuple[float, float]:
        return float(self.ratio), 1.0

    def background(self, bits: npt.NDArray[np.bool_]) -> Array:
        """Every set of this size is as likely, but for the odds of its values; nothing else can be shown."""
        return np.asarray(bits.sum(axis=-1) == self.size, np.float64)

    @property
    def integers(self) -> dict[str, int]:
        return {"q": self.q_numerator, "size": self.size}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        numbers = {"q_numerator": integers["q"], "size": integers["size"]}
        return cls._made(asked=None, **numbers, columns=len(feature.columns)).bind(feature)

    def bind(self, feature: Feature) -> Self:
        m = self._check_fits(feature)
        if self.asked is None:
            return self
        k = self.size or best_size(float(self.asked), m)
        if k >= m:
            raise PlanError(f"{feature.name!r} has {m} values; a set of {k} would not leave any out")
        ratio = Fraction(m - k, k)
        q = largest(lambda top: ratio * top / (SCALE - top), self.asked, least=SCALE * k // m + 1)
        return self._made(asked=None, q_numerator=q, size=k, columns=m)

    def randomize(self, codes: Codes, draws: Draws) -> Planes:
        return perturb.subsets(codes, self.q_numerator, self.size, self.columns, draws)


def best_size(epsilon: float, m: int) -> int:
    """The size of the set, below m, with the least total variance: (m-1) (k E + m - k)^2 / (k (m-k) (E-1)^2)."""
    odds = math.exp(epsilon)
    k = np.arange(1, m)
    return int(k[np.argmin((k * odds + m - k) ** 2 / (k * (m - k)))])
