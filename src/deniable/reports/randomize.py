"""Randomizing many records at once: answers in, reports out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import AnswerError, PlanError
from deniable.reports import answers_in, perturb
from deniable.reports.columns import Column, layout
from deniable.reports.parquet import PLAN_KEY
from deniable.reports.perturb import Codes
from deniable.reports.randomness import Draws, secure, seeded
from deniable.reports.reports import Reports, boolean_array
from deniable.survey.plan import Plan
from deniable.survey.protocols.protocols import BitByBit, KeepOrUniform, LocalHashing, Protocol
from deniable.survey.schema import Feature


def randomize(data: Any, plan: Plan, *, rng: np.random.Generator | None = None) -> Reports:
    """Randomize the records of any dataframe, mapping of columns or list of dicts, each by itself.

    Randomness comes from a keystream keyed by the operating system at each call. `rng` makes it repeatable, for
    simulations and tests only.
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {plan!r}")
    return randomize_part(data, plan, secure() if rng is None else seeded(rng))


def randomize_part(data: Any, plan: Plan, draws: Draws, first_row: int = 0) -> Reports:
    """`randomize` with its draws, and with what its first record is called in errors."""
    if isinstance(data, Reports) or (isinstance(data, pa.Table) and PLAN_KEY in (data.schema.metadata or {})):
        raise AnswerError("these are reports, randomized already; once more would spoil every estimate made of them")
    columns = answers_in.columns(data, plan.schema.names)
    codes = [answers_in.encode(feature.to_json(), columns[feature.name], first_row) for feature in plan.schema]
    return randomize_codes(codes, plan, draws)


def randomize_codes(codes: Sequence[Codes], plan: Plan, draws: Draws) -> Reports:
    """Randomize integer codes, an array for each feature."""
    arrays: dict[str, Any] = {}
    for coded, (feature, protocol), columns in zip(codes, plan, layout(plan), strict=True):
        perturbed = _perturb(coded, feature, protocol, columns, draws)
        arrays |= {column.name: array for column, array in zip(columns, perturbed, strict=True)}
    return Reports(plan, pa.table(arrays))


def _perturb(
    codes: Codes, feature: Feature, protocol: Protocol, columns: tuple[Column, ...], draws: Draws
) -> list[Any]:
    """The Arrow columns of one feature's randomized answers."""
    match protocol:
        case BitByBit():
            planes = perturb.bit_planes(codes, feature.columns, protocol.p_numerator, protocol.q_numerator, draws)
            return [boolean_array(plane, len(codes)) for plane in planes]
        case LocalHashing():
            seed = perturb.seeds(len(codes), draws)
            bucket = perturb.bucket(seed, codes, protocol.buckets)
            shown = perturb.keep_or_uniform(bucket, protocol.keep, protocol.buckets, draws)
            return [columns[0].to_arrow(seed), columns[1].to_arrow(shown)]
        case KeepOrUniform():
            return [columns[0].to_arrow(perturb.keep_or_uniform(codes, protocol.keep, protocol.outcomes, draws))]
    return [columns[0].to_arrow(codes)]
