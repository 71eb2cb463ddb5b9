"""Plans whose answers are kept: a person who is asked again sends the same randomized answers (memoization).

A device randomizes once (the permanent round) and keeps what came of it. With an epsilon of one report there is a
second round: a fresh coin b, the same for all blocks, leaves each kept answer as it is, and else any of its values is
sent. Two coins compose by multiplication, exactly:

    permanent keep a, fresh keep b       one report: keep a b, epsilon_1       all reports together: that of a, epsilon

The coin is the largest over 65 536 that stays within epsilon_1 in every arm. It can follow what shows one answer alone:
randomized response and GRR.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from deniable.client import ONE_VALUE, SCALE, log_up, ratio
from deniable.errors import PlanError, abbreviated
from deniable.survey.blocks import Block, stand_in
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.grid import Epsilon, largest, positive
from deniable.survey.protocols.grr import GRR

if TYPE_CHECKING:
    from deniable.survey.plan import Plan

Arms = tuple[tuple[Block, ...], ...]


def repeat(plan: "Plan") -> str | None:
    """The word "keep" if a person who is asked again sends kept answers; None if each report is randomized afresh."""
    return "keep" if plan.kept else None


def epsilon_1(plan: "Plan") -> float:
    """Epsilon of one report alone, rounded up: below `epsilon` if kept answers are sent under a fresh coin."""
    return max(log_up(block.protocol.ratio_1 for block in arm.blocks) for arm in plan.arms)


def keep(self: "Plan", epsilon_1: Epsilon | None = None) -> "Plan":
    """The same plan with answers kept, as `repeat="keep"` makes it; by GRR where `epsilon_1` needs that.

    Its epsilon is that of all reports of a person together, and `epsilon_1` that of one report: then a fresh coin is
    thrown over the kept answers each time. Without it the same bytes are sent each time.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0).keep(epsilon_1=1.0)
    >>> plan.repeat, plan.epsilon_1 <= 1.0 < plan.epsilon
    ('keep', True)
    """
    arms, kept = with_fresh_coin(tuple(arm.blocks for arm in self.arms), epsilon_1)
    return self.with_blocks(arms, kept)


def check_repeat(repeat: Any, epsilon_1: Any, protocols: Mapping[Any, Any]) -> bool:
    """Whether answers are kept; refused are other words, and protocols that a fresh coin cannot follow."""
    if repeat not in (None, "keep"):
        raise PlanError(f'repeat is "keep", or left out for answers randomized afresh; found {abbreviated(repeat)}')
    if epsilon_1 is None:
        return repeat is not None
    if repeat is None:
        raise PlanError('epsilon_1 is of one report where answers are kept; say repeat="keep", too')
    for name, one in protocols.items():
        if isinstance(one, Protocol) and one.name not in ONE_VALUE:
            raise PlanError(
                f"{abbreviated(name)} has {one.name}, and a second round is for {', '.join(ONE_VALUE)} alone; use GRR, "
                "or leave epsilon_1 out"
            )
    return True


def with_fresh_coin(arms: Arms, epsilon_1: Epsilon | None) -> tuple[Arms, int]:
    """The blocks of all arms with a fresh coin within the epsilon of one report, and the numerator of that coin.

    Without such an epsilon they stay as they are, and the coin is 65 536. With it, what is randomized by another
    protocol than randomized response gets GRR with the same epsilon.
    """
    if epsilon_1 is None:
        return tuple(tuple(_block(block, SCALE) for block in arm) for arm in arms), SCALE
    arms = tuple(tuple(map(_one_value, arm)) for arm in arms)

    def whole(fresh: int) -> Fraction:
        return max(prod((ratio_1(block, fresh) for block in arm), start=Fraction(1)) for arm in arms)

    if whole(SCALE - 1) <= 1:
        raise PlanError("nothing is protected here, so that there is nothing to randomize twice; leave epsilon_1 out")
    fresh = largest(whole, epsilon_1, least=1)
    if fresh == SCALE - 1 and positive(epsilon_1) > Fraction(arms_epsilon(arms)):
        raise PlanError(
            f"epsilon_1 is of one report, and must be below epsilon of all of them together; found "
            f"{float(epsilon_1):g} and {arms_epsilon(arms):g}. To send the same each time, leave epsilon_1 out"
        )
    return tuple(tuple(_block(block, fresh) for block in arm) for arm in arms), fresh


def arms_epsilon(arms: Sequence[Sequence[Block]]) -> float:
    """Epsilon of the arm where it is largest."""
    return max(log_up(block.ratio for block in arm) for arm in arms)


def ratio_1(block: Block, fresh: int) -> Fraction:
    """e^epsilon of one report of a block after a fresh coin."""
    return ratio({"name": block.protocol.name, **block.protocol.integers}, block.protocol.columns, fresh)


def _one_value(block: Block) -> Block:
    """The block by a protocol that shows one answer alone, of the same epsilon or a little less."""
    if block.protocol.name in ONE_VALUE:
        return block
    return replace(block, protocol=GRR(epsilon=block.protocol.epsilon).bind(stand_in(block.features)))


def _block(block: Block, fresh: int) -> Block:
    return block if block.protocol.fresh == fresh else replace(block, protocol=block.protocol.with_fresh(fresh))
