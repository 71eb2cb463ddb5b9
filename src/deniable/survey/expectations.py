"""What a plan will tell before anybody was asked: methods of `Plan`, whose work lies in a later room.

Each function takes the plan first.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from deniable.late import Costs, Detectable, Expectation, ExpectedInterval, Figure
    from deniable.survey.plan import Plan

# POWER is the probability of seeing something that is asked for unless another one is.
POWER = 0.8


def expect(plan: "Plan", *names: str, n: int | None = None, guess: Any = None) -> "Expectation":
    """What the plan will tell of the table of these features: standard errors and half-widths before any report.

    Parameters
    ----------
    *names
        The features of the table.
    n
        How many respondents; without it, the number that the plan was made for.
    guess
        What the truth may be, without which all answers are taken as equally common: shares of some answers,
        `{"smoker": 0.2, "age": [0.5, 0.3, 0.2], "region": {"north": 0.6}}`, independent of each other (answers that are
        not named have equal parts of what is left); a `simulate.truth`; or an estimate.

    Returns
    -------
    Expectation
        With `stderr`, `half_width`, `worst_half_width`, and the results of an estimate as they are expected.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> round(plan.expect("smoker", "drinker", n=10_000).half_width, 3)
    0.014
    """
    from deniable import late

    return late.expected(plan, _listed(names), n, guess)


def _listed(names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Names one by one, or as one list or tuple of them."""
    return tuple(names[0]) if len(names) == 1 and isinstance(names[0], list | tuple) else names


def needed(
    plan: "Plan",
    *names: str,
    half_width: float | None = None,
    correlation: float | None = None,
    difference: float | None = None,
    power: float = POWER,
    guess: Any = None,
) -> int:
    """How many respondents give a half-width of the table of these features, or see a correlation or a difference.

    Parameters
    ----------
    *names
        The features of the table; two flags or choices' answers for a correlation or a difference.
    half_width
        The half-width of 95 % intervals, as a share, root mean square over the cells.
    correlation, difference
        Instead: what is to be seen, by a two-sided test at 5 %, with probability `power`. They are also so many that
        there is such a test: of rare answers it takes more reports. An interval for it may take more people, which
        `interval` says.
    power
        That probability; there is none of a half-width.
    guess
        As `expect` takes it.

    Returns
    -------
    int
        The number of respondents.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> plan.needed("smoker", "drinker", half_width=0.014) <= 10_000
    True
    """
    from deniable import late

    return late.needed(plan, _listed(names), half_width, correlation, difference, power, guess)


def power(
    plan: "Plan",
    first: Any,
    second: Any,
    *,
    correlation: float | None = None,
    difference: float | None = None,
    n: int | None = None,
    guess: Any = None,
) -> float:
    """The probability of seeing a correlation, or a difference of shares, by a two-sided test at 5 %.

    A result with an interval may take more people than a test that sees it: `interval` says how many.

    Parameters
    ----------
    first, second
        Flags' names, or choices' answers such as `("age", "65+")`.
    correlation, difference
        What is to be seen: a correlation, or the first's share among those with the second less that without.
    n
        How many respondents; without it, the number that the plan was made for.
    guess
        As `expect` takes it; only the shares of each of the two count, which are taken as independent.

    Returns
    -------
    float
        The power of the test, times the probability of its being made: where answers are rare, the rule for enough
        reports gives none of a small survey.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> plan.power("smoker", "drinker", correlation=0.1, n=10_000) > 0.95
    True
    """
    from deniable import late

    return late.power(plan, first, second, correlation, difference, n, guess)


def interval(
    plan: "Plan",
    first: Any,
    second: Any,
    *,
    correlation: float | None = None,
    difference: float | None = None,
    n: int | None = None,
    power: float = POWER,
    guess: Any = None,
) -> "ExpectedInterval":
    """Whether there will be an interval for a correlation or a difference, by the rule for enough reports.

    A test sees an effect with fewer people than an interval takes: below that number, results say "not enough reports".

    Parameters
    ----------
    first, second, correlation, difference, n, guess
        As `power` takes them; n may be unknown.
    power
        The probability with which an interval is to be given.

    Returns
    -------
    ExpectedInterval
        With `chance`, the probability of an interval with n respondents, and `people`, about how many respondents it
        takes. Both are found by simulated surveys whose truth has the effect, in a few seconds.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=4.0, together=[["smoker", "drinker"]])
    >>> found = plan.interval("smoker", "drinker", correlation=0.3, n=10_000)
    >>> found.chance, found.people < 10_000
    (1.0, True)
    """
    from deniable import late

    return late.interval(plan, first, second, correlation, difference, n, power, guess)


def detectable(
    plan: "Plan", first: Any, second: Any, *, n: int | None = None, power: float = POWER, guess: Any = None
) -> "Detectable":
    """The minimal detectable correlation and difference of shares, by two-sided tests at 5 %.

    Parameters
    ----------
    first, second
        Flags' names, or choices' answers such as `("age", "65+")`. A difference is between those with and without the
        second.
    n
        How many respondents; without it, the number that the plan was made for.
    power
        The probability with which effects of that size are seen.
    guess
        As `expect` takes it; only the shares of each of the two count, which are taken as independent.

    Returns
    -------
    Detectable
        With `correlation` and `difference`, None where nothing that is possible is large enough to be seen, or
        there is hardly ever a test.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> least = plan.detectable("smoker", "drinker", n=10_000).correlation
    >>> round(plan.power("smoker", "drinker", correlation=least, n=10_000), 3)
    0.8
    """
    from deniable import late

    return late.detectable(plan, first, second, n, power, guess)


def without(plan: "Plan", *names: str, **options: Any) -> "Plan":
    """The plan without some of its questions, at the same epsilon.

    A plan that was designed is designed again in the same manner, for the wanted tables less the questions. Of any
    other plan each block and each arm loses them, arms that are left with nothing to protect go, and what each person
    then spends less is given to their other blocks, in proportion, each with the best protocol.

    Parameters
    ----------
    *names
        The questions to leave out: features, or groups of flags.
    **options
        Of `design`, in place of those that the plan was designed with, which it remembers: `goal`, `weights`, `most`,
        `apart`, `together` and `spare`.

    Returns
    -------
    Plan
        A plan of the questions that are left.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("region", ["north", "south", "east"])])
    >>> plan = dn.design(schema, epsilon=2.0, want=[("smoker", "drinker"), "region"], n=10_000)
    >>> plan.without("region").want
    (('smoker', 'drinker'),)
    """
    from deniable.survey.without import plan_without

    return plan_without(plan, names, options)


def costs(plan: "Plan", *, n: int | None = None, guess: Any = None, tables: bool = False) -> "Costs":
    """What each question costs the others: half-widths of the wanted tables with it, and without it.

    Parameters
    ----------
    n
        How many respondents; without it, the number that the plan was made for.
    guess
        As `expect` takes it.
    tables
        Whether to give a row for each question and each wanted table that does not hold it, instead of one for each
        question with the root mean square over these tables.

    Returns
    -------
    Costs
        It prints as a table in percentage points, and is one for Arrow (`pyarrow.table(costs)`, `to_pylist`). For each
        question: `half_width` and `half_width_without` of 95 % intervals, as shares, of the wanted tables that
        do not hold it (of a plan that was made for none, all pairs that are asked together); and `people`, how many
        times as many respondents they need because it is asked.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("region", ["north", "south", "east"])])
    >>> plan = dn.design(schema, epsilon=2.0, want=[("smoker", "drinker"), "region"], n=10_000)
    >>> plan.costs().column_names
    ['question', 'half_width', 'half_width_without', 'people']
    """
    from deniable import late

    return late.costs(plan, n, guess, tables=tables)


def plot(plan: "Plan", *, n: int | None = None, guess: Any = None, path: "str | Path | None" = None) -> "Figure":
    """Draw the half-widths of the wanted tables against the number of respondents, and against epsilon.

    Parameters
    ----------
    n
        How many respondents are marked; without it, the number that the plan was made for.
    guess
        As `expect` takes it.
    path
        Where to save the picture, as a PNG or whatever its name ends in.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, in the colours of matplotlib's current style, light or dark. It needs `deniable[report]`.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.design(schema, epsilon=2.0, n=10_000)
    >>> len(plan.plot().axes)
    2
    """
    from deniable import late

    return late.plot(plan, n, guess, path)
