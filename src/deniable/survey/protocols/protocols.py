"""How one feature is randomized, as frozen integers over 65 536.

Every protocol here is pure: given the truth x, the evidence bit of value v is 1 with probability q if v = x, else p.
They differ in how the bits of one feature hang together: independently, or excluding each other (`exclusive`).

    z_v = (bit_v - p) / (q - p)                        one report's own unbiased estimate of [x = v]
    pi_v = p + (q - p) [x = v]
    Cov(z | x) = diag(pi (1 - pi)) / (q - p)^2         independent bits
               = (diag(pi) - pi pi') / (q - p)^2       exclusive bits
    ratio = e^epsilon                                  the most that a report changes anybody's odds, a fraction

An asked epsilon is rounded down to the largest that the integers reach, and `epsilon` is that of the integers, rounded
up in its last binary digit: never above what was asked, never below the truth. GRR and local hashing depend on how many
values there are, so outside a plan they hold only what was asked.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable.client import CHOICES_ONLY, FLAGS_ONLY, INTEGERS, SCALE, log_up, ratio
from deniable.errors import PlanError
from deniable.survey.schema import Choice, Feature, Flag

Array = npt.NDArray[np.float64]
Epsilon = float | Fraction

HALF = SCALE // 2
MOST_EPSILON = 64  # of one feature: integers over 65 536 reach 28 at most
MOST_UNARY = 128  # values: beyond this a report by unary encoding is long, and local hashing nearly as good
TIE = 1.01  # total variances within one per cent are a tie: the shorter report and the cheaper evidence decide


class Channel(NamedTuple):
    """One evidence bit: 1 with probability q if its value is the true one, else p. Exact fractions."""

    p: Fraction
    q: Fraction

    def then(self, other: "Channel | RandomizedResponse") -> "Channel":
        """First this, then the other on its output: randomized responses form a monoid."""
        if isinstance(other, RandomizedResponse):
            other = other.channel
        if not isinstance(other, Channel):
            raise PlanError(f"only randomized responses compose; found {other!r}")
        spread = other.q - other.p
        return Channel(self.p * spread + other.p, self.q * spread + other.p)

    @property
    def epsilon(self) -> float:
        """The epsilon of showing this one bit, rounded up in its last digit."""
        return log_up([max(self.q / self.p, (1 - self.p) / (1 - self.q))])


class Protocol(ABC):
    """What planner, randomizer and estimator ask of a protocol. In a plan it is bound to one feature."""

    name: ClassVar[str]
    exclusive: ClassVar[bool] = False
    columns: int  # evidence columns: 1 for a flag, m for a choice of m values, 0 before it is bound

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """P(evidence bit = 1) of a false value and of the true one, exactly."""

    @property
    @abstractmethod
    def odds(self) -> tuple[float, float]:
        """Likelihood of a choice's value whose evidence bit is 1, and of one whose bit is 0, up to one factor."""

    @property
    @abstractmethod
    def integers(self) -> dict[str, int]:
        """The numbers that a plan's JSON keeps: numerators over 65 536, and buckets."""

    @classmethod
    @abstractmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        """The bound protocol with these integers."""

    @abstractmethod
    def bind(self, feature: Feature) -> Self:
        """The same protocol for this feature, its integers settled."""

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

    def noise(self, code: int) -> Array:
        """Cov(z | truth = code), over the evidence columns."""
        self._check_bound()
        if not 0 <= code < max(self.columns, 2):
            raise PlanError(f"a code here is below {max(self.columns, 2)}; found {code!r}")
        p, q = self.p, self.q
        pi = np.where(np.array([1] if self.columns == 1 else range(self.columns)) == code, q, p)
        covariance = np.diag(pi) - np.outer(pi, pi) if self.exclusive else np.diag(pi * (1 - pi))
        return covariance / (q - p) ** 2

    @property
    def several(self) -> bool:
        """Whether a report may show several bits at once, so that its whole pattern says more than each bit alone."""
        return self.columns > 1 and not self.exclusive

    @property
    def patterns(self) -> npt.NDArray[np.int64]:
        """What evidence a report can show: one value, or each bit set or not, the first changing last."""
        self._check_bound()
        if self.columns > 1 and not self.several:
            return np.eye(self.columns, dtype=np.int64)
        return np.arange(1 << self.columns)[:, None] >> np.arange(self.columns)[::-1] & 1

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
    def total_variance(self) -> float:
        """Total variance of one report's centred estimate, all answers being equally frequent.

        Centring takes the mean off a choice's independent bits; exclusive bits sum to 1 and have nothing to centre,
        nor has a flag.
        """
        self._check_bound()
        m, p, q = self.columns, self.p, self.q
        if m == 1:
            return (q * (1 - q) + p * (1 - p)) / 2 / (q - p) ** 2
        plain = (q * (1 - q) + (m - 1) * p * (1 - p)) / (q - p) ** 2
        return plain if self.exclusive else plain * (1 - 1 / m)

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
        if isinstance(feature, Choice) and self.name in FLAGS_ONLY:
            raise PlanError(
                f"{feature.name!r} is a choice of {feature.levels} values, and {self.name} is for flags; "
                "use GRR, UnaryEncoding or LocalHashing"
            )
        if isinstance(feature, Flag) and self.name in CHOICES_ONLY:
            raise PlanError(f"{feature.name!r} is a flag, and {self.name} is for choices; use RandomizedResponse")
        if self.columns not in (0, len(feature.columns)):
            raise PlanError(f"{self} was made for {self.columns} values; {feature.name!r} has {len(feature.columns)}")
        return len(feature.columns)


class BitByBit(Protocol):
    """Independent bits: that of the true value is 1 with probability q, any other with p, numerators over 65 536."""

    p_numerator: int
    q_numerator: int

    @property
    def channel(self) -> Channel:
        return Channel(Fraction(self.p_numerator, SCALE), Fraction(self.q_numerator, SCALE))

    @property
    def odds(self) -> tuple[float, float]:
        return self.q / self.p, (1 - self.q) / (1 - self.p)  # against the report's probability were no value true

    @property
    def integers(self) -> dict[str, int]:
        return {"p": self.p_numerator, "q": self.q_numerator}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        unbound = cls._made(p_numerator=integers["p"], q_numerator=integers["q"], columns=0)
        return unbound.bind(feature)

    def bind(self, feature: Feature) -> Self:
        return self._made(**self.__dict__ | {"columns": self._check_fits(feature)})


@dataclass(frozen=True, init=False)
class RandomizedResponse(BitByBit):
    """For flags, by p and q or by epsilon: q = 1 - p = e^epsilon / (1 + e^epsilon).

    Both answers must stay deniable: ratio = max(q / p, (1 - p) / (1 - q)).
    p is rounded up and q down to the grid, which can only make epsilon smaller.
    """

    p_numerator: int
    q_numerator: int
    columns: int
    name = "randomized response"

    def __init__(self, *, p: Epsilon | None = None, q: Epsilon | None = None, epsilon: Epsilon | None = None) -> None:
        if epsilon is not None and p is None and q is None:
            top = largest(lambda k: Fraction(k, SCALE - k), epsilon, least=HALF + 1)
            self.__dict__.update(p_numerator=SCALE - top, q_numerator=top, columns=1)
        elif epsilon is None and p is not None and q is not None:
            self.__dict__.update(_inside(p, q), columns=1)
        else:
            raise PlanError("RandomizedResponse takes p and q, or epsilon alone")

    def then(self, other: "RandomizedResponse | Channel") -> Channel:
        """First this, then the other on its output: the effective p and q, as exact fractions."""
        return self.channel.then(other)


@dataclass(frozen=True, init=False)
class UnaryEncoding(BitByBit):
    """For choices: one bit per value, by p and q, or `symmetric` (SUE) or `optimized` (OUE) by epsilon.

    Two answers differ in two bits: ratio = q (1 - p) / (p (1 - q)). p is rounded up and q down to the grid.
    """

    p_numerator: int
    q_numerator: int
    columns: int
    name = "unary encoding"

    def __init__(self, *, p: Epsilon, q: Epsilon) -> None:
        self.__dict__.update(_inside(p, q), columns=0)

    @classmethod
    def symmetric(cls, epsilon: Epsilon) -> Self:
        """Here q = 1 - p = e^(epsilon / 2) / (1 + e^(epsilon / 2)), as in basic RAPPOR."""
        top = largest(lambda k: Fraction(k, SCALE - k) ** 2, epsilon, least=HALF + 1)
        return cls._made(p_numerator=SCALE - top, q_numerator=top, columns=0)

    @classmethod
    def optimized(cls, epsilon: Epsilon) -> Self:
        """Here q = 1/2, p = 1 / (1 + e^epsilon): the least variance for rare values."""
        top = largest(lambda k: Fraction(k, SCALE - k), epsilon, least=HALF + 1)
        return cls._made(p_numerator=SCALE - top, q_numerator=HALF, columns=0)


class KeepOrUniform(Protocol):
    """An exact coin a = keep / 65 536 keeps the outcome; else it is drawn uniformly from all n outcomes.

    P(outcome shown) = a + (1 - a) / n if it is the true one, else (1 - a) / n; ratio = 1 + n keep / (65 536 - keep).
    """

    asked: Epsilon | None  # until it is bound
    keep: int

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Among how many the shown outcome is chosen."""

    @property
    def shown(self) -> Channel:
        """P(an outcome is shown), if it is not the true one and if it is."""
        self._check_bound()
        other = Fraction(SCALE - self.keep, SCALE * self.outcomes)
        return Channel(other, other + Fraction(self.keep, SCALE))

    @property
    def ratio(self) -> Fraction:
        self._check_bound()
        return super().ratio

    @property
    def epsilon(self) -> float:
        """What a report of this feature costs: ln(ratio), rounded up; outside a plan, what was asked for it."""
        return super().epsilon if self.asked is None else float(self.asked)

    @property
    def odds(self) -> tuple[float, float]:
        return float(self.shown.q), float(self.shown.p)


@dataclass(frozen=True, init=False)
class GRR(KeepOrUniform):
    """Generalized randomized response: the value itself, or a uniform one. Evidence is the one value shown."""

    asked: Epsilon | None
    keep: int
    columns: int
    name = "GRR"
    exclusive = True

    def __init__(self, *, epsilon: Epsilon) -> None:
        self.__dict__.update(asked=check_epsilon(epsilon), keep=0, columns=0)

    @property
    def outcomes(self) -> int:
        return self.columns

    @property
    def channel(self) -> Channel:
        return self.shown

    @property
    def integers(self) -> dict[str, int]:
        return {"keep": self.keep}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        return cls._made(asked=None, keep=integers["keep"], columns=len(feature.columns)).bind(feature)

    def bind(self, feature: Feature) -> Self:
        m = self._check_fits(feature)
        return self if self.asked is None else self._made(asked=None, keep=coin(self.asked, m), columns=m)


@dataclass(frozen=True, init=False)
class LocalHashing(KeepOrUniform):
    """GRR on the bucket, one of g, that a hash drawn afresh for the report gives the value.

    Evidence: every value that this hash sends to the shown bucket; q as shown, p = 1 / g. Any four values hash
    independently, so the bits of two values are as good as independent. (Buckets of a prime number of hashes cannot be
    equal: p is off by less than 1e-12 of itself.) By default g is the best whole number for epsilon below m, or 2.
    """

    asked: Epsilon | None
    keep: int
    buckets: int
    columns: int
    name = "local hashing"

    def __init__(self, *, epsilon: Epsilon, buckets: int | None = None) -> None:
        least, most = INTEGERS[self.name]["buckets"]
        if buckets is not None and (type(buckets) is not int or not least <= buckets <= most):
            raise PlanError(f"buckets must be a whole number from {least} to {most}; found {buckets!r}")
        self.__dict__.update(asked=check_epsilon(epsilon), keep=0, buckets=buckets or 0, columns=0)

    @property
    def outcomes(self) -> int:
        return self.buckets

    @property
    def channel(self) -> Channel:
        return Channel(Fraction(1, self.buckets), self.shown.q)

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


@dataclass(frozen=True, init=False)
class Public(Protocol):
    """Shown as it is: p = 0, q = 1. It spends none of the budget because it is NOT PROTECTED at all."""

    columns: int
    name = "public"
    exclusive = True

    def __init__(self) -> None:
        self.__dict__.update(columns=0)

    @property
    def channel(self) -> Channel:
        return Channel(Fraction(0), Fraction(1))

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


PROTOCOLS: dict[str, type[Protocol]] = {
    protocol.name: protocol for protocol in (RandomizedResponse, GRR, UnaryEncoding, LocalHashing, Public)
}


def best(feature: Feature, epsilon: Epsilon) -> Protocol:
    """The protocol of least total variance for this feature; a tie goes to GRR, then OUE, then local hashing."""
    if isinstance(feature, Flag):
        return RandomizedResponse(epsilon=epsilon).bind(feature)
    kinds: list[Callable[[Epsilon], Protocol]] = [lambda e: GRR(epsilon=e), lambda e: LocalHashing(epsilon=e)]
    if feature.levels <= MOST_UNARY:
        kinds.insert(1, UnaryEncoding.optimized)
    candidates, too_small = [], None
    for kind in kinds:
        try:
            candidates.append(kind(epsilon).bind(feature))
        except PlanError as error:  # the more outcomes, the larger the least epsilon
            too_small = error
    if too_small and not candidates:
        raise too_small
    least = min(protocol.total_variance for protocol in candidates)
    return next(protocol for protocol in candidates if protocol.total_variance <= TIE * least)


def best_buckets(epsilon: float, m: int) -> int:
    """The number of buckets, below m (but 2 for two values), with the least total variance for equal frequencies."""
    g = np.arange(2, max(m, 3))
    odds = math.exp(epsilon)
    p, q = 1 / g, odds / (odds + g - 1)
    return int(g[np.argmin((q * (1 - q) + (m - 1) * p * (1 - p)) / (q - p) ** 2)])


# -- the grid ---------------------------------------------------------------------------------------------------------


def coin(epsilon: Epsilon, n: int) -> int:
    """The largest numerator of a coin that keeps one of n outcomes within epsilon."""
    return largest(lambda k: 1 + Fraction(n * k, SCALE - k), epsilon, least=1)


def largest(rising: Callable[[int], Fraction], epsilon: Epsilon, *, least: int) -> int:
    """The largest numerator from `least` on whose e^epsilon, which rises with it, is within that asked for."""
    limit = exp_down(check_epsilon(epsilon))
    numerator = least - 1 + bisect_right(range(least, SCALE), limit, key=rising)
    if numerator < least:
        raise PlanError(
            f"epsilon {float(epsilon)!r} is too small for probabilities over {SCALE}; "
            f"the least possible here is {log_up([rising(least)])!r}"
        )
    return numerator


def check_epsilon(epsilon: Any) -> Epsilon:
    """Let a positive, finite number pass, up to more than one feature can reach."""
    exact = min(positive(epsilon), Fraction(MOST_EPSILON))
    return exact if isinstance(epsilon, Fraction) else float(exact)


def positive(epsilon: Any) -> Fraction:
    """A positive, finite number, exactly."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not 0 < epsilon < math.inf:  # type: ignore[operator]
        raise PlanError(f"epsilon must be a positive number; found {epsilon!r}")
    if isinstance(epsilon, Rational):
        return Fraction(int(epsilon.numerator), int(epsilon.denominator))  # numpy's integers would wrap around
    return Fraction(float(epsilon))


def exp_down(epsilon: Epsilon) -> Fraction:
    """e^epsilon, or a fraction below it by less than one part in 1e48."""
    exact = Fraction(epsilon)
    with localcontext(Context(prec=50, rounding=ROUND_FLOOR)):
        return Fraction((Decimal(exact.numerator) / exact.denominator).exp().next_minus())


def _inside(p: Epsilon, q: Epsilon) -> dict[str, int]:
    """Numerators for p rounded up and q rounded down."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, Real) or not 0 < value < 1:
            raise PlanError(
                f"{name} must be a number above 0 and below 1; found {value!r}. To show a column as it is, use Public()"
            )
    low, high = math.ceil(_exact(p) * SCALE), math.floor(_exact(q) * SCALE)
    if not 0 < low < high < SCALE:
        raise PlanError(f"p must be below q by at least 1/{SCALE}; found p = {p!r}, q = {q!r}")
    return {"p_numerator": low, "q_numerator": high}


def _exact(number: Epsilon) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(float(number))
