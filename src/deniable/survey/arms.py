"""Arms as a user writes them: who is asked what, with which share of the respondents, under which name.

    [["smoker", "age"], ["region"]]                     each arm one block, equal shares
    [[["smoker", "age"], ["income"]], ["region"]]       an arm of two blocks, and one of one
    {("smoker", "age"): 0.5, ("region",): 0.5}          with shares
    {"panel": ["smoker", "age"], ...}                   with names; or {"panel": (["smoker", "age"], 0.5), ...}

A plan in place of the names is an arm as it is. Shares in any proportion become whole numbers over 65 536.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

from deniable.client import SCALE, look_alike
from deniable.errors import PlanError, SchemaError, abbreviated, listed
from deniable.survey.blocks import TIMES, Block, Names, grouped
from deniable.survey.budget import assigned_blocks, given_protocols
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.grid import Epsilon, positive
from deniable.survey.questions.checks import check_text
from deniable.survey.schema import Schema

# SAME_ASKED is the part by which epsilons that arms asked for may differ and still be the same number, computed twice.
SAME_ASKED = Fraction(1, 10**9)
# SAME_FOUND is that part where an arm's protocols were given: many combinations round an epsilon down by so much.
SAME_FOUND = Fraction(1, 20)

# -- what a user writes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedArm:
    """One arm as it was asked for: what it asks (lists of names, or a plan), its part of the respondents, its name."""

    spec: Any
    part: Fraction
    name: str | None


def asked_arms(given: Any) -> list[AskedArm]:
    """The arms that a list or a mapping describes, checked as far as that goes without a schema."""
    if isinstance(given, Mapping):
        arms = [_of_mapping(key, value) for key, value in given.items()]
        if len({_has_share(value) for value in given.values()}) > 1:
            raise PlanError("some arms have shares and others have none; give all of them shares, or none")
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        arms = [AskedArm(spec, Fraction(1), None) for spec in given]
    else:
        found = abbreviated(given)
        raise PlanError(f"arms are a list of what each asks, or a mapping from that to shares; found {found}")
    if not arms:
        raise PlanError("a plan with arms has at least one; found none. To ask everybody everything, leave arms out")
    if len(arms) > SCALE:
        raise PlanError(f"a plan has at most {SCALE:,} arms, one for each share; found {len(arms):,}")
    return arms


def _of_mapping(key: Any, value: Any) -> AskedArm:
    """The arm that one entry of a mapping describes: by what it asks, or by its name."""
    if not isinstance(key, str):
        return AskedArm(key, _part(value, key), None)
    try:
        check_text(key, "an arm's name")
    except SchemaError as error:
        raise PlanError(str(error)) from None
    if not isinstance(value, Real) and _has_share(value):
        return AskedArm(value[0], _part(value[1], key), key)
    if isinstance(value, Real):
        raise PlanError(
            f"arm {key!r} has a share, {value!r}, but asks nothing; an arm of one question is written ({key!r},): "
            f"{value!r}, and one with a name {key!r}: ([...], {value!r})"
        )
    return AskedArm(value, Fraction(1), key)


def _has_share(value: Any) -> bool:
    """Whether the value of a mapping of arms is a share, or what is asked with a share."""
    return isinstance(value, Real) or (isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Real))


def _part(share: Any, of: Any) -> Fraction:
    return positive(share, f"the share of arm {abbreviated(of)}")


def blocks_of(spec: Any) -> list[Any]:
    """The blocks of an arm, each a list of names: a flat list is one block, a list of lists several."""
    if isinstance(spec, str | bytes) or not isinstance(spec, Sequence) or not spec:
        raise PlanError(
            f"an arm is a list of names, asked together, or a list of such lists; found {abbreviated(spec)}"
        )
    alone = [isinstance(one, str) for one in spec]
    if any(alone) and not all(alone):
        raise PlanError(f"an arm is a list of names, or a list of lists of names; found both in {abbreviated(spec)}")
    return [spec] if all(alone) else list(spec)


# -- from names to blocks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Common:
    """What is the same for all arms: the schema, protocols of public columns and of certain blocks, and the budget."""

    schema: Schema
    public: Mapping[Names, Protocol]
    own: Mapping[Names, Any]
    epsilon: Epsilon | None

    @classmethod
    def of(cls, schema: Schema, protocols: Mapping[Any, Any], epsilon: Epsilon | None) -> "Common":
        """The protocols that a user gave, those of public columns apart."""
        given = given_protocols(schema, protocols)
        public = {names: one for names, one in given.items() if isinstance(one, Protocol) and not one.protects}
        return cls(schema, public, {names: given[names] for names in given if names not in public}, epsilon)

    @cached_property
    def shown(self) -> frozenset[str]:
        """The names of the public columns."""
        return frozenset(name for names in self.public for name in names)

    def spends(self, blocks: Sequence[Block]) -> bool:
        """Whether some of an arm's blocks were given a part of the budget, having no protocol of their own."""
        return any(block.protocol.protects and block.names not in self.own for block in blocks)


def arm_blocks(common: Common, spec: Any) -> tuple[Block, ...]:
    """The blocks of an arm that is given by names, public columns among them."""
    schema, shown = common.schema, common.shown
    blocks = [grouped(schema, names) for names in blocks_of(spec)]
    asked = {name for names in blocks for name in names}
    if both := shown & asked:
        raise PlanError(f"{min(both)!r} is public, which every arm shows; leave it out of arms")
    own = {names: common.own[names] for names in blocks if names in common.own}
    part = Schema(feature for feature in schema if feature.name in shown | asked)
    budget = None if all(names in own for names in blocks) else common.epsilon
    return assigned_blocks(part, {**common.public, **own}, blocks, budget)


# -- all arms together -------------------------------------------------------------------------------------------------


def check_all_used(common: Common, arms: Sequence[Sequence[Block]], *, budget_used: bool) -> None:
    """Refuse a protocol for a block that no arm asks, and a budget that nothing was left to spend on."""
    asked = {block.names for blocks in arms for block in blocks}
    if unused := common.own.keys() - asked:
        block = TIMES.join(min(unused))
        raise PlanError(f"no arm asks {block!r} as a block of its own, but there is a protocol for it; leave it out")
    if common.epsilon is not None and not budget_used:
        raise PlanError("every arm has its protocols already; leave epsilon out")


def check_all_asked(schema: Schema, arms: Sequence[Sequence[Block]]) -> None:
    """Refuse arms that leave a question out, or that do not all show what is public."""
    asked = {name for blocks in arms for block in blocks for name in block.names}
    if missing := [name for name in schema.names if name not in asked]:
        raise PlanError(f"no arm asks {listed(missing)}; every question of the schema must be in some arm")
    public = [public_names(blocks) for blocks in arms]
    everywhere, somewhere = set.intersection(*public), set.union(*public)
    if alone := somewhere - everywhere:
        raise PlanError(
            f"{min(alone, key=schema.index)!r} is public in some arms alone, and a public column belongs to every arm; "
            "give it Public() in all of them"
        )


def public_names(blocks: Sequence[Block]) -> set[str]:
    """The features among these blocks that are shown as they are."""
    return {name for block in blocks if not block.protocol.protects for name in block.names}


def arm_name(blocks: Sequence[Block]) -> str:
    """What an arm is called if nobody named it: what it asks."""
    asked = [block for block in blocks if block.protocol.protects] or blocks
    return " + ".join(block.name for block in asked)


def different_names(given: Sequence[str | None], otherwise: Sequence[str]) -> tuple[str, ...]:
    """The name of each arm: the one it was given, or else what it asks, with a number where that is taken already."""
    taken = {name for name in given if name is not None}
    times: dict[str, int] = {}
    names = []
    for own, made in zip(given, otherwise, strict=True):
        name = made
        while own is None and name in taken:
            times[made] = times.get(made, 1) + 1
            name = f"{made} ({times[made]})"
        names.append(name if own is None else own)
        taken.add(names[-1])
    if twice := look_alike(names):
        raise PlanError(f"names of arms must differ in what can be seen; found twice: {listed(twice)}")
    return tuple(names)


def whole_shares(parts: Sequence[Fraction]) -> tuple[int, ...]:
    """Whole numbers over 65 536 in these proportions, by the largest remainders, at least 1 each.

    Parts too small for one share get one, the smallest first, and the others have what is left in proportion.
    """
    left, total = SCALE, sum(parts, Fraction(0))
    shares = [1] * len(parts)
    exact: dict[int, Fraction] = {}
    for at in sorted(range(len(parts)), key=parts.__getitem__):
        if not exact and parts[at] * left < total:
            left, total = left - 1, total - parts[at]
        else:
            exact[at] = parts[at] * left / total
            shares[at] = math.floor(exact[at])
    missing = SCALE - sum(shares)
    for at in sorted(exact, key=lambda at: (shares[at] - exact[at], at))[:missing]:
        shares[at] += 1
    return tuple(shares)


def check_arguments(schema: Any, protocols: Any, epsilon: Any, together: Any, arms: Any) -> None:
    """Refuse what cannot make a plan, by the kind of each argument."""
    if not isinstance(schema, Schema):
        raise PlanError(f"a plan is made for a Schema; found {abbreviated(schema)}")
    if not isinstance(protocols, Mapping | None):
        raise PlanError(
            f"protocols are a mapping from names; found {abbreviated(protocols)}. For a budget, say epsilon=..."
        )
    if epsilon is not None:
        positive(epsilon)
    if isinstance(together, str) or not isinstance(together, Sequence):
        raise PlanError(f'together is a list of lists of names, [["smoker", "age"]]; found {abbreviated(together)}')
    if arms is not None and together:
        raise PlanError(
            "an arm says itself what it asks together, arms=[[[...], [...]], ...] (in the shell --arm A,B+C); leave "
            "together out"
        )


def check_equal(plans: Sequence[tuple[Fraction | None, float]]) -> None:
    """Refuse arms that ask for different epsilons: of each, that asked for, and that found.

    What was asked for counts, not what the integers over 65 536 reached, but where only that is known.
    """
    asked = [epsilon for epsilon, _ in plans if epsilon is not None]
    found = [Fraction(reached) for epsilon, reached in plans if epsilon is None]
    kinds = ((asked, SAME_ASKED), (asked + found, SAME_FOUND))
    if any(min(of) < (1 - part) * max(of) for of, part in kinds if of):
        low, high = float(min(asked + found)), float(max(asked + found))
        raise PlanError(
            f"the arms ask for different epsilons, from {low:.9g} to {high:.9g}: some people would be protected "
            "less than others. If that is meant, say unequal=True"
        )
