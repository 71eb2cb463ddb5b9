"""What a protocol is: how one feature is randomized, and what evidence a report gives of each of its values.

Every protocol here is pure: given the truth x, the evidence bit of value v is 1 with probability q if v = x, else p.
How the bits of one feature depend on each other is data (`Dependence`), from which all moments of estimates follow.

    z_v = (bit_v - p) / (q - p)        one report's own unbiased estimate of [x = v]
    ratio = e^epsilon                  the most that a report changes anybody's odds, a fraction

An asked epsilon is rounded down to the largest that the integers reach, and `epsilon` is that of the integers, rounded
up in its last binary digit: never above what was asked, never below the truth. Protocols that depend on how many values
there are hold only what was asked until they are bound to a feature, as a plan does.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable.client import CHOICES_ONLY, FLAGS_ONLY, ONE_VALUE, SCALE, log_up, ratio
from deniable.errors import PlanError, abbreviated
from deniable.kernels.perturb import Codes, Draws
from deniable.survey.protocols.dependence import Array, Dependence
from deniable.survey.protocols.grid import Epsilon
from deniable.survey.schema import Choice, Feature

Shown = Any  # What reports show of one feature, as arrays of one of the forms below.


class Channel(NamedTuple):
    """One evidence bit: 1 with probability q if its value is the true one, else p. Exact fractions."""

    p: Fraction
    q: Fraction

    def then(self, other: "Channel | Protocol") -> "Channel":
        """First this, then the other on its output: randomized responses form a monoid."""
        if isinstance(other, Protocol) and other.name in FLAGS_ONLY:
            other = other.channel
        if not isinstance(other, Channel):
            raise PlanError(f"only randomized responses compose; found {abbreviated(other)}")
        spread = other.q - other.p
        return Channel(self.p * spread + other.p, self.q * spread + other.p)

    @property
    def epsilon(self) -> float:
        """The epsilon of showing this one bit, rounded up in its last digit."""
        return log_up([max(self.q / self.p, (1 - self.p) / (1 - self.q))])


class Form(Enum):
    """What a report shows of a feature, and so which columns a table of reports has for it."""

    BITS = "a bit for each evidence column"  # shown as packed bits, a row for each column
    VALUE = "one of its values"  # shown as the codes of the values
    HASH = "a hash and a bucket"  # shown as (coefficients of the hashes, buckets)


class Protocol(ABC):
    """What planner, randomizer, counter and estimator ask of a protocol. In a plan it is bound to one feature."""

    name: ClassVar[str]
    protects: ClassVar[bool] = True  # Whether answers are randomized at all.
    exact_patterns: ClassVar[bool] = (
        True  # Whether `pattern_probabilities` are exact; else bits are taken as independent.
    )
    columns: int  # evidence columns: 1 for a flag, m for a choice of m values, 0 before it is bound
    fresh: int = SCALE  # numerator of the coin that leaves a kept answer as it is, in each report; 65 536 without one

    # -- what each protocol says of itself -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def dependence(self) -> Dependence:
        """The probabilities of several evidence bits being 1 together, exactly."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """What a report shows of the feature."""

    @property
    @abstractmethod
    def odds(self) -> tuple[float, float]:
        """Likelihood of a choice's value whose evidence bit is 1, and of one whose bit is 0, up to one factor."""

    @property
    @abstractmethod
    def integers(self) -> dict[str, int]:
        """The numbers that a plan's JSON keeps: numerators over 65 536, and numbers of buckets or values."""

    @classmethod
    @abstractmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        """The bound protocol with these integers."""

    @abstractmethod
    def bind(self, feature: Feature) -> Self:
        """The same protocol for this feature, its integers fixed."""

    @abstractmethod
    def randomize(self, codes: Codes, draws: Draws) -> Shown:
        """What reports show of these true codes, in its form."""

    @property
    def always_marked(self) -> int | None:
        """How many evidence bits are 1 in every report; None if that varies."""
        return None

    def background(self, bits: npt.NDArray[np.bool_]) -> Array:
        """P(evidence) over `odds`, up to one factor for all evidence: what `likelihood` leaves out."""
        return np.asarray(np.where(bits, self.p, 1 - self.p).prod(axis=-1), np.float64)

    # -- what follows from it ------------------------------------------------------------------------------------------

    @property
    def channel(self) -> Channel:
        """P(evidence bit = 1) of a false value and of the true one, exactly."""
        return Channel(self.dependence.p, self.dependence.q)

    @property
    def p(self) -> float:
        """P(evidence bit = 1) of a value that is not true."""
        return float(self.channel.p)

    @property
    def q(self) -> float:
        """P(evidence bit = 1) of the true value."""
        return float(self.channel.q)

    @property
    def ratio(self) -> Fraction:
        """e^epsilon, exactly."""
        return ratio({"name": self.name, **self.integers}, self.columns)

    @property
    def epsilon(self) -> float:
        """What a report of this feature costs: ln(ratio), rounded up in its last digit."""
        return log_up([self.ratio])

    @property
    def ratio_1(self) -> Fraction:
        """e^epsilon of one report after the fresh coin, exactly; `ratio` without one."""
        return ratio({"name": self.name, **self.integers}, self.columns, self.fresh)

    def with_fresh(self, fresh: int) -> Self:
        """The bound protocol with a fresh coin over its kept answer, which p, q and all that follows are then of."""
        self._check_bound()
        if self.name not in ONE_VALUE:
            raise PlanError(f"a fresh coin is for {', '.join(ONE_VALUE)} alone; found {self.name}")
        own = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return self._made(**own | {"fresh": fresh}) if self.protects else self

    @property
    def codes(self) -> range:
        """The codes that have an evidence column: True alone of a flag, all of a choice."""
        # The schema says the same of a feature, which has no protocol yet; a bound protocol is asked alone.
        return range(1, 2) if self.columns == 1 else range(self.columns)

    @property
    def sums_to_one(self) -> bool:
        """Whether one report's estimates of a choice's values sum to 1 by themselves, so that nothing is to centre."""
        return self.columns > 1 and self.always_marked is not None

    def noise(self, code: int) -> Array:
        """The covariance N(x) of one report's unbiased estimate, over the evidence columns, if the truth is `code`."""
        self._check_bound()
        if not 0 <= code < max(self.columns, 2):
            raise PlanError(f"a code here is below {max(self.columns, 2)}; found {abbreviated(code)}")
        # The dense twin of `inference.one_feature`, which uses the same four numbers: tests hold one against the other.
        c0, c1, alpha, beta = self.dependence.noise
        true = (np.array(self.codes) == code).astype(np.float64)
        one = np.ones(self.columns)
        covariance = c0 * np.eye(self.columns) + c1 + alpha * np.outer(true, true)
        return covariance + beta * (np.outer(true, one) + np.outer(one, true))

    @property
    def total_variance(self) -> float:
        """Total variance of one report's centred estimate: of a choice whatever is true, of a flag on average."""
        self._check_bound()
        return self.dependence.total_variance(self.columns)

    @property
    def several(self) -> bool:
        """Whether a report may show several bits at once, so that its whole pattern says more than each bit alone."""
        return self.columns > 1 and self.form is not Form.VALUE

    @property
    def pattern_count(self) -> int:
        """How many patterns of evidence `patterns` lists."""
        return 1 << self.columns if self.several else max(2, self.columns)

    @property
    def patterns(self) -> npt.NDArray[np.int64]:
        """What evidence a report can show: one value, or each bit set or not, the first changing last."""
        self._check_bound()
        if self.columns > 1 and not self.several:
            return np.eye(self.columns, dtype=np.int64)
        return np.arange(1 << self.columns)[:, None] >> np.arange(self.columns)[::-1] & 1

    @property
    def pattern_evidence(self) -> npt.NDArray[np.int64]:
        """The evidence e = (1, bits) of each pattern, as counts have it on an axis."""
        return np.hstack([np.ones((len(self.patterns), 1), np.int64), self.patterns])

    def likelihood(self, bits: npt.ArrayLike) -> Array:
        """P(evidence | code) for every code, up to one factor for all codes: (..., columns) -> (..., levels)."""
        self._check_bound()
        bits = np.asarray(bits, bool)
        if bits.shape[-1:] != (self.columns,):
            raise PlanError(f"evidence must have {self.columns} bits in its last axis; found shape {bits.shape}")
        if self.columns == 1:
            return np.concatenate([np.where(bits, w, 1 - w) for w in (self.p, self.q)], axis=-1)
        return np.where(bits, *self.odds)

    @property
    def pattern_probabilities(self) -> Array:
        """P(pattern | code): a row for each code, over `patterns`, 0 for those that cannot be shown."""
        patterns = self.patterns.astype(bool)
        law = self.likelihood(patterns)
        if self.several:
            law = law * self.background(patterns)[:, None]
        return np.asarray((law / law.sum(axis=0)).T, np.float64)

    @classmethod
    def _made(cls, **fields: Any) -> Self:
        """An instance with these fields, past the constructor."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made

    def _check_bound(self) -> None:
        if not self.columns:
            raise PlanError(f"{self} does not know its feature yet; put it in a plan and ask plan[name]")

    def _check_fits(self, feature: Feature) -> int:
        """The number of evidence columns of a feature that this protocol can randomize."""
        if len(feature.columns) > 1 and self.name in FLAGS_ONLY:
            kind = "a choice" if isinstance(feature, Choice) else "a flag that may be skipped, so a choice"
            raise PlanError(
                f"{feature.name!r} is {kind} of {feature.levels} values, and {self.name} is for flags; "
                "use GRR, SubsetSelection, UnaryEncoding or LocalHashing"
            )
        if len(feature.columns) == 1 and self.name in CHOICES_ONLY:
            raise PlanError(f"{feature.name!r} is a flag, and {self.name} is for choices; use RandomizedResponse")
        if self.columns not in (0, len(feature.columns)):
            raise PlanError(f"{self} was made for {self.columns} values; {feature.name!r} has {len(feature.columns)}")
        return len(feature.columns)


class AskedFor(Protocol):
    """A protocol whose integers depend on how many values there are: outside a plan it holds the epsilon asked for."""

    asked: Epsilon | None  # None once it is bound

    @property
    def ratio(self) -> Fraction:
        self._check_bound()
        return super().ratio

    @property
    def epsilon(self) -> float:
        """What a report of this feature costs: ln(ratio), rounded up; outside a plan, what was asked for it."""
        return super().epsilon if self.asked is None else float(self.asked)


def bound(protocol: Any, feature: Feature) -> Protocol:
    """The protocol for this feature; what is no protocol is refused."""
    if not isinstance(protocol, Protocol):
        usual = "GRR" if isinstance(feature, Choice) or feature.missing else "RandomizedResponse"
        raise PlanError(
            f"{feature.name!r} needs a protocol such as {usual}(epsilon=1.0); found {abbreviated(protocol)}"
        )
    return protocol.bind(feature)
