"""Many surveys of one setting at once, and how often the intervals of their cells hold the truth.

Reports are not made one by one: how many respondents of each kind show each pattern of evidence is multinomial, feature
by feature, so a survey costs the same whatever its size. Surveys of one setting are estimated all at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates.respondent_group import Group, judge
from deniable.inference.about_whom import Subject
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.intervals import limits
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import answer_rows, invert, weighted
from deniable.simulate import shown_patterns
from deniable.validation.coverage_survey import shares_for as loosely

LEVEL = 0.95
SURVEYS = 8_000  # of each setting at a time
RARE = 0.05  # a setting where fewer surveys claim an interval is left out


@dataclass(frozen=True)
class Setting:
    """One survey to repeat.

    Answers are `loosely` associated; or go `together`, so that most combinations are empty; or nearly all respondents
    give the first one, and the others are `rare`.
    """

    kind: str
    order: int
    epsilon: float
    n: int
    subject: str
    answers: str = "loosely"


@dataclass(frozen=True)
class Coverage:
    """Of one cell: the share of surveys that claimed an interval, and how often the truth was outside of it then."""

    setting: Setting
    cell: tuple[int, ...]
    truth: float
    claimed: float
    below: float  # the truth is below the interval
    above: float

    @property
    def covered(self) -> float:
        return 1 - self.below - self.above

    def in_range(self, slack: float = 0.0) -> bool:
        """94 to 96 % in all, and 1.5 to 3.5 % on each side."""
        return abs(self.covered - 0.95) <= 0.01 + slack and all(
            abs(tail - 0.025) <= 0.01 + slack for tail in (self.below, self.above)
        )


def plan_for(kind: str, order: int, epsilon: float) -> dn.Plan:
    flag, four = dn.RandomizedResponse(epsilon=epsilon), list("abcd")
    match kind:
        case "flags":
            features = [(dn.Flag(f"f{k}"), flag) for k in range(order)]
        case "flags, q = 1/2":
            features = [
                (dn.Flag(f"f{k}"), dn.RandomizedResponse(p=1 / (np.exp(epsilon) + 1), q=0.5)) for k in range(order)
            ]
        case "GRR":
            features = [(dn.Choice(f"f{k}", four), dn.GRR(epsilon=epsilon)) for k in range(order)]
        case "subsets":
            sets = dn.SubsetSelection(epsilon=epsilon, size=2)
            features = [(dn.Choice(f"f{k}", four), sets) for k in range(order)]
        case "unary":
            features = [(dn.Choice(f"f{k}", four[:3]), dn.UnaryEncoding.optimized(epsilon)) for k in range(order)]
        case _:
            features = [
                (dn.Choice("f0", four[:3]), dn.UnaryEncoding.symmetric(epsilon)),
                (dn.Flag("f1"), flag),
                (dn.Choice("f2", four), dn.GRR(epsilon=epsilon)),
                (dn.Choice("f3", four[:2]), dn.UnaryEncoding.optimized(epsilon)),
            ][:order]
    schema = dn.Schema([feature for feature, _ in features])
    return dn.Plan(schema, {feature.name: protocol for feature, protocol in features})


def shares_for(levels: Sequence[int], answers: str) -> Any:
    """A population of two kinds of people, who lean to the first values and to the last; or of people all alike."""
    if answers == "rare":
        falling = [0.07 ** np.arange(m) if m == 2 else 0.2 ** np.arange(m) for m in levels]
        most = reduce(np.multiply.outer, [v / v.sum() for v in falling])
        return 0.95 * most + 0.05 * np.flip(most)
    if answers == "together":
        table = np.zeros(levels)
        for value in range(min(levels)):
            table[(value,) * len(levels)] = 1 / (value + 1)
        return table / table.sum()
    return loosely(levels)


def simulated(plan: dn.Plan, people: Any, rng: np.random.Generator) -> Any:
    """Counts of surveys, from how many respondents of each kind took part in each: (surveys, levels...)."""
    tensor = shown_patterns(plan.protocols, people, rng)
    for protocol in plan.protocols:
        tensor = np.moveaxis(np.tensordot(tensor, protocol.pattern_evidence, axes=([1], [0])), -1, tensor.ndim - 1)
    return tensor


def cells_of(shares: Any) -> list[tuple[int, ...]]:
    """The most common combination of answers, the rarest, and one between."""
    order = np.argsort(shares, axis=None)
    places = dict.fromkeys((order[-1], order[len(order) // 2], order[0]))
    return [tuple(int(i) for i in np.unravel_index(place, shares.shape)) for place in places]


def weights_of(axes: Sequence[Axis], cell: Sequence[int]) -> list[Any]:
    return [answer_rows(axis.m)[x : x + 1] for axis, x in zip(axes, cell, strict=True)]


@dataclass(frozen=True)
class Surveys:
    """Many surveys of one setting: who took part (surveys, levels...), counts (surveys, 1 + columns...), and estimates.

    Estimates have the surveys last.
    """

    setting: Setting
    plan: dn.Plan
    shares: Any
    people: Any
    tensors: Any
    axes: tuple[Axis, ...]  # with each survey's own weights of centring
    estimates: Any

    @property
    def subject(self) -> Subject:
        return Subject(self.setting.subject)

    def counts(self, survey: int) -> dn.Counts:
        """What was counted in one survey."""
        return dn.Counts(self.plan, {self.plan.schema.names: self.tensors[survey]})

    def truth(self, cell: tuple[int, ...]) -> Any:
        """The true number, in each survey."""
        expected = np.full(len(self.people), self.setting.n * self.shares[cell])
        return expected if self.subject is Subject.POPULATION else self.people[(slice(None), *cell)]

    def limits(self, cell: tuple[int, ...], *, corrected: bool = True) -> tuple[Any, Any, Any]:
        """Low and high of each survey's interval, and whether it claims it; or those of the plain normal interval."""
        rows = weights_of(self.axes, cell)
        axes, n = self.axes, self.setting.n
        found, enough = judge([Group(n, axes, self.estimates)], rows, self.subject)  # all surveys at once
        claims = enough.reshape(-1)
        if not corrected:
            found = replace(found, third=0 * found.third, covariance_with_variance=0 * found.covariance_with_variance)
        low, high = (limit.reshape(-1) for limit in limits(found, LEVEL))
        if len(axes) == 1 and corrected:
            for k in range(len(low)):
                group = Group(n, axes, self.estimates[..., k])
                if law := group.exact([matrix[0] for matrix in rows], self.subject):
                    low[k], high[k] = exact_limits(law)
                    claims[k] |= law.enough
        return low, high, claims


@lru_cache(maxsize=100_000)
def exact_limits(law: OneColumn) -> tuple[float, float]:
    return law.limits(LEVEL)


def respondents(setting: Setting, runs: int, rng: np.random.Generator) -> Any:
    """How many respondents of each kind take part in each survey; about a population they are drawn anew for each."""
    plan = plan_for(setting.kind, setting.order, setting.epsilon)
    shares = shares_for([max(2, protocol.columns) for protocol in plan.protocols], setting.answers)
    draws = runs if setting.subject == "population" else 1
    return _repeated(rng.multinomial(setting.n, shares.reshape(-1), size=draws).reshape(draws, *shares.shape), runs)


def _repeated(people: Any, runs: int) -> Any:
    return np.broadcast_to(people, (runs, *people.shape[1:]))


def surveys(setting: Setting, people: Any, rng: np.random.Generator) -> Surveys:
    plan = plan_for(setting.kind, setting.order, setting.epsilon)
    shares = shares_for(people.shape[1:], setting.answers)
    tensors = simulated(plan, people, rng)
    counts = np.moveaxis(tensors, 0, -1)
    axes = weighted([Axis.of(protocol, centred=True) for protocol in plan.protocols], counts)
    return Surveys(setting, plan, shares, people, tensors, axes, invert(axes, counts))


def coverage(
    setting: Setting, runs: int, rng: np.random.Generator, people: Any = None
) -> list[tuple[Coverage, Coverage]]:
    """Of three cells: with our intervals, and with plain normal ones in the surveys where ours are claimed.

    About these `people`, if they are given and it is not about the population.
    """
    people = respondents(setting, 1, rng) if people is None else people
    tallies: dict[tuple[int, ...], Any] = {}
    for start in range(0, runs, SURVEYS):
        size = min(runs - start, SURVEYS)
        drawn = setting.subject == "population"
        many = surveys(setting, respondents(setting, size, rng) if drawn else _repeated(people, size), rng)
        for cell in cells_of(many.shares):
            truth = many.truth(cell)
            *ours, claims = many.limits(cell)
            *plain, _ = many.limits(cell, corrected=False)
            outside = [[(truth < low)[claims].sum(), (truth > high)[claims].sum()] for low, high in (ours, plain)]
            tallies[cell] = tallies.get(cell, 0) + np.array([claims.sum(), *outside[0], *outside[1]])
    found = []
    for cell, (claimed, *outside) in tallies.items():
        below_above = np.array(outside) / claimed if claimed >= RARE * runs else np.full(4, np.nan)
        true = float(setting.n * many.shares[cell] if setting.subject == "population" else people[(0, *cell)])
        ours, plain = (
            Coverage(setting, cell, true, claimed / runs, *map(float, below_above[k : k + 2])) for k in (0, 2)
        )
        found.append((ours, plain))
    return found
