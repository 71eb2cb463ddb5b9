"""Methods of an early noun whose work lies in a later room: the one place where imports may point down the house.

Each function here is called by one method, which imports it when it is called.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

    from deniable.analyses.expectation import Expectation as Expectation
    from deniable.analyses.plan_half_widths import Costs as Costs
    from deniable.analyses.power import Detectable as Detectable
    from deniable.analyses.power import ExpectedInterval as ExpectedInterval
    from deniable.survey.plan import Plan
    from deniable.survey.schema import Schema


def proposed_schema(frame: Any, na: Any) -> "Schema":
    """What `Schema.from_frame` does: propose a schema from data."""
    from deniable.reports.proposing.proposal import proposed

    return proposed(frame, na)


def expected(plan: "Plan", names: tuple[str, ...], n: int | None, guess: Any) -> "Expectation":
    """What `Plan.expect` does: say what a plan will tell of a table."""
    from deniable.analyses.expectation import expectation

    return expectation(plan, names, n=n, guess=guess)


def needed(
    plan: "Plan",
    names: tuple[Any, ...],
    half_width: float | None,
    correlation: float | None,
    difference: float | None,
    power: float,
    guess: Any,
) -> int:
    """What `Plan.needed` does: the number of respondents for a half-width or a power."""
    from deniable.analyses.power import people_needed

    return people_needed(plan, names, half_width, correlation, difference, power, guess)


def power(
    plan: "Plan",
    first: Any,
    second: Any,
    correlation: float | None,
    difference: float | None,
    n: int | None,
    guess: Any,
) -> float:
    """What `Plan.power` does: the probability of seeing a correlation or a difference."""
    from deniable.analyses.power import power_of

    return power_of(plan, first, second, correlation, difference, n, guess)


def interval(
    plan: "Plan",
    first: Any,
    second: Any,
    correlation: float | None,
    difference: float | None,
    n: int | None,
    power: float,
    guess: Any,
) -> "ExpectedInterval":
    """What `Plan.interval` does: whether there will be an interval for a correlation or a difference."""
    from deniable.analyses.power import expected_interval

    return expected_interval(plan, first, second, correlation, difference, n, power, guess)


def detectable(plan: "Plan", first: Any, second: Any, n: int | None, power: float, guess: Any) -> "Detectable":
    """What `Plan.detectable` does: the minimal detectable correlation and difference."""
    from deniable.analyses.power import least_detectable

    return least_detectable(plan, first, second, n, power, guess)


def costs(plan: "Plan", n: int | None, guess: Any, *, tables: bool) -> "Costs":
    """What `Plan.costs` does: half-widths with and without each question."""
    from deniable.analyses.plan_half_widths import question_costs

    return question_costs(plan, n, guess, tables=tables)


def plot(plan: "Plan", n: int | None, guess: Any, path: Any) -> "Figure":
    """What `Plan.plot` does: draw half-widths against the number of respondents and against epsilon."""
    from deniable.analyses.plan_half_widths import half_width_curves
    from deniable.charts.curves import check_matplotlib, check_picture, draw

    check_matplotlib()
    if path is not None:
        check_picture(path)
    return draw(half_width_curves(plan, n, guess), path)
