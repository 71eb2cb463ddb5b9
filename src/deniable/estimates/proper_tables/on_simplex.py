"""Quadratic programming over the simplex by products with the form alone: x >= 0 with the sum 1, and many cells.

Gradient projection says which cells are positive, and conjugate gradients find the least value on these (Moré and
Toraldo); what comes out negative there is projected again. Distances are in the metric of the form's diagonal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from deniable.estimates.proper_tables.large_seen import QuadraticForm
from deniable.inference.one_feature import Array
from deniable.text.progress import told

# Cells leave and enter in at most so many rounds.
MOST_ROUNDS = 1_000
# So many rounds that bring nothing nearer are the last.
MOST_IDLE = 20
# Conjugate gradients take at most so many steps in one round.
MOST_STEPS = 200
# While some cells are negative, conjugate gradients end when a step gains no more than this part of the best one.
STALLED = 0.1
# The projected gradient's step is made at most so many times longer or shorter at once.
LONGER = 10.0


@dataclass(frozen=True, eq=False)
class Point:
    """A table x of shares, and the gradient of a quadratic form there."""

    x: Array
    gradient: Array

    @cached_property
    def gap(self) -> float:
        """The most that the value can be above the least: that of going to the best single cell, along the tangent."""
        return float(self.gradient.reshape(-1) @ self.x.reshape(-1) - self.gradient.min())

    def change(self, step: Array, image: Array) -> float:
        """By how much a step changes the value, given its product with the form."""
        return float((self.gradient * step).sum() + (step * image).sum() / 2)


def least_on_simplex(form: QuadraticForm, start: Array, tolerance: float) -> Point:
    """Minimise x'Hx / 2 - b'x over x >= 0 with the sum 1, until it is at most the tolerance above the least.

    Where rounding or time does not allow it, the point is as near as it came; its gap says how near.
    """
    best, idle = Point(start, form.gradient(start)), 0
    for now in told(
        islice(_rounds(form, best, tolerance), MOST_ROUNDS), lambda now: f"the misfit may still fall by {now.gap:.1e}"
    ):
        idle = idle + 1 if now.gap >= best.gap else 0
        best = min(best, now, key=lambda one: one.gap)
        if best.gap <= tolerance or idle == MOST_IDLE:
            break
    return best


def _rounds(form: QuadraticForm, now: Point, tolerance: float) -> Iterator[Point]:
    """The start, and where each round of gradient projection and conjugate gradients ends."""
    length = 1.0
    while True:
        yield now
        moved, length = _gradient_step(form, now, length)
        following = _on_face(form, moved, tolerance)
        following /= following.sum()
        now = Point(following, form.gradient(following))


def _gradient_step(form: QuadraticForm, now: Point, length: float) -> tuple[Point, float]:
    """A step along the projected gradient, not beyond the least value on it; and how long the next may be."""
    step = projected(now.x - length * now.gradient / form.diagonal, form.diagonal) - now.x
    image = form.product(step)
    best = -float((now.gradient * step).sum()) / max(float((step * image).sum()), 1e-300)
    part = min(1.0, best)
    length *= min(max(best, 1 / LONGER), LONGER)
    return Point(np.maximum(now.x + part * step, 0), now.gradient + part * image), length


def _on_face(form: QuadraticForm, now: Point, tolerance: float) -> Array:
    """A lower point from that of the least value on the positive cells, which is projected if any cell is negative."""
    whole = _conjugate_gradients(form, now, tolerance)
    if (now.x + whole >= 0).all():
        return now.x + whole
    part = 1.0
    while part > 1e-3:
        there = projected(now.x + part * whole, form.diagonal)
        if now.change(there - now.x, form.product(there - now.x)) < 0:
            return there
        part /= 4
    falling = whole < 0
    reach = min(1.0, float((now.x[falling] / -whole[falling]).min()))
    return np.maximum(now.x + reach * whole, 0)


def _conjugate_gradients(form: QuadraticForm, now: Point, tolerance: float) -> Array:
    """The step to the least value on the cells that are positive, whatever signs it leads to.

    The residual is kept free of what the sum holds, which would be all of it in the end, and its rounding with it.
    """
    free = now.x > 0
    inverse = np.where(free, 1 / form.diagonal, 0.0)
    total = inverse.sum()

    def on_face(residual: Array) -> Array:
        return np.where(free, residual - (residual * inverse).sum() / total, 0.0)

    whole, residual = np.zeros_like(now.x), on_face(-now.gradient)
    step, size, best = residual * inverse, float((residual**2 * inverse).sum()), 0.0
    for _ in range(MOST_STEPS):
        if residual.max() - residual.min() <= tolerance / 4:
            break
        image = form.product(step)
        length = size / float((step * image).sum())
        whole, residual = whole + length * step, on_face(residual - length * image)
        best = max(best, length * size)
        if length * size <= STALLED * best and (now.x + whole).min() < 0:
            break
        size, before = float((residual**2 * inverse).sum()), size
        step = residual * inverse + size / before * step
        step -= step.sum() / total * inverse
    return whole


def projected(y: Array, weights: Array) -> Array:
    """The table x of shares, x >= 0 with the sum 1, closest to y in the metric of the weights: max(y - c / w, 0)."""
    line, inverse = y.reshape(-1), 1 / weights.reshape(-1)
    order = np.argsort(-line / inverse)
    above, below = np.cumsum(line[order]) - 1, np.cumsum(inverse[order])
    levels = above / below  # c, if so many cells are positive
    positive = int(np.flatnonzero(line[order] / inverse[order] > levels)[-1])
    x = np.maximum(line - levels[positive] * inverse, 0)
    return np.asarray(x / x.sum()).reshape(y.shape)
