"""Known margins (post-stratification), empty cells and other linear equalities, as a method of `Estimate`."""

from dataclasses import replace
from typing import Any, Protocol, TypeVar

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import over_cells, with_margins
from deniable.estimates.feasible import ProperTable
from deniable.estimates.given.conditioned_group import condition
from deniable.estimates.given.equalities import Cells, Condition, Shares, Sums, equalities
from deniable.estimates.posterior import ProperEstimate
from deniable.estimates.proper_tables.shrunk_interactions import shrunk_table


class Conditionable(ProperEstimate, Protocol):
    """What conditioning needs to know of an estimate."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What was known before."""


E = TypeVar("E", bound=Conditionable)


def given(est: E, known: Shares | Sums = (), *, zeros: Cells = ()) -> E:
    """Condition mean and covariance on known margins (post-stratification), empty cells or other linear equalities.

    What is known holds about the same subject as the estimate. Covariances are evaluated at the proper table that
    obeys it and is closest to the reports. A feasible table is fitted again.

    Parameters
    ----------
    known
        Known proportions, `{"age": {"65+": 0.2}}`; or any equalities as `[(weights, value)]`, weights shaped like
        `mean` and the value in respondents.
    zeros
        Answers that cannot go together, as `[{"smoker": True, "age": "18-29"}]`.

    Returns
    -------
    Estimate
        The conditioned estimate. `conditions` tells how far the estimate was from each equality. A contradiction,
        or what no proper table can have, is an error; an equality far from the estimate is warned about.

    Examples
    --------
    >>> round(est.given({"age": {"65+": 0.25}}).cell(age="65+").value, 9)
    0.25
    """
    if any(group.unshrunk for group in est.groups):
        raise EstimateError("a model's table takes nothing that is known: ask dn.estimate(counts, [...]).given(...)")
    if est.fitted is not None and est.proper is None:
        raise EstimateError(
            'only a feasible table can be fitted again with what is known: method="feasible", and given(...) '
            "before project, merge or +"
        )
    told = list(equalities(est.features, est.n, known, zeros))
    of_cells = [(what, over_cells(est.features, weights), value / est.n) for what, weights, value in told]
    proper = est.proper and est.proper.given(of_cells)
    before: Any = replace(est, fitted=None, proper=None)  # type: ignore[type-var]
    group, conditions = condition(est.groups, est.subject, told)
    after: E = replace(before, groups=(group,), conditions=(*est.conditions, *conditions))
    return with_table(after, proper) if proper else after


def with_table(est: E, table: ProperTable) -> E:
    """An estimate whose mean is a proper table, and whose uncertainty is its own."""
    fitted: Any = with_margins(est.features, est.n * table.shares)
    made: E = replace(est, fitted=fitted, proper=table)  # type: ignore[type-var]
    return made


def with_shrunk(est: E, table: ProperTable) -> E:
    """An estimate whose mean is a table near a proper one with interactions shrunk; its uncertainty is its own."""
    shrunk = shrunk_table(table.n, table.shares, *table.misfit())
    fitted: Any = with_margins(est.features, est.n * shrunk.shares)
    made: E = replace(est, fitted=fitted, shrinkage=shrunk.orders)  # type: ignore[type-var]
    return made
