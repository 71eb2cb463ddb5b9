"""Two estimates of different respondents, cell by cell: what has changed, or differs."""

from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondents import judge
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import checked_level, limits
from deniable.inference.tensors import along, answer_rows

ORDERS = {"mean": 1, "variance": 2, "third": 3, "fourth": 4, "slope": 3, "wobble": 4}  # powers of respondents


def compare(before: Estimate, after: Estimate, *, level: float = 0.95) -> Any:
    """What share of each combination of answers there is more, or less, in the second: an Arrow table.

    The estimates are of the same features and about the same subject, but of different respondents; plans and epsilons
    may differ. `low` and `high` are nan where one of the two has not enough reports.
    """
    for est in (before, after):
        if not isinstance(est, Estimate):
            raise EstimateError(f"compare takes two estimates, as dn.estimate gives them; found {est!r}")
    if before is after:
        raise EstimateError("compare takes estimates of different respondents; found the same one twice")
    if before.features != after.features or before.subject != after.subject:
        raise EstimateError(
            "compare takes estimates of the same features with the same values, in the same order and about the same; "
            f"found {before!r} and {after!r}"
        )
    level = checked_level(level)
    rows = [answer_rows(len(feature.columns)) for feature in before.features]
    if taken := set(before.names) & {"before", "after", "difference", "stderr", "low", "high"}:
        raise EstimateError(f"the comparison has a column called {min(taken)!r} of its own; rename that feature")
    found, enough, shares = [], [], []
    for est, sign in ((before, -1), (after, 1)):
        own, trusted = judge(est.groups, rows, population=est.subject == "population")
        found.append(_shares(own, sign / est.n))
        enough.append(trusted)
        shares.append(along(est.mean, rows).reshape(-1) / est.n)
    both = found[0] + found[1]
    low, high = (np.where(enough[0] & enough[1], end, np.nan).reshape(-1) for end in limits(both, level))
    difference = shares[1] - shares[0]
    low, high = np.minimum(low, difference), np.maximum(high, difference)  # that of proper tables may be outside
    labels = zip(*product(*(feature.answers for feature in before.features)), strict=True)
    return pa.table(
        {
            **{name: pa.array(values) for name, values in zip(before.names, labels, strict=True)},
            "before": shares[0],
            "after": shares[1],
            "difference": difference,
            "stderr": np.sqrt(np.where(both.variance >= 0, both.variance, np.nan)).reshape(-1),
            "low": low,
            "high": high,
        }
    )


def _shares(found: Cumulants, unit: float) -> Cumulants:
    """Cumulants in units of so many shares for each respondent, which may be negative."""
    return Cumulants(*(getattr(found, field.name) * unit ** ORDERS[field.name] for field in fields(found)))
