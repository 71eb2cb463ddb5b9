"""Joint answers, with honest error bars, from answers randomized on each respondent's own device.

    client -> survey -> reports -> counts -> inference -> estimates -> analyses -> page | validation -> collect -> cli

Data flows along these packages, and each imports only what stands before it; `text`, `kernels` and `charts` serve
those after them. `client` stands alone and runs on a respondent's device: names are resolved when they are first used,
so that `import deniable.client` needs the standard library alone.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOMES = {  # of each promised name
    "survey.schema": ("Flag", "Choice", "Flags", "Schema"),
    "survey.protocols": (
        "RandomizedResponse", "GRR", "SubsetSelection", "UnaryEncoding", "LocalHashing", "Public"
    ),
    "survey.plan": ("Plan",),
    "survey.design": ("design",),
    "survey.budget_over_time": ("budget",),
    "reports.reports": ("Reports",),
    "reports.randomize": ("randomize",),
    "counts.counts": ("Counts",),
    "counts.count": ("count",),
    "counts.warehouse.query": ("sql",),
    "counts.warehouse.patterns": ("count_patterns",),
    "estimates.estimate": ("Estimate", "estimate"),
    "estimates.likelihood": ("maximum_likelihood",),
    "analyses.associations": ("associations",),
    "analyses.fit.check": ("check",),
    "analyses.comparison": ("compare",),
    "analyses.regression": ("regress",),
    "analyses.models.trend": ("trend",),
    "analyses.whole_survey.fit": ("fit",),
    "page.page": ("write_page",),
    "errors": (
        "DeniableError", "SchemaError", "PlanError", "AnswerError", "ReportError", "CountError", "EstimateError",
        "CollectError", "ArmSizeWarning", "FitWarning", "HomogeneityWarning", "LeftOutWarning",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("simulate",)
__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    from deniable import simulate as simulate
    from deniable.analyses.associations import associations as associations
    from deniable.analyses.comparison import compare as compare
    from deniable.analyses.fit.check import check as check
    from deniable.analyses.models.trend import trend as trend
    from deniable.analyses.regression import regress as regress
    from deniable.analyses.whole_survey.fit import fit as fit
    from deniable.counts.count import count as count
    from deniable.counts.counts import Counts as Counts
    from deniable.counts.warehouse.patterns import count_patterns as count_patterns
    from deniable.counts.warehouse.query import sql as sql
    from deniable.errors import AnswerError as AnswerError
    from deniable.errors import ArmSizeWarning as ArmSizeWarning
    from deniable.errors import CollectError as CollectError
    from deniable.errors import CountError as CountError
    from deniable.errors import DeniableError as DeniableError
    from deniable.errors import EstimateError as EstimateError
    from deniable.errors import FitWarning as FitWarning
    from deniable.errors import HomogeneityWarning as HomogeneityWarning
    from deniable.errors import LeftOutWarning as LeftOutWarning
    from deniable.errors import PlanError as PlanError
    from deniable.errors import ReportError as ReportError
    from deniable.errors import SchemaError as SchemaError
    from deniable.estimates.estimate import Estimate as Estimate
    from deniable.estimates.estimate import estimate as estimate
    from deniable.estimates.likelihood import maximum_likelihood as maximum_likelihood
    from deniable.page.page import write_page as write_page
    from deniable.reports.randomize import randomize as randomize
    from deniable.reports.reports import Reports as Reports
    from deniable.survey.budget_over_time import budget as budget
    from deniable.survey.design import design as design
    from deniable.survey.plan import Plan as Plan
    from deniable.survey.protocols import GRR as GRR
    from deniable.survey.protocols import LocalHashing as LocalHashing
    from deniable.survey.protocols import Public as Public
    from deniable.survey.protocols import RandomizedResponse as RandomizedResponse
    from deniable.survey.protocols import SubsetSelection as SubsetSelection
    from deniable.survey.protocols import UnaryEncoding as UnaryEncoding
    from deniable.survey.schema import Choice as Choice
    from deniable.survey.schema import Flag as Flag
    from deniable.survey.schema import Flags as Flags
    from deniable.survey.schema import Schema as Schema


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"deniable.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    return getattr(importlib.import_module(f"deniable.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
