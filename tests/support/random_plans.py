"""Plans of blocks and arms drawn at random, small enough to enumerate every report of each record."""

from collections.abc import Sequence
from itertools import count
from math import comb, prod
from random import Random

import deniable as dn
from deniable.survey.blocks import Block
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import Feature
from tests.support.situations import values


def random_plan(rng: Random, most: int, least: int = 1) -> dn.Plan:
    """One to five questions, now and then some of them public, in one to four arms of one or more blocks.

    It has at least and at most so many different reports.
    """
    while True:
        features = [_feature(rng, f"f{place}") for place in range(rng.randint(1, 5))]
        public = [feature for feature in features if rng.random() < 0.12]
        asked = [feature for feature in features if feature not in public]
        if not asked:
            continue
        everywhere = {feature.name: dn.Public() for feature in public}
        arms = [_arm(rng, features, everywhere, some) for some in _parts(rng, asked)]
        parts = [rng.choice([1, 1, 0.01, rng.random(), 5]) for _ in arms]
        named = {f"arm {k}": (arm, part) for k, arm, part in zip(count(), arms, parts, strict=False)}
        plan = dn.Plan(dn.Schema(features), arms=named, unequal=True)
        if least <= report_count(plan) <= most:
            return plan


def _feature(rng: Random, name: str) -> Feature:
    missing = rng.choice([*[None] * 7, "no answer"])
    if rng.random() < 0.5:
        return dn.Flag(name, missing=missing)
    return dn.Choice(name, values(rng.randint(2, 3) - (missing is not None)), missing=missing)


def _parts(rng: Random, features: Sequence[Feature]) -> list[list[Feature]]:
    """What each arm asks: some features each, all of them in some arm."""
    arms = [[feature for feature in features if rng.random() < 0.6] for _ in range(rng.randint(1, 4))]
    for feature in features:
        if not any(feature in arm for arm in arms):
            rng.choice(arms).append(feature)
    return [sorted(arm, key=features.index) for arm in arms if arm]


def _arm(rng: Random, features: Sequence[Feature], public: dict[str, Protocol], asked: Sequence[Feature]) -> dn.Plan:
    """A plan without arms of what one arm asks, in random blocks, and of all public columns."""
    blocks: list[list[Feature]] = []
    for feature in asked:
        if blocks and rng.random() < 0.6:
            rng.choice(blocks).append(feature)
        else:
            blocks.append([feature])
    own = {tuple(feature.name for feature in block): _protocol(rng, block) for block in blocks}
    schema = dn.Schema(feature for feature in features if feature in asked or feature.name in public)
    return dn.Plan(schema, {**public, **own})


def _protocol(rng: Random, block: Sequence[Feature]) -> Protocol:
    """Any protocol for a block, from nearly mute to nearly open."""
    epsilon, m = rng.choice([0.3, 1.0, 4.0]) * rng.uniform(0.5, 2), prod(feature.levels for feature in block)
    p, q = sorted((rng.uniform(0.01, 0.99), rng.uniform(0.01, 0.99)))
    if len(block) == 1 and isinstance(block[0], dn.Flag) and block[0].missing is None:
        return rng.choice([dn.RandomizedResponse(epsilon=epsilon), dn.RandomizedResponse(p=p, q=q + 0.001)])
    few = [
        lambda: dn.UnaryEncoding(p=p, q=q + 0.001),
        lambda: dn.UnaryEncoding.optimized(epsilon),
        lambda: dn.LocalHashing(epsilon=epsilon, buckets=2),
    ]
    size = rng.choice([1, min(2, m - 1), m - 1])
    some = [lambda: dn.GRR(epsilon=epsilon), lambda: dn.SubsetSelection(epsilon=epsilon, size=size)]
    return rng.choice([*some, *(few if m <= 6 else [])])()


def report_count(plan: dn.Plan) -> int:
    """How many different reports there can be, all arms together."""
    return sum(prod(map(_outcomes, arm.blocks)) for arm in plan.arms)


def _outcomes(block: Block) -> int:
    integers, columns = block.protocol.integers, block.protocol.columns
    match block.protocol.name:
        case "GRR" | "public":
            return prod(block.levels)
        case "subset selection":
            return comb(columns, integers["size"])
        case "local hashing":
            return int(integers["buckets"] ** (columns + 1))
    return 1 << columns
