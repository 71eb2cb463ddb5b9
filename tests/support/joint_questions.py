"""Joint questions asked of many surveys at once, by the library's own formulas and rule."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deniable.estimates.pairs.association import pair_table
from deniable.estimates.ratios_of_shares import ratio_of
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.association import wald
from deniable.inference.ratio_questions import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, Question
from deniable.inference.tensors import along, answer_rows, flat, margins
from tests.support.many_surveys import LEVEL, Setting, Surveys, respondents, surveys

BATCH = 4_000  # surveys at a time
Places = tuple[int | None, int | None]  # of the two features' answers; None is not looked at, -1 the last


@dataclass(frozen=True)
class Asked:
    """A question and the shares it is about: conditional on the second feature's first or last answer."""

    question: Question
    shares: tuple[Places, ...]
    flags_only: bool = False

    @property
    def name(self) -> str:
        return self.question.name


@dataclass(frozen=True)
class Strength:
    """How strongly the features go together: Cramer's V, or mutual information."""

    mutual: bool
    flags_only: bool = False

    @property
    def name(self) -> str:
        return "mutual information" if self.mutual else "Cramer's V"


TWO = ((-1, 0), (None, 0), (-1, -1), (None, -1))
QUESTIONS = (
    Asked(CONDITIONAL, ((0, 0), (None, 0))),
    Asked(CONDITIONAL, ((-1, -1), (None, -1))),
    Asked(DIFFERENCE, TWO),
    Asked(RATIO, TWO),
    Asked(ODDS_RATIO, ((1, 1), (1, 0), (0, 1), (0, 0)), flags_only=True),
    Asked(CORRELATION, ((1, None), (0, None), (None, 1), (None, 0), (1, 1)), flags_only=True),
    Strength(mutual=False),
    Strength(mutual=True),
)


@dataclass(frozen=True)
class Covered:
    """How many surveys claimed an interval of a question, and how often the truth was outside of it then."""

    setting: Setting
    question: str
    claimed: float
    below: float
    above: float

    @property
    def covered(self) -> float:
        return 1 - self.below - self.above

    @property
    def in_range(self) -> bool:
        return abs(self.covered - LEVEL) <= 0.01


def asked(many: Surveys, one: Asked) -> tuple[Any, Any, Any, Any]:
    """The truth, low and high ends of all surveys, and which of them claim their intervals."""
    n, axes = many.setting.n, many.axes
    levels = many.shares.shape
    rows = [np.vstack([np.eye(1, 1 + axis.m), answer_rows(axis.m)]) for axis in axes]
    at = [tuple(0 if x is None else 1 + x % m for x, m in zip(place, levels, strict=True)) for place in one.shares]
    pieces = [[rows[0][i], rows[1][j]] for i, j in at]
    found = ratio_of(one.question, [Group(n, axes, many.estimates)], pieces, many.subject)
    low, high = found.distribution.limits(LEVEL, one.question.least, one.question.most)
    true = np.broadcast_to(many.shares, many.people.shape) if many.subject is Subject.POPULATION else many.people / n
    wide = along(np.moveaxis(true, 0, -1), [margins(m) for m in levels])
    truth = np.stack([wide[:, i, j] for i, j in at], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = one.question.distribution(truth, np.zeros_like(found.covariance)).value
    return value, low, high, found.enough


def strengths(many: Surveys, one: Strength) -> tuple[Any, Any, Any, Any]:
    """The same of Cramer's V, or of mutual information; no answers are merged."""
    n, axes = many.setting.n, many.axes
    group = Group(n, axes, many.estimates)
    found = pair_table([group], [answer_rows(axis.m) for axis in axes], many.subject).strength(mutual=one.mutual)
    true = np.broadcast_to(many.shares, many.people.shape) if many.subject is Subject.POPULATION else many.people / n
    expected = true.sum(axis=2, keepdims=True) * true.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if one.mutual:
            truth = np.where(true > 0, true * np.log(true / expected), 0).sum(axis=(1, 2))
        else:
            truth = np.sqrt(((true - expected) ** 2 / expected).sum(axis=(1, 2)) / (min(many.shares.shape) - 1))
    low, high = found.distribution.limits(LEVEL)
    return truth, low - 1e-9, high + 1e-9, found.enough


def measure(setting: Setting, runs: int, rng: np.random.Generator, people: Any) -> list[Covered]:
    tallies: dict[int, Any] = {}
    for _ in range(0, runs, BATCH):
        drawn = setting.subject == "population"
        rows = respondents(setting, BATCH, rng) if drawn else np.broadcast_to(people, (BATCH, *people.shape[1:]))
        many = surveys(setting, rows, rng)
        for place, one in enumerate(QUESTIONS):
            if one.flags_only and many.shares.shape != (2, 2):
                continue
            truth, low, high, claims = asked(many, one) if isinstance(one, Asked) else strengths(many, one)
            counted = [claims.sum(), (truth < low)[claims].sum(), (truth > high)[claims].sum()]
            tallies[place] = tallies.get(place, 0) + np.array(counted)
    return [
        Covered(setting, QUESTIONS[place].name, claimed / runs, below / max(claimed, 1), above / max(claimed, 1))
        for place, (claimed, below, above) in tallies.items()
    ]


def statistics(setting: Setting, shares: Any, runs: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
    """Wald's statistic of surveys of a population, its degrees of freedom, and Pearson's of the true answers."""
    found, oracle, degrees = [], [], 1
    for _ in range(0, runs, BATCH):
        people = rng.multinomial(setting.n, shares.reshape(-1), size=min(runs, BATCH)).reshape(-1, *shares.shape)
        many = surveys(replace(setting, answers="loosely"), people, rng)
        axes = many.axes
        rows = [answer_rows(axis.m) for axis in axes]
        covariance = Group(setting.n, axes, many.estimates).at_independence()
        over = flat(rows)
        test = wald(along(many.estimates, rows) / setting.n, over @ covariance @ over.T / setting.n**2)
        degrees = test.degrees
        found.append(test.statistic)
        r, c = people.sum(axis=2, keepdims=True), people.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            oracle.append(np.nansum((people - r * c / setting.n) ** 2 / (r * c / setting.n), axis=(1, 2)))
    return np.concatenate(found), degrees, np.concatenate(oracle)
