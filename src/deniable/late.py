"""Methods of an early noun whose work lies in a later room: the one place where imports may point down the house.

Each function here is called by one method, which imports it when it is called.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.survey.schema import Schema


def proposed_schema(frame: Any) -> "Schema":
    """What `Schema.from_frame` does: propose a schema from data."""
    from deniable.reports.proposal import proposed

    return proposed(frame)
