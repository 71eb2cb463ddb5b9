"""Numbers that stand apart from all others, such as 999 among ages, and yet fall in a range with an open end."""

import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.client import NUMBER, number_text
from deniable.errors import DeniableWarning
from deniable.reports.answers_in import is_number
from deniable.reports.proposing.no_answers import FAR, codes_among, options_in_words
from deniable.reports.report_columns import is_text, whole
from deniable.survey.schema import Choice, Schema

# So many records are looked at, and so many different numbers beyond the others: more of them are no codes.
RECORDS, MOST = 1 << 18, 100


def warn_of_numbers_apart(schema: Schema, columns: Mapping[str, Any], na: Collection[str]) -> None:
    """Warn of numbers that may be codes for no answer, which count as the lowest or the highest range."""
    for feature in schema:
        column = columns.get(feature.name)
        if isinstance(feature, Choice) and feature.edges and column is not None and not isinstance(column, list):
            for code in _apart(feature, column[:RECORDS]):
                if (word := number_text(code)) not in na:
                    place = int(np.searchsorted(feature.edges, code, side="right")) - 1
                    warnings.warn(
                        f"column {feature.name!r} holds {word}, far from all other numbers, which counts as "
                        f"{feature.values[place]!r}; if it means no answer, say {options_in_words([word])}",
                        DeniableWarning,
                        stacklevel=5,
                    )


def _apart(choice: Choice, column: Any) -> list[float]:
    """Numbers of a column that fall in a range with an open end and stand apart from all others as codes do."""
    numbers = _different(whole(column))
    low, high = choice.edges[1], choice.edges[-2]
    above = (numbers >= FAR * abs(high)) & math.isinf(choice.edges[-1])
    below = (numbers < min(low, 0)) & math.isinf(choice.edges[0])
    beyond, rest = numbers[above | below], numbers[~(above | below)]
    if not 0 < len(beyond) <= MOST or not len(rest):
        return []
    return [code for code in codes_among({*beyond.tolist(), rest.min(), rest.max()}) if code in beyond]


def _different(column: Any) -> npt.NDArray[np.float64]:
    """The different numbers of a column, or of the texts in it that are numbers."""
    if is_text(column.type):
        texts = (text for text in column.unique().to_pylist() if text is not None)
        numbers = [float(text) for text in texts if NUMBER.fullmatch(text.strip())]
    else:
        numbers = column.unique().to_pylist() if is_number(column.type) else []
    found = np.array([number for number in numbers if number is not None], np.float64)
    return found[np.isfinite(found)]
