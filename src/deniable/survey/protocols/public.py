"""Answers shown as they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.kernels.perturb import Codes, Draws
from deniable.survey.protocols.base import Form, Protocol
from deniable.survey.protocols.dependence import Dependence
from deniable.survey.schema import Feature


@dataclass(frozen=True, init=False)
class Public(Protocol):
    """Shown as it is: p = 0, q = 1. It spends none of the budget because it is NOT PROTECTED at all.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("region", ["north", "south"])])
    >>> dn.Plan(schema, {"region": dn.Public()}, epsilon=1.0).public
    ('region',)
    """

    columns: int
    name = "public"
    protects = False

    def __init__(self) -> None:
        self.__dict__.update(columns=0)

    @cached_property
    def dependence(self) -> Dependence:
        return Dependence.exclusive(Fraction(0), Fraction(1))

    @property
    def always_marked(self) -> int | None:
        return None if self.columns == 1 else 1

    @property
    def form(self) -> Form:
        return Form.BITS if self.columns == 1 else Form.VALUE

    @property
    def odds(self) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def integers(self) -> dict[str, int]:
        return {}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:  # noqa: ARG003 - one contract
        return cls().bind(feature)

    def bind(self, feature: Feature) -> Self:
        return self._made(columns=self._check_fits(feature))

    def randomize(self, codes: Codes, draws: Draws) -> Any:  # noqa: ARG002 - one contract
        return np.packbits(codes == 1, bitorder="little")[None] if self.columns == 1 else codes
