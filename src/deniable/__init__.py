"""Joint answers, with honest error bars, from answers randomized on each respondent's own device.

    schema -> protocols -> plan -> (client | reports) -> evidence -> counts -> estimates -> joint answers
        -> page | validate

`client` stands alone, and the others agree with it: it is the first that they import. Names are resolved when they are
first used, so that `import deniable.client` needs the standard library alone.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Flag": "schema", "Choice": "schema", "Flags": "schema", "Schema": "schema",
    "RandomizedResponse": "protocols", "GRR": "protocols", "UnaryEncoding": "protocols",
    "LocalHashing": "protocols", "Public": "protocols",
    "Plan": "plan",
    "Reports": "reports", "randomize": "reports",
    "Counts": "counts", "count": "counting",
    "Estimate": "estimates", "estimate": "estimates", "maximum_likelihood": "likelihood",
    "associations": "pairs", "compare": "comparison", "regress": "regression",
    "DeniableError": "errors", "SchemaError": "errors", "PlanError": "errors", "AnswerError": "errors",
    "ReportError": "errors", "CountError": "errors", "EstimateError": "errors",
}  # fmt: skip
_MODULES = ("simulate",)
__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    from deniable import simulate as simulate
    from deniable.comparison import compare as compare
    from deniable.counting import count as count
    from deniable.counts import Counts as Counts
    from deniable.errors import AnswerError as AnswerError
    from deniable.errors import CountError as CountError
    from deniable.errors import DeniableError as DeniableError
    from deniable.errors import EstimateError as EstimateError
    from deniable.errors import PlanError as PlanError
    from deniable.errors import ReportError as ReportError
    from deniable.errors import SchemaError as SchemaError
    from deniable.estimates import Estimate as Estimate
    from deniable.estimates import estimate as estimate
    from deniable.likelihood import maximum_likelihood as maximum_likelihood
    from deniable.pairs import associations as associations
    from deniable.plan import Plan as Plan
    from deniable.protocols import GRR as GRR
    from deniable.protocols import LocalHashing as LocalHashing
    from deniable.protocols import Public as Public
    from deniable.protocols import RandomizedResponse as RandomizedResponse
    from deniable.protocols import UnaryEncoding as UnaryEncoding
    from deniable.regression import regress as regress
    from deniable.reports import Reports as Reports
    from deniable.reports import randomize as randomize
    from deniable.schema import Choice as Choice
    from deniable.schema import Flag as Flag
    from deniable.schema import Flags as Flags
    from deniable.schema import Schema as Schema


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"deniable.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    return getattr(importlib.import_module(f"deniable.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])
