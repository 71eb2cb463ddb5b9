"""Words that terminal, charts and page must say alike."""

from math import inf, isnan

# NOT_ENOUGH stands in place of an interval that would not hold the truth as often as its confidence level says.
NOT_ENOUGH = "not enough reports"
# SAYS_LITTLE stands beside an interval that holds, but that is too long to tell much.
SAYS_LITTLE = "says little"


def answer_as_text(answer: object) -> str:
    """An answer as it is shown: a flag's as true or false."""
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


def influence_in_words(influence: float, span: float = inf) -> str:
    """The most that crafted reports could move a result if 1 % of all reports are crafted; nothing if unknown.

    `span` is how far a result can be moved at all, from the least to the most that it can be.
    """
    if isnan(influence):
        return ""
    return f", ±{influence:.2g} if 1% are crafted" if influence < span else ", any value if 1% are crafted"
