"""The second moments of what one report says of one feature, as a short sum of squares: M(t) = Z' diag(W t) Z.

Z has a row for each of some vectors, W t is a weight for each, linear in the shares t of the answers. Of several
features both are Kronecker products, so that a product with the moments at *any* joint table is one small step along
each axis, forth and back, and the matrix is never made. All functions work on the last axis of a tensor.

A feature of which a report shows one value (GRR, a flag, a public column) has the vectors z of what can be shown, with
their probabilities as weights. There are as many as answers, so M^-1 has the same form, with 1 / (W t): `OneShown`.

Where several bits may be set, one report's numbers are z = (1, z_1, ..., z_m), or (z_1, ..., z_m) if these sum to 1 by
themselves, and with o = (0, 1, ..., 1) and b = e_0 + beta o (or beta o) their moments given the answer s are

    e_0 e_0' + c0 I + c1 o o' + b e_s' + e_s b' + (1 + alpha) e_s e_s',
    b e_s' + e_s b' = (e_s + b)(e_s + b)' - e_s e_s' - b b'

in the numbers of `inference.one_feature`: `SeveralShown` has the vectors e_v, e_v + b, b, o and e_0, some with negative
weights. Or, if whole patterns were counted, z is a score for each of them: `Scored`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.estimates.pattern_scores import score
from deniable.inference.one_feature import Array, Axis
from deniable.survey.protocols.base import Protocol

Step = Callable[[Array], Array]  # along the last axis of a tensor


@dataclass(frozen=True)
class OneShown:
    """A feature of which a report shows one value: as many vectors z as there are answers.

    Row r of the channel has the probabilities that r is shown, by answer: p anywhere but on the diagonal, p + d there,
    if it is a choice.
    """

    axis: Axis

    @property
    def answers(self) -> int:
        """How many answers the feature has."""
        return max(2, self.axis.m)

    @property
    def entry_count(self) -> int:
        """How many entries z has."""
        return self.answers

    def entries(self, unbiased: Array) -> Array:
        """What was estimated of all answers, from the estimate of (all, evidence columns)."""
        return (
            np.stack([unbiased[..., 0] - unbiased[..., 1], unbiased[..., 1]], -1) if self._flag else unbiased[..., 1:]
        )

    def expected(self, shares: Array) -> Array:
        """What the entries are expected to be at these shares of answers: the shares."""
        return shares

    def over_answers(self, entries: Array) -> Array:
        """The transpose of `expected`."""
        return entries

    def spread(self, entries: Array) -> Array:
        """Z v."""
        if self._flag:
            return np.asarray(entries @ self._estimates.T)
        return np.asarray((entries - self.axis.p * entries.sum(axis=-1, keepdims=True)) / self.axis.d)

    def gather(self, values: Array) -> Array:
        """Z' v."""
        return np.asarray(values @ self._estimates) if self._flag else self.spread(values)

    def weights(self, shares: Array) -> Array:
        """W t: how likely it is that each value is shown."""
        if self._flag:
            return np.asarray(shares @ self.channel.T)
        return np.asarray(self.axis.p * shares.sum(axis=-1, keepdims=True) + self.axis.d * shares)

    def back(self, values: Array) -> Array:
        """W' v, which is Z^-1 v: what is shown estimates the answer without bias."""
        return np.asarray(values @ self.channel) if self._flag else self.weights(values)

    def squares_back(self, values: Array) -> Array:
        """The squares of the channel's entries, transposed, times v."""
        if self._flag:
            return np.asarray(values @ self.channel**2)
        p, q = self.axis.p, self.axis.p + self.axis.d
        return np.asarray(p**2 * values.sum(axis=-1, keepdims=True) + (q**2 - p**2) * values)

    def inverse(self, shares: Array) -> Step:
        """M^-1 v, where the feature's answers have these shares."""
        shown = self.weights(shares)
        return lambda v: self.back(self.weights(v) / shown)

    def information(self, shares: Array) -> Array:
        """The diagonal of U' M^-1 U, where the feature's answers have these shares."""
        return self.squares_back(1 / self.weights(shares))

    @property
    def cube(self) -> Array:
        """E[z z' | answer], (entries, entries, answers)."""
        vectors, weights = self.spread(np.eye(self.entry_count)), self.weights(np.eye(self.answers))
        return np.asarray(np.einsum("ar,br,sr->abs", vectors, vectors, weights, optimize=True))

    @property
    def _flag(self) -> bool:
        return self.axis.m == 1

    @cached_property
    def channel(self) -> Array:
        """The probabilities of what is shown (rows) by answer, as a matrix."""
        p, q = self.axis.p, self.axis.p + self.axis.d
        return np.array([[1 - p, 1 - q], [p, q]]) if self._flag else p + self.axis.d * np.eye(self.answers)

    @cached_property
    def _estimates(self) -> Array:
        """The estimates z of both answers, by what is shown."""
        return np.asarray(np.linalg.inv(self.channel).T, np.float64)


@dataclass(frozen=True)
class SeveralShown:
    """A feature of which a report may show several values at once."""

    axis: Axis

    @property
    def answers(self) -> int:
        """How many answers the feature has."""
        return self.axis.m

    @property
    def entry_count(self) -> int:
        """How many entries z has."""
        return self.answers + self._first

    @property
    def _first(self) -> int:
        """How many entries are before those of the answers: the number 1, where the others need not sum to it."""
        return 0 if self.axis.adds_up else 1

    @cached_property
    def _ones(self) -> Array:
        return np.array([0.0] * self._first + [1.0] * self.axis.m)

    @cached_property
    def _b(self) -> Array:
        return np.array([1.0] * self._first + [self.axis.noise.beta] * self.axis.m)

    def entries(self, unbiased: Array) -> Array:
        """All that was estimated, or only the answers if these sum to one by themselves."""
        return unbiased[..., 1 - self._first :]

    def expected(self, shares: Array) -> Array:
        """What the entries are expected to be at these shares of answers: U t."""
        return np.concatenate([shares.sum(axis=-1, keepdims=True), shares], -1) if self._first else shares

    def over_answers(self, entries: Array) -> Array:
        """The transpose of `expected`: U' v."""
        return entries[..., 1:] + entries[..., :1] if self._first else entries

    def spread(self, entries: Array) -> Array:
        """Z v, for the vectors e_v, e_v + b, b, o and e_0."""
        answers, b = entries[..., self._first :], (entries @ self._b)[..., None]
        ones = answers.sum(axis=-1, keepdims=True)
        return np.concatenate([answers, answers + b, b, ones, entries[..., : self._first]], -1)

    def gather(self, values: Array) -> Array:
        """Z' v."""
        m, first = self.axis.m, self._first
        both = values[..., m : 2 * m]
        entries = np.asarray((both.sum(axis=-1, keepdims=True) + values[..., 2 * m, None]) * self._b)
        entries[..., first:] += values[..., :m] + both + values[..., 2 * m + 1, None]
        entries[..., :first] += values[..., 2 * m + 2 :]
        return entries

    def weights(self, shares: Array) -> Array:
        """W t, in the order of `spread`."""
        c0, c1, alpha, _ = self.axis.noise
        whole = shares.sum(axis=-1, keepdims=True)
        return np.concatenate([c0 * whole + alpha * shares, shares, -whole, c1 * whole, *[whole] * self._first], -1)

    def inverse(self, shares: Array) -> Step:
        """M^-1 v where the feature's answers have these shares, by Woodbury's formula: M is a diagonal and rank 3."""
        diagonal, C, middle = self._woodbury(shares)

        def solve(v: Array) -> Array:
            scaled = v / diagonal
            return np.asarray(scaled - (scaled @ C) @ middle.T @ (C / diagonal[:, None]).T)

        return solve

    def information(self, shares: Array) -> Array:
        """The diagonal of U' M^-1 U, where the feature's answers have these shares."""
        diagonal, C, middle = self._woodbury(shares)
        up = self.over_answers((C / diagonal[:, None]).T).T
        return np.asarray(self.over_answers(1 / diagonal) - ((up @ middle) * up).sum(axis=1))

    @property
    def cube(self) -> Array:
        """E[z z' | answer], (entries, entries, answers)."""
        vectors, weights = self.spread(np.eye(self.entry_count)), self.weights(np.eye(self.answers))
        return np.asarray(np.einsum("ar,br,sr->abs", vectors, vectors, weights, optimize=True))

    def _woodbury(self, shares: Array) -> tuple[Array, Array, Array]:
        """D, C and G of M^-1 = D^-1 - D^-1 C G C' D^-1, for M = D + C K C'."""
        c0, c1, alpha, _ = self.axis.noise
        diagonal = np.concatenate([np.ones(self._first), c0 + (1 + alpha) * shares])
        own = np.concatenate([np.zeros(self._first), shares])
        C = np.stack([self._b, own, self._ones], axis=1)
        K = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, c1]])
        return diagonal, C, np.linalg.solve(np.eye(3) + K @ C.T @ (C / diagonal[:, None]), K)


@dataclass(frozen=True, eq=False)
class Scored:
    """A feature of which whole patterns of several values were counted: z is an estimate for each pattern."""

    estimates: Array  # z of each pattern, (patterns, answers)
    law: Array  # P(pattern | answer), (patterns, answers)

    @property
    def answers(self) -> int:
        """How many answers the feature has."""
        return int(self.law.shape[1])

    @property
    def entry_count(self) -> int:
        """How many entries z has."""
        return self.answers

    def expected(self, shares: Array) -> Array:
        """What the entries are expected to be at these shares of answers: the shares."""
        return shares

    def over_answers(self, entries: Array) -> Array:
        """The transpose of `expected`."""
        return entries

    def spread(self, entries: Array) -> Array:
        """Z v."""
        return np.asarray(entries @ self.estimates.T)

    def gather(self, values: Array) -> Array:
        """Z' v."""
        return np.asarray(values @ self.estimates)

    def weights(self, shares: Array) -> Array:
        """W t: how likely each pattern is."""
        return np.asarray(shares @ self.law.T)

    @property
    def cube(self) -> Array:
        """E[z z' | answer], (entries, entries, answers)."""
        vectors, weights = self.spread(np.eye(self.entry_count)), self.weights(np.eye(self.answers))
        return np.asarray(np.einsum("ar,br,sr->abs", vectors, vectors, weights, optimize=True))

    def inverse(self, shares: Array) -> Step:
        """M^-1 v, where the feature's answers have these shares."""
        matrix = np.linalg.inv(self.cube @ shares)
        return lambda v: v @ matrix

    def information(self, shares: Array) -> Array:
        """The diagonal of M^-1, where the feature's answers have these shares."""
        return np.diagonal(np.linalg.inv(self.cube @ shares))


Moments = OneShown | SeveralShown | Scored


def moments_of_bits(protocol: Protocol) -> OneShown | SeveralShown:
    """The moments of a feature's evidence bits, one by one."""
    axis = Axis.of(protocol, centred=False)
    return SeveralShown(axis) if axis.outcomes is None else OneShown(axis)


def moments_of_patterns(protocol: Protocol, shares: Array) -> OneShown | Scored:
    """The moments of what a feature's patterns say, where its answers have about these shares."""
    axis = Axis.of(protocol, centred=False)
    if axis.outcomes is not None:
        return OneShown(axis)
    return Scored(score(protocol, shares).estimates(protocol), protocol.pattern_probabilities.T)


def in_turn(tensor: Array, steps: Sequence[Step]) -> Array:
    """One step along each axis of a tensor, in order."""
    for step in steps:
        tensor = step(np.moveaxis(tensor, 0, -1))
    return tensor
