"""Local hashing (BLH, OLH), for choices of many values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from deniable.client import INTEGERS
from deniable.kernels import perturb
from deniable.kernels.hashing import Seeds, bucket
from deniable.kernels.perturb import Codes, Draws
from deniable.survey.protocols.base import Form
from deniable.survey.protocols.dependence import Dependence
from deniable.survey.protocols.grid import Epsilon, check_epsilon, coin, whole_number
from deniable.survey.protocols.keep_or_uniform import KeepOrUniform
from deniable.survey.schema import Feature


@dataclass(frozen=True, init=False)
class LocalHashing(KeepOrUniform):
    """GRR on the bucket, one of g, that a hash drawn afresh for the report gives the value.

    Evidence: every value that this hash sends to the shown bucket; q as shown, p = 1 / g. Any four values hash
    independently, so moments up to the third are exact, and the fourth takes five values as independent too. (Buckets
    of a prime number of hashes cannot be equal: p is off by less than 1e-12 of itself.) By default g is the best
    whole number for epsilon below m, or 2.

    Examples
    --------
    >>> schema = dn.Schema([dn.Choice("town", [f"town {k}" for k in range(1000)])])
    >>> dn.Plan(schema, {"town": dn.LocalHashing(epsilon=1.0)})["town"].buckets
    4
    """

    asked: Epsilon | None
    keep: int
    buckets: int
    columns: int
    name = "local hashing"
    form = Form.HASH
    exact_patterns = False

    def __init__(self, *, epsilon: Epsilon, buckets: int | None = None) -> None:
        known = 0 if buckets is None else whole_number(buckets, "buckets", *INTEGERS[self.name]["buckets"])
        self.__dict__.update(asked=check_epsilon(epsilon), keep=0, buckets=known, columns=0)

    @property
    def outcomes(self) -> int:
        return self.buckets

    @cached_property
    def dependence(self) -> Dependence:
        self._check_bound()
        return Dependence.independent(Fraction(1, self.buckets), self.outcome_channel.q)

    @property
    def integers(self) -> dict[str, int]:
        return {"keep": self.keep, "buckets": self.buckets}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        return cls._made(asked=None, **integers, columns=len(feature.columns)).bind(feature)

    def bind(self, feature: Feature) -> Self:
        m = self._check_fits(feature)
        if self.asked is None:
            return self
        g = self.buckets or best_buckets(float(self.asked), m)
        return self._made(asked=None, keep=coin(self.asked, g), buckets=g, columns=m)

    def randomize(self, codes: Codes, draws: Draws) -> tuple[Seeds, Codes]:
        seeds = perturb.seeds(len(codes), draws)
        hashed = bucket(seeds, codes, self.buckets)
        return seeds, perturb.keep_or_uniform(hashed, self.keep, self.buckets, draws)


def best_buckets(epsilon: float, m: int) -> int:
    """The number of buckets, below m (but 2 for two values), with the least total variance for equal frequencies."""
    g = np.arange(2, max(m, 3))
    odds = math.exp(epsilon)
    p, q = 1 / g, odds / (odds + g - 1)
    return int(g[np.argmin((q * (1 - q) + (m - 1) * p * (1 - p)) / (q - p) ** 2)])
