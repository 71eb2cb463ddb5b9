"""Who takes part: how each makes a survey of a setting, with the bytes of a report and where it cannot take part."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import combinations
from math import ceil, log2, prod
from typing import Any

import numpy as np

import deniable as dn
from studies.rivals.bloom import BITS, lopub, rappor
from studies.rivals.calm import calm
from studies.rivals.factorization import MOST_CELLS, factorized
from studies.rivals.of_flags import RIVALS, Array, Columns
from studies.rivals.private_pgm import fitted_by_mbi
from studies.rivals.sampled_tables import ORACLES, Rows, cells_of, independent_answers, sampled
from studies.rivals.settings import Setting, true_rows, truths_of

ORDERS = (1, 2, 3, 4)

Estimates = Callable[[Columns], Array]
Levels = tuple[int, ...]

__all__ = ["CONTESTANTS", "ORDERS", "Contestant", "cells_in_order", "counted"]


@dataclass(frozen=True)
class Contestant:
    """How a survey is made; whether it depends on the order of tables; bytes of a report; and where it takes part."""

    make: Callable[[Setting, int, int, np.random.Generator], Estimates]
    told: bool
    size: Callable[[Levels, int], str]
    surveys: int = 20
    wide: int = 20  # so many surveys of wide settings: more than five questions that have more than two answers
    orders: tuple[int, ...] = ORDERS
    flags_alone: bool = False
    once: bool = False  # not with ten times as many respondents
    questions: int = 16  # at most so many, if they have more than two answers
    cells: int = 10**6  # the largest tables
    bars: bool = False
    missing: str = ""  # why it cannot be run here

    def repeats(self, setting: Setting) -> int:
        """How many surveys are made."""
        return min(self.surveys, self.wide) if setting.wide else self.surveys

    def takes(self, setting: Setting) -> tuple[int, ...]:
        """The orders of tables that it takes part in."""
        flags = max(setting.levels) == 2
        if (self.flags_alone and not flags) or (self.once and setting.times > 1):
            return ()
        if not flags and len(setting.levels) > self.questions:
            return ()
        wanted = {k: truths_of(setting.data, k) for k in self.orders if k < len(setting.levels)}
        return tuple(k for k, tables in wanted.items() if max(len(shares) for _, shares in tables) <= self.cells)


@lru_cache(maxsize=1)
def drawn(data: str, times: int, seed: int) -> Rows:
    """Respondents, drawn with replacement."""
    rows, rng = true_rows(data), np.random.default_rng([seed, 0])
    return np.asarray(rows[rng.integers(len(rows), size=times * len(rows))])


def _schema(levels: Levels) -> dn.Schema:
    return dn.Schema(
        [
            dn.Flag(f"q{k}") if m == 2 else dn.Choice(f"q{k}", [str(value) for value in range(m)])
            for k, m in enumerate(levels)
        ]
    )


@cache
def _plan(levels: Levels, k: int, epsilon: float) -> dn.Plan:
    return dn.design(_schema(levels), epsilon=epsilon, order=k)


@lru_cache(maxsize=3)
def counted(setting: Setting, seed: int, k: int) -> dn.Counts:
    """Counts of randomized reports; drawn without any report where a plan hashes nothing."""
    rows, levels, rng = drawn(setting.data, setting.times, seed), setting.levels, np.random.default_rng([seed, k])
    plan = _plan(levels, k, setting.epsilon)
    if any(isinstance(protocol, dn.LocalHashing) for arm in plan.arms for protocol in arm.protocols):
        answers = {
            feature.name: rows[:, j] == 1 if isinstance(feature, dn.Flag) else rows[:, j].astype(str)
            for j, feature in enumerate(plan.schema)
        }
        return dn.count(dn.randomize(answers, plan, rng=rng))
    people = np.bincount(cells_of(rows, levels, tuple(range(len(levels)))), minlength=prod(levels)).reshape(levels)
    return dn.simulate.counts(people, plan, rng)


def cells_in_order(est: dn.Estimate) -> Array:
    """The shares of an estimate's cells, the last question counting fastest, without the work of intervals."""
    found: Any = est.mean / est.n
    for axis, feature in enumerate(est.features):
        rest = np.moveaxis(found, axis, 0)
        rest = np.stack([rest[0] - rest[1], rest[1]]) if isinstance(feature, dn.Flag) else rest[1:]
        found = np.moveaxis(rest, 0, axis)
    return np.asarray(found.reshape(-1))


@lru_cache(maxsize=200)
def _both(setting: Setting, seed: int, columns: Columns) -> tuple[Array, Array]:
    """The consistent and the shrunk table of some questions, out of a design for as many."""
    names = [f"q{column}" for column in columns]
    if len(columns) == 1:
        own = cells_in_order(dn.estimate(counted(setting, seed, 1), names))
        return own, own
    est = dn.estimate(counted(setting, seed, len(columns)), names, method="shrunk")
    return cells_in_order(replace(est, fitted=None)), cells_in_order(est)


def ours(which: int, setting: Setting, seed: int, k: int, rng: np.random.Generator) -> Estimates:  # noqa: ARG001
    """A design for all tables of k questions: consistent estimates (0) or shrunk ones (1)."""
    return lambda columns: _both(setting, seed, columns)[which]


@lru_cache(maxsize=1)
def _model(setting: Setting, seed: int) -> Any:
    return dn.fit(counted(setting, seed, 2))


def whole(setting: Setting, seed: int, k: int, rng: np.random.Generator) -> Estimates:  # noqa: ARG001
    """A design for all pairs, and the model of the whole survey."""
    model = _model(setting, seed)
    return lambda columns: np.asarray(model.machine.margin(model.coefficients, columns).reshape(-1))


def by_mbi(setting: Setting, seed: int, k: int, rng: np.random.Generator) -> Estimates:  # noqa: ARG001
    """A design for all pairs, and mbi's model of its measurements."""
    wanted = [
        columns for order in ORDERS if order < len(setting.levels) for columns, _ in truths_of(setting.data, order)
    ]
    return fitted_by_mbi(_model(setting, seed), setting.levels, wanted).__getitem__


def _of_flags(name: str, setting: Setting, seed: int, k: int, rng: np.random.Generator) -> Estimates:
    rows = drawn(setting.data, setting.times, seed)
    return RIVALS[name](rows == 1, k, setting.epsilon, rng).estimate


def _rival(make: Any) -> Any:
    def made(setting: Setting, seed: int, k: int, rng: np.random.Generator) -> Any:
        return make(drawn(setting.data, setting.times, seed), setting.levels, k, setting.epsilon, rng).estimate

    return made


def _largest(levels: Levels, k: int) -> int:
    return max(prod(levels[column] for column in columns) for columns in combinations(range(len(levels)), k))


def _bytes(bits: float) -> str:
    return str(ceil(bits / 8))


def _cell(levels: Levels, k: int) -> str:
    return _bytes(log2(_largest(levels, k)))


def _bit(levels: Levels, k: int) -> str:  # noqa: ARG001
    return "1"


def _bloom(levels: Levels, k: int) -> str:  # noqa: ARG001
    return _bytes(BITS * len(levels))


SIZES: dict[str, Callable[[Levels, int], str]] = {
    "MargPS": _cell,
    "MargRR": lambda levels, k: _bytes(_largest(levels, k)),
    "Hadamard response": lambda levels, k: _bytes(log2(_largest(levels, k)) + 1),
}
NO_MBI = "" if os.environ.get("DENIABLE_MBI") else "DENIABLE_MBI does not name a Python that has mbi"

CONTESTANTS: dict[str, Contestant] = {
    "deniable, consistent": Contestant(partial(ours, 0), True, _cell, orders=(1, 2, 3), bars=True),
    "deniable, shrunk": Contestant(partial(ours, 1), True, _cell, orders=(2, 3), bars=True),
    "deniable, dn.fit": Contestant(whole, False, _cell, wide=2, bars=True),
    "mbi, the same reports": Contestant(by_mbi, False, _cell, questions=5, missing=NO_MBI),
    "CALM": Contestant(_rival(calm), False, _cell),
    "optimised factorization": Contestant(_rival(factorized), True, _cell, cells=MOST_CELLS),
    "InpHT": Contestant(partial(_of_flags, "InpHT"), True, _bit, flags_alone=True),
    "MargHT": Contestant(partial(_of_flags, "MargHT"), True, _bit, flags_alone=True),
    "InpPS": Contestant(partial(_of_flags, "InpPS"), False, lambda levels, _: _bytes(len(levels)), flags_alone=True),
} | {
    name: Contestant(_rival(partial(sampled, oracle)), True, SIZES.get(name, _bit), cells=1_000)
    for name, oracle in ORACLES.items()
} | {
    "one question (SMP)": Contestant(_rival(independent_answers), False, _bit),
    "RS+FD": Contestant(partial(_of_flags, "RS+FD"), False, lambda levels, _: _bytes(len(levels)), flags_alone=True),
    "RAPPOR with EM": Contestant(_rival(rappor), False, _bloom, once=True, cells=1_000),
    "LoPub": Contestant(_rival(lopub), False, _bloom, once=True, cells=1_000),
}  # fmt: skip
