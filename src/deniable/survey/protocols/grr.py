"""Generalized randomized response (k-ary randomized response, direct encoding), for choices."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from deniable.client import SCALE
from deniable.kernels import perturb
from deniable.kernels.perturb import Codes, Draws
from deniable.survey.protocols.base import Form
from deniable.survey.protocols.dependence import Dependence
from deniable.survey.protocols.grid import Epsilon, check_epsilon, coin
from deniable.survey.protocols.keep_or_uniform import KeepOrUniform
from deniable.survey.schema import Feature


@dataclass(frozen=True, init=False)
class GRR(KeepOrUniform):
    """Generalized randomized response: the value itself, or a uniform one. Evidence is the one value shown.

    Examples
    --------
    >>> schema = dn.Schema([dn.Choice("age", ["18-29", "30-64", "65+"])])
    >>> dn.Plan(schema, {"age": dn.GRR(epsilon=1.0)})["age"].integers
    {'keep': 23866}
    """

    asked: Epsilon | None
    keep: int
    columns: int
    fresh: int = field(default=SCALE, repr=False)
    name = "GRR"
    form = Form.VALUE
    always_marked = 1

    def __init__(self, *, epsilon: Epsilon) -> None:
        self.__dict__.update(asked=check_epsilon(epsilon), keep=0, columns=0)

    @property
    def outcomes(self) -> int:
        return self.columns

    @cached_property
    def dependence(self) -> Dependence:
        return Dependence.exclusive(*self.outcome_channel)

    @property
    def integers(self) -> dict[str, int]:
        return {"keep": self.keep}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        return cls._made(asked=None, keep=integers["keep"], columns=len(feature.columns)).bind(feature)

    def bind(self, feature: Feature) -> Self:
        m = self._check_fits(feature)
        return self if self.asked is None else self._made(asked=None, keep=coin(self.asked, m), columns=m)

    def randomize(self, codes: Codes, draws: Draws) -> Codes:
        kept = perturb.keep_or_uniform(codes, self.keep, self.columns, draws)
        return kept if self.fresh == SCALE else perturb.keep_or_uniform(kept, self.fresh, self.columns, draws)
