"""All results of a pair's table at once, by the library's own formulas and trust rule, and their true values.

Public names give them one by one, in ten times the time; a test ties the two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates.ratios_of_shares import Ratio, ratio_of
from deniable.estimates.respondent_group import judge
from deniable.inference.about_whom import Subject
from deniable.inference.intervals import limits
from deniable.inference.ratio_questions import CONDITIONAL, CORRELATION, DIFFERENCE, Question
from deniable.inference.tensors import answer_rows

KINDS = ("cells", "margins", "conditional shares", "differences", "correlations")
LEVEL = 0.95


@dataclass(frozen=True)
class Found:
    """Estimates of some results of one kind: low and high are nan where there are not enough reports."""

    value: Any
    stderr: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Asked:
    """What is asked of a pair of features, given their true table: which shares each result is made of.

    A share is a place on each feature's axis: 0 is whatever is answered, then its answers, and last "not the answer"
    whose share is nearest to one half, which correlations are about. Differences are between the two commonest answers.
    """

    table: Any

    @cached_property
    def indicated(self) -> tuple[int, int]:
        """The answer of each feature that is nearest to one half; of a flag, True."""
        margins = self.table.sum(axis=1), self.table.sum(axis=0)
        return tuple(len(m) - 1 - int(np.argmin(np.round(abs(m - 0.5), 9)[::-1])) for m in margins)  # type: ignore[return-value]

    @cached_property
    def rows(self) -> list[Any]:
        """Weights of each feature's entries, for all places."""
        columns = [1 if m == 2 else m for m in self.table.shape]
        found = []
        for own, place in zip(columns, self.indicated, strict=True):
            whole, answers = np.eye(1, 1 + own), answer_rows(own)
            found.append(np.vstack([whole, answers, whole - answers[place]]))
        return found

    @cached_property
    def places(self) -> dict[str, Any]:
        """For each kind the shares of each result: (results, shares, 2)."""
        first, second = self.table.shape
        cells = [(1 + i, 1 + j) for i in range(first) for j in range(second)]
        margins = [(1 + i, 0) for i in range(first)] + [(0, 1 + j) for j in range(second)]
        a, b = (1 + place for place in self.indicated)
        not_a, not_b = 1 + first, 1 + second
        one, other = (1 + int(place) for place in np.argsort(-self.table.sum(axis=0), kind="stable")[:2])
        return {
            "cells": np.array(cells)[:, None],
            "margins": np.array(margins)[:, None],
            "conditional shares": np.array([[(i, j), (0, j)] for i, j in cells]),
            "differences": np.array([[(a, one), (0, one), (a, other), (0, other)]]),
            "correlations": np.array([[(a, 0), (not_a, 0), (0, b), (0, not_b), (a, b)]]),
        }

    def truth(self, shares: Any) -> dict[str, Any]:
        """The true value of every result, of any table of these features."""
        levels = self.table.shape
        over_answers = []
        for m, place in zip(levels, self.indicated, strict=True):
            over_answers.append(np.vstack([np.ones((1, m)), np.eye(m), 1 - np.eye(m)[[place]]]))
        wide = over_answers[0] @ shares @ over_answers[1].T
        found = {}
        for kind, places in self.places.items():
            x = wide[places[..., 0], places[..., 1]]
            found[kind] = x[:, 0] if kind in QUESTIONS_OF_ONE else _value(QUESTIONS[kind], x)
        return found

    def found(self, est: dn.Estimate, subject: str) -> dict[str, Found]:
        """What an estimate of the pair says of every result, about a subject."""
        about, n = Subject(subject), est.n
        cumulants, trusted = judge(est.groups, self.rows, about)
        low, high = limits(cumulants, LEVEL)
        made = {}
        for kind, places in self.places.items():
            at = places[..., 0], places[..., 1]
            if kind in QUESTIONS_OF_ONE:
                one = tuple(axis[:, 0] for axis in at)
                spread = np.sqrt(np.maximum(cumulants.variance[one], 0)) / n
                made[kind] = _kept(trusted[one], cumulants.mean[one] / n, spread, low[one] / n, high[one] / n)
                continue
            if kind == "conditional shares":
                first, second = (1 + np.arange(m) for m in self.table.shape)  # one result for each pair of rows
                grid = [(first, second), (0 * first, second)]
                found = [ratio_of(CONDITIONAL, est.groups, [self._weights(i, j) for i, j in grid], about)]
            else:
                pieces = [[self._weights(i, j) for i, j in one] for one in places]
                found = [ratio_of(QUESTIONS[kind], est.groups, one, about) for one in pieces]
            each = [_limited(one, QUESTIONS[kind]) for one in found]
            made[kind] = _kept(*(np.concatenate([np.ravel(x) for x in of]) for of in zip(*each, strict=True)))
        return made

    def _weights(self, i: Any, j: Any) -> list[Any]:
        """The weights of a share, or of many, by its place on each feature's axis."""
        return [self.rows[0][i], self.rows[1][j]]


QUESTIONS_OF_ONE = ("cells", "margins")
QUESTIONS: dict[str, Question] = {
    "conditional shares": CONDITIONAL,
    "differences": DIFFERENCE,
    "correlations": CORRELATION,
}


def _value(question: Question, x: Any) -> Any:
    """A question's value of true shares; nan where a share that is divided by is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return question.distribution(x, np.zeros((*x.shape, x.shape[-1]))).value


def _limited(ratio: Ratio, question: Question) -> tuple[Any, ...]:
    low, high = ratio.distribution.limits(LEVEL, question.least, question.most)
    return ratio.enough, ratio.distribution.value, ratio.distribution.stderr, low, high


def _kept(enough: Any, value: Any, stderr: Any, low: Any, high: Any) -> Found:
    return Found(value, stderr, np.where(enough, low, np.nan), np.where(enough, high, np.nan))
