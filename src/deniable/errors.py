"""The errors, as a tree. Each message says what was found, where, and what to do next.

    DeniableError (a ValueError)
    ├── SchemaError    a question that cannot be asked like this
    ├── PlanError      a protocol, a budget or a plan file that cannot be used
    ├── AnswerError    an answer, a column or a record that does not fit its question
    ├── ReportError    a report, or a file of reports, that does not fit its plan
    ├── CountError     counts that cannot be, were not made, or do not add
    └── EstimateError  a question that an estimate cannot answer

The command line prints any of them as one line and exits with status 1.
"""

from deniable.client import AnswerError, DeniableError, PlanError

__all__ = ["AnswerError", "CountError", "DeniableError", "EstimateError", "PlanError", "ReportError", "SchemaError"]


class SchemaError(DeniableError):
    """A question that cannot be asked like this."""


class ReportError(DeniableError):
    """A report, or a file of reports, that does not fit its plan."""


class CountError(DeniableError):
    """Counts that cannot be, were not made, or do not add."""


class EstimateError(DeniableError):
    """A question that an estimate cannot answer."""
