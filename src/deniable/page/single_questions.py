"""Single questions on the page: a chart of the answers to each choice, and of yes/no questions together."""

from collections.abc import Sequence

from deniable.analyses.share_findings import Group, Share, Shares, highest_and_lowest
from deniable.charts import interval_chart
from deniable.page.blocks import (
    SEE_TABLE,
    Chart,
    Table,
    asked_in_words,
    digits_for,
    numbers_of,
    percent,
    row_of,
    with_asked,
    with_share,
)
from deniable.survey.describe import question_title
from deniable.text.fixed_phrases import NOT_ENOUGH


def shares_chart(name: str, found: Shares, level: float) -> Chart:
    """The chart of a group of shares."""
    heading, asked = _heading(found.group), [share.asked for share in found.shares]
    caption = _caption(found) + asked_in_words(asked if found.group.of_flags else asked[:1])
    digits = digits_for(found.shares)
    rows = [row_of(share, share.label, digits) for share in found.shares]
    svg = interval_chart.draw(rows, name=name, title=heading, about=f"{caption} {SEE_TABLE}")
    table = Table(
        f"{heading}: shares of the population with {percent(level)} intervals",
        ("yes to" if found.group.of_flags else "answer", "share", "from", "to"),
        tuple((share.label, *numbers_of(share, digits)) for share in found.shares),
    )
    return Chart(name, heading, caption, svg, with_asked(table, asked) if found.group.of_flags else table)


def _heading(group: Group) -> str:
    """The heading of a group's chart."""
    if group.question is None:
        heading = "Yes or no"
    elif group.question != group.features[0].name:
        heading = f"{question_title(group.features)} (any number of answers)"
    else:
        heading = question_title(group.features)
    return heading if group.parts == 1 else f"{heading}, part {group.part} of {group.parts}"


def _caption(found: Shares) -> str:
    """What there is to see in a group's chart."""
    if found.group.of_flags:
        what = "Shares that say yes" if len(found.group.features) > 1 else "The share that says yes"
        return f"{what}. {extremes_in_words(found.shares)}"
    cut = len(found.shares) < found.answers
    note = f"The {len(found.shares)} most common of {found.answers:,} answers. " if cut else ""
    return note + most_common_in_words(found)


def most_common_in_words(of: Shares) -> str:
    """The most common answer, if it can be told; else the one with the highest estimate."""
    shares, found = of.shares, of.most_common
    if found is None:
        if not (known := sum(share.enough for share in shares)):
            return f"There are {NOT_ENOUGH} for any of the answers."
        return f"There are {NOT_ENOUGH} for {len(shares) - known} of {len(shares)} answers."
    said = with_share(found.first, shares)
    if not found.alike:
        return f"Most common: {said}."
    every = found.alike == len(shares) - 1 > 1
    others = "any other may be" if every else f"{found.alike} other{'s' * (found.alike > 1)} may be"
    return f"Highest estimate: {said}; {others} as common."


def extremes_in_words(shares: Sequence[Share]) -> str:
    """The highest and the lowest share, of those with enough reports."""
    found = highest_and_lowest(shares)
    if found is None:
        return f"There are {NOT_ENOUGH} for any of them."
    highest, lowest = (with_share(share, shares) for share in found)
    if sum(share.enough for share in shares) > 1:
        return f"Highest: {highest}; lowest: {lowest}."
    return f"Only one has enough reports: {highest}." if len(shares) > 1 else f"{highest}."
