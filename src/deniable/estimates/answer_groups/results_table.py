"""Tables of single results: a row for each, with its labels, value, standard error and interval."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import Features, in_a_column, names_of
from deniable.inference.results import JointAnswer
from deniable.tables.table import About, Column, Table


def tidy_results(
    features: Features, labels: Sequence[Sequence[Any]], found: Iterable[JointAnswer], about: About
) -> Table:
    """A table of results: a row for each, with its labels, value, standard error and interval."""
    names, what, level, found = names_of(features), about.kind.value, about.level, list(found)
    about = replace(about, influence=max((one.influence for one in found if one.enough), default=nan))
    numbers = np.array([(one.value, one.stderr, *one.confidence_interval(level)) for one in found])
    columns = dict(zip((what, "stderr", "low", "high"), numbers.T, strict=True))
    if taken := set(names) & set(columns):
        raise EstimateError(f"a table has a column called {min(taken)!r} of its own; rename that feature")
    labelled = zip(features, zip(*labels, strict=True), strict=True)
    by_name: dict[str, Column] = {feature.name: in_a_column(feature, values) for feature, values in labelled}
    return Table(by_name | columns, names, about, tuple(features))
