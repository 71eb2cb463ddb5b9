"""Results that there are not enough reports for, and about how many reports they would take."""

from dataclasses import dataclass
from enum import Enum

from deniable.analyses.reports_needed import Needed


class Kind(Enum):
    """What kind of result lacks reports."""

    ANSWERS = "shares of the answers to one question"
    YES = "share of yes to one flag"
    PAIR = "association of two features"
    CONDITIONAL = "shares of the answers to one feature given those to another"
    TABLE = "shares of a table of several features"
    NOBODY = "any result about a feature that nobody was asked"


@dataclass(frozen=True)
class Unanswered:
    """A result without enough reports: `missing` of its `asked` intervals, and the sample size that would do for all.

    `names` are the features it is about; of a conditional, the feature that is asked about comes first. The sample size
    is infinite for a feature that nobody was asked.
    """

    kind: Kind
    names: tuple[str, ...]
    missing: int
    asked: int
    needed: Needed
