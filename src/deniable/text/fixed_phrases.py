"""Words that terminal, charts and page must say alike."""

# NOT_ENOUGH stands in place of an interval that would not hold the truth as often as its confidence level says.
NOT_ENOUGH = "not enough reports"
# SAYS_LITTLE stands beside an interval that holds, but that is too long to tell much.
SAYS_LITTLE = "says little"


def answer_as_text(answer: object) -> str:
    """An answer as it is shown: a flag's as true or false."""
    return str(answer).lower() if isinstance(answer, bool) else str(answer)
