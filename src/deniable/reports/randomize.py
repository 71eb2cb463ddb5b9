"""Randomizing many records at once: answers in, reports out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import AnswerError, PlanError
from deniable.kernels.perturb import Codes, Draws
from deniable.reports import answers_in
from deniable.reports.fields import fields
from deniable.reports.parquet import PLAN_KEY
from deniable.reports.randomness import secure, seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan


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
    for coded, protocol, field in zip(codes, plan.protocols, fields(plan).values(), strict=True):
        arrays |= zip(field.names, field.arrays(protocol.randomize(coded, draws), len(coded)), strict=True)
    return Reports(plan, pa.table(arrays))
