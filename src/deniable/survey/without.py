"""Plans that are changed a little: without some questions, or at another epsilon with the same arms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.client import SCALE
from deniable.errors import PlanError, abbreviated, listed
from deniable.survey.aim import Aim, Manner, Names
from deniable.survey.arms import arm_name, different_names
from deniable.survey.blocks import Block, grouped, stand_in
from deniable.survey.budget import best_for
from deniable.survey.design import design
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import Schema

Protocols = dict[Names, Protocol]  # of each block that an arm has


def plan_without(plan: Plan, names: Sequence[str], options: Mapping[str, Any]) -> Plan:
    """The plan without some of its questions, at the same epsilon: designed again if it was made for certain tables."""
    gone = _gone(plan.schema, names)
    left = [feature for feature in plan.schema if feature.name not in gone]
    if all(feature.name in plan.public for feature in left):
        raise PlanError(f"without {listed(gone)} nothing would be left that is protected; leave out fewer questions")
    if plan.aim is not None and plan.aim.manner is not None:
        return _kept_likewise(plan, _designed_again(plan, plan.aim, plan.aim.manner, Schema(left), gone, options))
    if options:
        raise PlanError(f"the plan was not designed, and takes no options of a design; found {listed(options)}")
    changed = _kept_likewise(plan, _changed(plan, Schema(left), lambda arm: _protocols_without(arm, gone)))
    want = want_without(plan.want or (), gone)
    return changed.for_aim(replace(plan.aim, want=tuple(want))) if plan.aim is not None and want else changed


def _kept_likewise(plan: Plan, made: Plan, times: float = 1) -> Plan:
    """A plan made of another with answers kept if they are there, and so many times its epsilon of one report."""
    if not plan.kept:
        return made
    return made.keep(None if plan.kept == SCALE else times * plan.epsilon_1)


def _designed_again(
    plan: Plan, aim: Aim, manner: Manner, schema: Schema, gone: Names, options: Mapping[str, Any]
) -> Plan:
    """The design of fewer questions, in the manner in which it was made, but for these options."""
    if unknown := [name for name in options if name not in manner.options]:
        known = ", ".join(manner.options)
        raise PlanError(
            f"without takes the names of questions, and {known} of a design; found {abbreviated(unknown[0])}"
        )
    want = want_without(aim.want, gone)
    public = [name for name in plan.public if name not in gone]
    epsilon = plan.epsilon if plan.asked is None else plan.asked
    how = {**manner.without(gone, want).options, **options}
    return design(schema, epsilon=epsilon, want=want, n=plan.n, public=public, **how)


def _gone(schema: Schema, names: Sequence[Any]) -> Names:
    """The features that are left out: names, each of a feature or of a group of flags."""
    if len(names) == 1 and isinstance(names[0], list | tuple):
        names = names[0]
    if not names or not all(isinstance(name, str) for name in names):
        raise PlanError(f'without takes the names of questions, "age", "region"; found {abbreviated(list(names))}')
    return grouped(schema, tuple(dict.fromkeys(names)))


def want_without(want: Sequence[Names], gone: Sequence[str]) -> list[Names]:
    """The wanted tables less some questions; what is left of a table counts only where no other table holds it."""
    found = [table for table in want if set(table).isdisjoint(gone)]
    for table in sorted(want, key=len, reverse=True):
        part = tuple(name for name in table if name not in gone)
        if part and not any(set(part) <= set(one) for one in found):
            found.append(part)
    return found


def with_epsilon(plan: Plan, times: float) -> Plan:
    """The plan with the same blocks, arms and shares, and so many times as much epsilon in each block."""
    made = _changed(plan, plan.schema, lambda arm: _scaled(arm, {block.names: block for block in arm.blocks}, times))
    return _kept_likewise(plan, made, times)


def _protocols_without(arm: Plan, gone: Sequence[str]) -> Protocols:
    """An arm's blocks without some questions, with all of its epsilon; none if nothing protected is left."""
    blocks = {names: block for block in arm.blocks if (names := tuple(n for n in block.names if n not in gone))}
    before, after = _spent(arm.blocks), _spent(blocks.values())
    if not after:
        return {}
    whole = before if arm.asked is None else arm.asked
    return _scaled(arm, blocks, 1 if after == before else whole / after)


def _spent(blocks: Any) -> Fraction:
    return sum((Fraction(block.protocol.epsilon) for block in blocks if block.protocol.protects), Fraction(0))


def _scaled(arm: Plan, blocks: Mapping[Names, Block], times: float | Fraction) -> Protocols:
    """Protocols of blocks of these features, with so many times the epsilon that each had."""
    return {names: _protocol(arm.schema, names, block, Fraction(times)) for names, block in blocks.items()}


def _protocol(schema: Schema, names: Names, block: Block, times: Fraction) -> Protocol:
    """The best protocol for so many times a block's epsilon; its own, if neither epsilon nor answers change."""
    if not block.protocol.protects or (names == block.names and times == 1):
        return block.protocol
    columns = len(stand_in([schema[name] for name in names]).columns)
    return best_for(columns, times * Fraction(block.protocol.epsilon))


def _changed(plan: Plan, schema: Schema, change: Callable[[Plan], Protocols]) -> Plan:
    """A plan whose arms have other blocks: arms that have become alike are one, and those without blocks go."""
    named = plan.arm_names != different_names([None] * len(plan.arms), [arm_name(arm.blocks) for arm in plan.arms])
    shares: dict[Plan, int] = {}
    names: dict[Plan, str] = {}
    for arm, share, name in zip(plan.arms, plan.shares, plan.arm_names, strict=True):
        if protocols := change(arm):
            asked = {name for block in protocols for name in block}
            made = Plan(Schema(feature for feature in schema if feature.name in asked), protocols)
            shares[made] = shares.get(made, 0) + share
            names.setdefault(made, name)
    if len(shares) == 1:
        return next(iter(shares))
    arms = {names[arm]: (arm, share) for arm, share in shares.items()} if named else shares
    return Plan(schema, arms=arms, unequal=True, assigned=plan.assigned)
