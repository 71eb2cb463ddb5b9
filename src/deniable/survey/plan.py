"""What is asked of whom and how each answer is randomized, with its exact privacy budget.

A plan is made of blocks: one question, or several that are randomized together. Or it has arms, each such a plan: every
respondent is asked one of them, drawn publicly before any answer is looked at.

A plan travels with everything made from it. Its JSON holds integers and text only where it carries meaning, and its
fingerprint, the SHA-256 of that meaning, changes with any of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from deniable import client
from deniable.errors import PlanError, SchemaError, abbreviated, listed
from deniable.files import replacing
from deniable.files.stores import file_at
from deniable.files.wrong_kinds import instead_of
from deniable.survey import expectations, kept_answers, plan_json
from deniable.survey.aim import Aim, aim_from_json
from deniable.survey.arms import (
    AskedArm,
    Common,
    arm_blocks,
    arm_name,
    asked_arms,
    check_all_asked,
    check_all_used,
    check_arguments,
    check_equal,
    different_names,
    public_names,
    whole_shares,
)
from deniable.survey.blocks import Block, Names, check_told_apart, grouped
from deniable.survey.budget import assigned_blocks, given_protocols
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.grid import Epsilon, positive
from deniable.survey.schema import Feature, Schema
from deniable.text.completion import hiding
from deniable.text.html import printed


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Plan:
    """A schema with a protocol for each block of features; or several arms, each such a plan with a share.

    Parameters
    ----------
    schema
        What is asked.
    protocols
        Your protocols, by the names of features, or of several that are randomized together: `("smoker", "age")`. A
        name may be a group of flags: then each of its flags gets the protocol. What has none shares what is left of the
        budget. With arms, a protocol holds in every arm that asks its block; public columns belong to every arm.
    epsilon
        The privacy budget of one whole report. What your protocols spend comes off it first; the rest is split evenly
        over the blocks, and each gets the protocol of least variance.
    together
        Lists of questions that are randomized together, as one answer over all combinations; the others stand alone.
    arms
        What each arm asks: a list of names is one block, a list of lists several, a `Plan` an arm as it is. Each
        respondent is asked one arm, with all of epsilon. A mapping gives them shares, in proportion, or names.
    unequal
        Whether arms may ask for different epsilons. The plan's epsilon is the largest.
    assigned
        Whether whoever invites gives each respondent an arm, by its name, at random; else the device draws it.
    repeat
        "keep" if devices keep arm and randomized answers, and send these when a person is asked again, even if the true
        answers changed. Epsilon is that of all reports of a person together.
    epsilon_1
        The epsilon of one report where answers are kept: a fresh coin is thrown over the kept ones for each report.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0)
    >>> plan["smoker"].name, plan.epsilon <= 2.0
    ('randomized response', True)
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "age"]])
    >>> [block.key for block in plan.blocks]
    [('smoker', 'age'), 'drinker']
    >>> plan = dn.Plan(schema, epsilon=2.0, arms=[["smoker", "age"], ["drinker"]])
    >>> plan.shares, plan.arm_names
    ((32768, 32768), ('smoker x age', 'drinker'))
    """

    schema: Schema
    blocks: tuple[Block, ...]  # of a plan with arms: all different ones
    parts: tuple["Plan", ...]  # the arms, if there are any
    shares: tuple[int, ...]
    arm_names: tuple[str, ...]
    assigned: bool
    kept: int  # 0; or where answers are kept the fresh coin's numerator, 65 536 without one
    asked: Fraction | None  # the epsilon asked for, where one was; no part of what the plan means
    aim: Aim | None  # what it was made for, where that is known; no part of what the plan means

    def __init__(
        self,
        schema: Schema,
        protocols: Mapping[Any, Protocol] | None = None,
        *,
        epsilon: Epsilon | None = None,
        together: Sequence[Sequence[str]] = (),
        arms: Any = None,
        unequal: bool = False,
        assigned: bool = False,
        repeat: str | None = None,
        epsilon_1: Epsilon | None = None,
    ) -> None:
        check_arguments(schema, protocols, epsilon, together, arms)
        if kept_answers.check_repeat(repeat, epsilon_1, protocols or {}):
            how: Any = {"together": together, "arms": arms, "unequal": unequal, "assigned": assigned}
            self.__dict__.update(Plan(schema, protocols, epsilon=epsilon, **how).keep(epsilon_1).__dict__)
            return
        if arms is None:
            if unequal or assigned:
                raise PlanError("unequal and assigned are about arms; found none")
            given = given_protocols(schema, protocols or {})
            blocks = assigned_blocks(schema, given, _together(schema, together), epsilon)
            check_told_apart(blocks)
            self._set(schema, blocks, asked=epsilon)
            return
        asked = asked_arms(arms)
        plans = _arms(schema, protocols or {}, asked, epsilon)
        if not unequal:
            check_equal([(plan.asked, plan.epsilon) for plan in plans])
        names = different_names([one.name for one in asked], [arm_name(plan.blocks) for plan in plans])
        self._set_arms(schema, plans, whole_shares([one.part for one in asked]), names, assigned=assigned)

    def _set_arms(
        self, schema: Schema, plans: tuple["Plan", ...], shares: tuple[int, ...], names: Names, *, assigned: bool
    ) -> None:
        """Set all fields from the plans of the arms, checked together; of one arm, to a plan without arms."""
        check_all_asked(schema, [plan.blocks for plan in plans])
        blocks = tuple(dict.fromkeys(block for plan in plans for block in plan.blocks))
        check_told_apart(blocks)
        asked = {plan.asked for plan in plans}
        epsilon = asked.pop() if len(asked) == 1 else None
        if len(plans) > 1:
            self._set(schema, blocks, plans, shares, names, assigned=assigned, asked=epsilon)
        elif assigned:
            raise PlanError("there is nothing to assign: the plan has one arm, which asks everybody the same")
        else:
            self._set(schema, blocks, asked=epsilon)

    @classmethod
    def _of_blocks(cls, schema: Schema, blocks: tuple[Block, ...], asked: Epsilon | None) -> "Plan":
        """A plan without arms of these blocks, over their part of a schema."""
        names = {name for block in blocks for name in block.names}
        made = object.__new__(cls)
        part = schema if len(names) == len(schema) else Schema(f for f in schema if f.name in names)
        made._set(part, blocks, asked=asked)
        return made

    def _set(
        self,
        schema: Schema,
        blocks: tuple[Block, ...],
        parts: tuple["Plan", ...] = (),
        shares: tuple[int, ...] = (client.SCALE,),
        arm_names: tuple[str, ...] = (client.EVERYBODY,),
        *,
        assigned: bool = False,
        asked: Epsilon | None,
    ) -> None:
        """Set all fields; without arms, the only one has a name that is the same in all plans."""
        self.__dict__.update(
            schema=schema, blocks=blocks, parts=parts, shares=shares, arm_names=arm_names, assigned=bool(assigned),
            kept=0, asked=None if asked is None else positive(asked), aim=None,
        )  # fmt: skip

    def with_blocks(self, arms: Sequence[tuple[Block, ...]], kept: int) -> "Plan":
        """The same plan with other blocks in its arms, which ask the same, and answers kept under this coin."""
        plans = tuple(Plan._of_blocks(self.schema, own, arm.asked) for own, arm in zip(arms, self.arms, strict=True))
        (made := object.__new__(Plan))._set_arms(
            self.schema, plans, self.shares, self.arm_names, assigned=self.assigned
        )
        made.__dict__.update(kept=kept, asked=self.asked)
        return made.for_aim(self.aim)

    def for_aim(self, aim: Aim | None) -> "Plan":
        """The same plan with what it is made for, which travels beside it."""
        (made := copy(self)).__dict__["aim"] = aim
        return made

    @property
    def want(self) -> tuple[Names, ...] | None:
        """The tables that the plan was made for, if that is known."""
        return None if self.aim is None else self.aim.want

    @property
    def n(self) -> int | None:
        """How many respondents the plan was made for, if that is known."""
        return None if self.aim is None else self.aim.n

    @property
    def arms(self) -> tuple["Plan", ...]:
        """What each respondent may be asked, a plan each; a plan without arms is its own only one."""
        return self.parts or (self,)

    @property
    def has_arms(self) -> bool:
        """Whether respondents are put into arms."""
        return bool(self.parts)

    @cached_property
    def ratio(self) -> Fraction:
        """e^epsilon of the largest arm, exactly."""
        if self.parts:
            return max(arm.ratio for arm in self.parts)
        return prod((block.ratio for block in self.blocks), start=Fraction(1))

    @cached_property
    def epsilon(self) -> float:
        """What a respondent who answers everything asked spends, in the largest arm; rounded up in its last digit."""
        if self.parts:
            return max(self.parts, key=lambda arm: arm.ratio).epsilon
        return client.log_up(block.ratio for block in self.blocks)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what this plan means, in hexadecimal."""
        return client.fingerprint(plan_json.meaning(self))

    @cached_property
    def public(self) -> tuple[str, ...]:
        """The features that are shown as they are, about which nothing is promised."""
        return tuple(sorted(public_names(self.blocks), key=self.schema.index))

    @cached_property
    def units(self) -> "Plan":
        """The same plan with every block as one feature (`Block.unit`), which reports and counts are made of."""
        if self.parts:
            raise PlanError("a plan with arms has units in each of plan.arms")
        if all(len(block.features) == 1 for block in self.blocks):
            return self
        alone = tuple(Block((block.unit,), block.protocol) for block in self.blocks)
        return Plan._of_blocks(Schema(block.unit for block in self.blocks), alone, self.asked)

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocols of the blocks, in order."""
        return tuple(block.protocol for block in self.blocks)

    @cached_property
    def _alone(self) -> dict[str, Protocol]:
        return {} if self.parts else {b.names[0]: b.protocol for b in self.blocks if len(b.features) == 1}

    def __getitem__(self, name: str) -> Protocol:
        if name in self._alone:  # of what everybody is asked, each by itself
            return self._alone[name]
        self.schema.index(name)
        holding = [block for block in self.blocks if name in block.names]
        arms = [own for own, arm in zip(self.arm_names, self.arms, strict=True) if name in arm.schema]
        if len(holding) == 1 and len(holding[0].features) == 1 and (len(arms) == 1 or not holding[0].protocol.protects):
            return holding[0].protocol
        blocks, where = listed(block.name for block in holding), f" in the arms {listed(arms)}" if len(arms) > 1 else ""
        raise PlanError(f"{name!r} has no protocol of its own: it is asked as {blocks}{where}; see plan.blocks")

    def __eq__(self, other: object) -> bool:
        """Whether two plans mean the same, which is what their fingerprints say; theirs are made once."""
        if not isinstance(other, Plan):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __iter__(self) -> Iterator[tuple[Feature, Protocol]]:
        """Each block as one feature, and its protocol, in order."""
        return ((block.unit, block.protocol) for block in self.blocks)

    def __contains__(self, name: object) -> bool:
        return name in self.schema

    __dir__ = hiding("aim", "asked", "for_aim", "has_arms", "kept", "parts", "ratio", "units")

    def __str__(self) -> str:
        from deniable.survey.describe import describe

        return describe(self)

    _repr_html_ = printed

    def __repr__(self) -> str:
        arms = f" in {len(self.parts):,} arms" if self.parts else ""
        protected = len(self.public) < len(self.schema)
        promised = f"epsilon {self.epsilon:.6g}" if protected else "none of them protected"
        features = "1 feature" if len(self.schema) == 1 else f"{len(self.schema)} features"
        return f"<Plan of {features}{arms}, {promised}, {self.fingerprint[:12]}>"

    def to_json(self) -> str:
        """The plan as JSON text: what a device needs, and what `save` writes."""
        beside = {"epsilon": self.epsilon, "fingerprint": self.fingerprint} | (self.aim.to_json() if self.aim else {})
        return plan_json.text(plan_json.meaning(self) | beside | plan_json.reading(self.schema))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Plan":
        """Read a plan from JSON, and refuse one that is inconsistent or was changed.

        Parameters
        ----------
        text
            What `to_json` gives, or the content of a file that `save` wrote.

        Returns
        -------
        Plan
            The plan, equal to the one that was written.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
        >>> dn.Plan.from_json(plan.to_json()) == plan
        True
        """
        document = client.parse(text)
        checked = client.read(document)
        try:
            read = plan_json.parsed(document)
        except SchemaError as error:
            raise PlanError(f"the plan's schema cannot be used: {error}") from None
        plans = tuple(cls._of_blocks(read.schema, arm.blocks, None) for arm in read.arms)
        shares, names = tuple(arm.share for arm in read.arms), tuple(arm.name for arm in read.arms)
        (plan := object.__new__(cls))._set_arms(read.schema, plans, shares, names, assigned=read.assigned)
        plan.__dict__["kept"] = checked.kept
        if plan.fingerprint != checked.fingerprint:
            raise PlanError(
                "the plan is written in another way than this library writes it: questions of a block and blocks of an "
                f"arm in the order of the features, one arm by the name {client.EVERYBODY!r}, no labels that "
                "say nothing new, and version 1 where nothing needs version 2; get it again from whoever made it"
            )
        return plan.for_aim(aim_from_json(document, plan.schema))

    keep, repeat, epsilon_1 = kept_answers.keep, property(kept_answers.repeat), property(kept_answers.epsilon_1)
    expect, needed, power = expectations.expect, expectations.needed, expectations.power
    detectable, interval, plot = expectations.detectable, expectations.interval, expectations.plot
    without, costs = expectations.without, expectations.costs

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file, whole or not at all."""
        with replacing(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan from a JSON file."""
        try:
            return cls.from_json(file_at(path).read_bytes())
        except OSError as error:
            raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
        except PlanError as error:
            raise PlanError(f"{path}: {instead_of('a plan', path) or error}") from None


def _together(schema: Schema, together: Sequence[Sequence[str]]) -> list[Names]:
    """The blocks of `together`, by the names of their features."""
    try:
        return [grouped(schema, names) for names in together]
    except (PlanError, SchemaError) as error:
        raise type(error)(f"together: {error}") from None


def _arms(
    schema: Schema, protocols: Mapping[Any, Any], asked: Sequence[AskedArm], epsilon: Epsilon | None
) -> tuple[Plan, ...]:
    """The plan of each arm, over the features that it asks and all public ones."""
    common = Common.of(schema, protocols, epsilon)
    plans, budget_used = [], False
    for place, one in enumerate(asked, start=1):
        try:
            if isinstance(one.spec, Plan):
                _check_arm(schema, one.spec)
                plans.append(one.spec)
            else:
                blocks = arm_blocks(common, one.spec)
                spends = common.spends(blocks)
                plans.append(Plan._of_blocks(schema, blocks, epsilon if spends else None))
                budget_used |= spends
        except (PlanError, SchemaError) as error:
            raise type(error)(f"arm {place if one.name is None else repr(one.name)}: {error}") from None
    check_all_used(common, [plan.blocks for plan in plans], budget_used=budget_used)
    return tuple(plans)


def _check_arm(schema: Schema, plan: Plan) -> None:
    """Refuse a plan as an arm unless it has no arms of its own, and asks what the schema has, in its order."""
    if plan.parts:
        raise PlanError(f"an arm is a plan without arms of its own; found {abbreviated(plan)}")
    for feature in plan.schema:
        if feature != schema[feature.name]:
            raise PlanError(f"its {feature.name!r} is not that of the schema; make both of the same features")
    if list(plan.schema.names) != sorted(plan.schema.names, key=schema.index):
        raise PlanError(f"it asks in another order than the schema; found {listed(plan.schema.names)}")
