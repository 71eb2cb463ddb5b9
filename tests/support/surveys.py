"""Reports, counts and records to try things on, and what stands in them read off by brute force."""

import json
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

import deniable as dn
from deniable.client import PRIME
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import weighted
from deniable.reports import answers_in
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import seeded
from deniable.survey.blocks import Block
from deniable.survey.protocols.base import Protocol
from tests.support.scripted import some_records


def some_reports(plan: dn.Plan, count: int = 100) -> dn.Reports:
    """Reports of answers in every form that they may be given in."""
    rng = np.random.default_rng(count)
    return dn.randomize(some_records(plan, json.loads(plan.to_json()), count, rng), plan, rng=rng)


def supports(plan: dn.Plan, table: Any, name: str) -> np.ndarray:
    """e = (1, S_1, ..., S_m) of one feature for every report, read off the columns one report at a time."""
    feature, protocol = plan.schema[name], plan[name]
    rows = []
    for report in table.to_pylist():
        if isinstance(protocol, dn.LocalHashing):
            seed = np.frombuffer(report[f"{name}: seed"], "<u4").tolist()
            g, y = protocol.buckets, report[f"{name}: bucket"]
            bits = [sum(c * v**k for k, c in enumerate(seed)) % PRIME * g // PRIME == y for v in feature.columns]
        elif isinstance(protocol, dn.UnaryEncoding | dn.SubsetSelection):
            bits = [report[f"{name}: {value}"] for value in feature.values]
        elif isinstance(feature, dn.Flag):
            bits = [report[name]]
        else:
            bits = [report[name] == value for value in feature.values]
        rows.append([1, *map(int, bits)])
    return np.array(rows, np.int64).reshape(len(rows), 1 + len(feature.columns))


def brute_force(reports: dn.Reports, names: tuple[str, ...]) -> np.ndarray:
    """The sum over reports of the outer product of their evidence."""
    axes = [supports(reports.plan, reports.table, name) for name in names]
    letters = "abcdefghijkl"[: len(names)]
    return np.einsum(",".join(f"n{letter}" for letter in letters) + "->" + letters, *axes, optimize=True)


def brute_patterns(reports: dn.Reports, names: tuple[str, ...]) -> np.ndarray:
    """How many reports show each combination of patterns, one report at a time."""
    places = [{tuple(bits): k for k, bits in enumerate(reports.plan[name].patterns.tolist())} for name in names]
    shown = np.zeros([len(one) for one in places], np.int64)
    bits = [supports(reports.plan, reports.table, name)[:, 1:].tolist() for name in names]
    for report in zip(*bits, strict=True):
        shown[tuple(one[tuple(row)] for one, row in zip(places, report, strict=True))] += 1
    return shown


def parts_of(reports: dn.Reports, cuts: list[int]) -> list[dn.Reports]:
    """Reports cut at these rows."""
    edges = [0, *sorted(cuts), len(reports)]
    return [dn.Reports(reports.plan, reports.table.slice(low, high - low)) for low, high in pairwise(edges)]


Weights = tuple[Fraction, ...] | None  # of centring, for each value of a feature; None where all are the same


def own_estimate(
    protocol: Protocol, bits: tuple[int, ...], *, centred: bool, weights: Weights = None
) -> list[Fraction]:
    """z of one feature of one report, from its definition."""
    p, q = protocol.channel
    z = [(bit - p) / (q - p) for bit in bits]
    if centred and len(z) > 1:
        excess = sum(z) - 1
        each = weights or [Fraction(1, len(z))] * len(z)
        z = [one - weight * excess for one, weight in zip(z, each, strict=True)]
    return [Fraction(1), *z]


def best_weights(protocol: Protocol, counts: np.ndarray) -> Weights:
    """Weights of centring by the variance of each value's z, at its unbiased share cut to what a share can be."""
    if protocol.columns == 1 or protocol.sums_to_one:
        return None
    p, q = protocol.channel
    n, *marked = (int(count) for count in counts)
    shares = [min(max((Fraction(count, n) - p) / (q - p), Fraction(0)), Fraction(1)) for count in marked]
    spread = [p * (1 - p) * (1 - share) + q * (1 - q) * share for share in shares]
    return tuple(one / sum(spread) for one in spread)


def block_weights(counts: dn.Counts, method: str) -> dict[Block, Weights]:
    """The weights of centring of each block of a plan without arms, by its own counts; none but of "consistent"."""
    blocks = counts.plan.blocks if method == "consistent" else ()
    return {block: best_weights(block.protocol, counts.array(block.unit.name)) for block in blocks}


def some_axes(plan: dn.Plan, method: str) -> list[Axis]:
    """The axes of a plan without blocks; of "consistent" with the weights of centring that some counts give."""
    axes = [Axis.of(protocol, centred=method != "unbiased") for protocol in plan.protocols]
    return list(weighted(axes, some_counts(plan, 20).array(*plan.schema.names))) if method == "consistent" else axes


def some_weights(plan: dn.Plan, method: str) -> list[Weights]:
    """The weights of centring that `some_axes` have, in fractions."""
    weights = block_weights(some_counts(plan, 20), method)
    return [weights.get(block) for block in plan.blocks]


def truth_tensor(plan: dn.Plan, people: list[tuple[int, ...]]) -> np.ndarray:
    """T: the sum over people of the outer product of u."""
    total = 0
    for person in people:
        us = [
            np.concatenate([[1.0], [float(x == column) for column in feature.columns]])
            for feature, x in zip(plan.schema, person, strict=True)
        ]
        total = total + reduce(np.multiply.outer, us)
    return np.asarray(total)


def answers(feature: dn.Flag | dn.Choice, codes: np.ndarray) -> np.ndarray:
    """The answers that codes stand for."""
    return np.array(feature.values)[codes] if isinstance(feature, dn.Choice) else codes == 1


def some_counts(plan: dn.Plan, n: int = 500, seed: int = 1) -> dn.Counts:
    """Counts of all features together, of answers that are equally common."""
    rng = np.random.default_rng(seed)
    records = {feature.name: answers(feature, rng.integers(feature.levels, size=n)) for feature in plan.schema}
    return dn.count(dn.randomize(records, plan, rng=rng), plan.schema.names)


def skewed_reports(plan: dn.Plan, n: int, seed: int = 1) -> dn.Reports:
    """Reports of answers of which each is half as common as the one before."""
    rng = np.random.default_rng(seed)
    records = {
        feature.name: answers(feature, np.minimum(rng.geometric(0.5, size=n) - 1, feature.levels - 1))
        for feature in plan.schema
    }
    return dn.randomize(records, plan, rng=rng)


def repeated(records: dict[str, np.ndarray], plan: dn.Plan, runs: int, rng: np.random.Generator) -> list[dn.Counts]:
    """Counts of many surveys of the same respondents.

    All are randomized and counted in one go, which takes much less time than one by one: which survey a report is of is
    one more feature, and public.
    """
    which = dn.Choice("which survey", [str(run) for run in range(runs)])
    protocols = {feature.name: protocol for feature, protocol in plan}
    several = dn.Plan(dn.Schema([which, *plan.schema]), {"which survey": dn.Public()} | protocols)
    codes = [answers_in.encode(feature.to_json(), records[feature.name].tolist()) for feature in plan.schema]
    of_all = [np.repeat(np.arange(runs, dtype=np.int16), len(codes[0])), *(np.tile(own, runs) for own in codes)]
    names = plan.schema.names
    reports = randomize_codes(of_all, several, seeded(rng))
    table = dn.count(reports, ["which survey", *names]).array("which survey", *names)
    return [dn.Counts(plan, {names: own}) for own in table[1:]]


AGES = ["young", "middle", "old"]


def survey(n: int = 20_000, *, openly: bool = False, seed: int = 1, epsilon: float = 3.0) -> tuple[dict, dn.Counts]:
    """Smoking depends on age, drinking on smoking, and luck on nothing."""
    rng = np.random.default_rng(seed)
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("age", AGES), dn.Flag("lucky")])
    age = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    smoker = rng.random(n) < np.array([0.2, 0.3, 0.5])[age]
    drinker = rng.random(n) < np.where(smoker, 0.6, 0.3)
    records = {"smoker": smoker, "drinker": drinker, "age": np.array(AGES)[age], "lucky": rng.random(n) < 0.5}
    protocols = dict.fromkeys(schema.names, dn.Public()) if openly else None
    plan = dn.Plan(schema, protocols) if openly else dn.Plan(schema, epsilon=4 * epsilon)
    return records, dn.count(dn.randomize(records, plan, rng=rng), list(schema.names))


def cumulants_of(
    variance: float, third: float = 0.0, with_variance: float = 0.0, of_variance: float = 0.0, fourth: float = 0.0
) -> Cumulants:
    """Cumulants of an estimate of 10."""
    mean = np.array(10.0)
    return Cumulants(mean, *(np.array(one) for one in (variance, third, fourth, with_variance, of_variance)))


# What is no feature's answer, though somebody may ask for it.
ODD: list[Any] = [
    None,
    5,
    [],
    (),
    {"age": "old"},
    np.array(["age", "old"]),
    (["age"], "old"),
    b"age",
    ("age", "old", "young"),
]
