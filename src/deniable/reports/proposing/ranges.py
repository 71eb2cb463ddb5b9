"""Ranges of numbers at round edges, of about as many people each."""

import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.client import number_text

# The usual edges between age groups, and the names of columns that hold ages in years.
AGES = (18.0, 30.0, 45.0, 65.0)
AGE_NAME = re.compile(r"(^|[^a-zäöüéà])(age|ages|alter|âge|edad|età|idade|leeftijd|wiek)($|[^a-zäöüéà])", re.IGNORECASE)
OLDEST = 120
# Between how many people in a hundred edges are looked for.
HUNDREDTHS = (20, 40, 60, 80)


def round_edges(name: str, numbers: npt.NDArray[np.float64]) -> list[float]:
    """Edges of ranges for a column of numbers, with open ends; round ones, or those usual for ages."""
    least, most = float(numbers.min()), float(numbers.max())
    if AGE_NAME.search(name) and least >= 0 and most <= OLDEST and most > AGES[1]:
        inner: Sequence[float] = [edge for edge in AGES if least < edge <= most]
    else:
        inner = _rounded(numbers, least, most)
    return [-math.inf, *inner, math.inf]


def _rounded(numbers: npt.NDArray[np.float64], least: float, most: float) -> list[float]:
    """Quantiles, rounded as coarsely as they stay apart; in the middle of all numbers if there is no other."""
    quantiles = np.quantile(numbers, [share / 100 for share in HUNDREDTHS])
    gaps = np.diff(quantiles)
    gap = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else (most - least) / 4
    step = _round_step(gap)
    found = sorted({float(round(q / step) * step) for q in quantiles})
    inner = [float(number_text(round(edge, 12))) for edge in found if least < edge <= most]
    return inner or [float(least + (most - least) / 2)]


def _round_step(gap: float) -> float:
    """The largest of 1, 2, 5, 10, 20, 50, ... and their tenths that is at most a gap."""
    power = 10.0 ** math.floor(math.log10(gap))
    return max(one * power for one in (1, 2, 5) if one * power <= gap * (1 + 1e-9))
