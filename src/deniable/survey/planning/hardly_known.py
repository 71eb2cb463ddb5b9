"""Which of a plan's tables would hardly be known with the people that it is for, in a sentence."""

import math
from collections.abc import Sequence

from deniable.survey.aim import Names
from deniable.survey.half_widths import HalfWidths
from deniable.survey.plan import Plan

# MOST_LOOKED is how many tables are looked at, and MOST_JUDGED how many of the narrow ones are judged by the rule for
# enough reports, which takes longer.
MOST_LOOKED, MOST_JUDGED = 2_000, 12
# EVERYBODY is about how many people there are.
EVERYBODY = 8_200_000_000


def hardly_known(plan: Plan, widths: HalfWidths, tables: Sequence[Names]) -> str:
    """What is said if some tables would be unknown: wider than their shares, or with too few reports."""
    assert plan.n is not None
    looked = tables[:MOST_LOOKED]
    wide = {names for names in looked if widths(names, plan.n) * widths.cells(names) > 1}
    narrow = [names for names in looked if names not in wide][:MOST_JUDGED]
    unknown = len(wide)
    if 2 * (unknown + len(narrow)) > len(looked):  # else these do not matter
        unknown += sum(not _enough(plan, names) for names in narrow)
    if not unknown:
        return ""
    which = f"{unknown:,} of {len(looked):,} tables would hardly be known"
    told = f"{which}: intervals reach further than their shares, or there are not enough reports."
    if 2 * unknown <= len(looked):
        return f"With {plan.n:,} people, {told} Name those that you want with --want, in Python want=[...]."
    parts = (2 * widths.cells(names) * widths(names, plan.n) for names in looked)  # of half a share
    most = plan.n * max((part for part in parts if part < math.inf), default=1) ** 2
    return (
        f"TOO FEW PEOPLE: with {plan.n:,}, {told} Half-widths of half a share take {people_in_words(most)}; or want "
        "fewer tables, join answers, or allow a larger epsilon."
    )


def people_in_words(number: float) -> str:
    """About how many people; more than there are, if it is."""
    return "more people than live on earth" if number > EVERYBODY else f"about {to_two_digits(number)} people"


def to_two_digits(number: float) -> str:
    """A number to two digits."""
    if number < 10:
        return f"{number:.1f}".removesuffix(".0")
    digits = len(str(int(number))) - 2
    return f"{round(number / 10**digits) * 10**digits:,}"


def _enough(plan: Plan, names: Names) -> bool:
    """Whether a table will have intervals at all, by the rule for enough reports."""
    from deniable import late

    found = late.expected(plan, names, None, None).estimate
    return found.cell({feature.name: feature.answers[-1] for feature in found.features}).enough
