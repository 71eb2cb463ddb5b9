"""Words that terminal, charts and page must say alike."""

from math import inf, isnan

# NOT_ENOUGH stands in place of an interval that would not hold the truth as often as its confidence level says.
NOT_ENOUGH = "not enough reports"
# SAYS_LITTLE stands beside an interval that holds, but that is too long to tell much.
SAYS_LITTLE = "says little"


def how_many(number: int, what: str) -> str:
    """A number of things: "1 report", "20,000 reports"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def answer_as_text(answer: object) -> str:
    """An answer as it is shown: a flag's as yes or no."""
    return ("yes" if answer else "no") if isinstance(answer, bool) else str(answer)


def influence_in_words(influence: float, span: float = inf) -> str:
    """How far a result would move if 1 % of the reports were forged, after "reports"; nothing if that is unknown.

    `span` is how far a result can be moved at all, from the least to the most that it can be.
    """
    return "" if isnan(influence) else f"; if 1% of the reports were forged, it {_moved(influence, span)}"


def forged_in_words(influence: float, what: str = "a share", span: float = 1.0) -> str:
    """The same as a sentence, of `what`: how far 1 % of forged reports could move it; nothing if that is unknown."""
    return "" if isnan(influence) else f"If 1% of the reports were forged, {what} {_moved(influence, span)}."


def _moved(influence: float, span: float) -> str:
    return f"could move by up to {influence:.2g}" if influence < span else "could be moved anywhere"
