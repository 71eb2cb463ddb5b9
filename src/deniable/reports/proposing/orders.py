"""Orders of answers that are obvious: ranges of numbers such as "<20k" and "65+", and words of common scales."""

import math
import re
from collections.abc import Sequence

from deniable.reports.reading.words import plain

# Common scales, each from its least to its most.
SCALES = tuple(
    tuple(words.split(", "))
    for words in (
        "strongly disagree, disagree, somewhat disagree, slightly disagree, neither agree nor disagree, neutral, "
        "undecided, slightly agree, somewhat agree, agree, strongly agree",
        "completely disagree, disagree, neither agree nor disagree, neutral, agree, completely agree",
        "never, almost never, very rarely, rarely, seldom, occasionally, sometimes, often, frequently, very often, "
        "usually, almost always, always",
        "never, less than once a month, monthly, less than once a week, weekly, several times a week, daily",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neither satisfied nor dissatisfied, neutral, "
        "somewhat satisfied, satisfied, very satisfied",
        "very poor, very bad, poor, bad, fair, average, okay, good, very good, excellent",
        "not at all important, not important, slightly important, somewhat important, moderately important, important, "
        "very important, extremely important",
        "very unlikely, unlikely, somewhat unlikely, neutral, somewhat likely, likely, very likely",
        "not at all, a little, slightly, somewhat, moderately, quite a bit, very, very much, extremely",
        "none, a little, some, a lot, all",
        "very low, low, medium, moderate, average, high, very high",
        "very small, small, medium, large, very large",
        "xs, s, m, l, xl, xxl",
        "no schooling, primary, primary school, secondary, secondary school, high school, vocational, some college, "
        "college, university, bachelor, bachelor's degree, master, master's degree, doctorate, phd",
        "stimme überhaupt nicht zu, stimme nicht zu, stimme eher nicht zu, teils teils, teils/teils, neutral, "
        "stimme eher zu, stimme zu, stimme voll zu, stimme voll und ganz zu",
        "sehr unzufrieden, unzufrieden, eher unzufrieden, teils teils, teils/teils, weder noch, neutral, "
        "eher zufrieden, zufrieden, sehr zufrieden",
        "sehr schlecht, schlecht, eher schlecht, mittelmäßig, teils teils, befriedigend, eher gut, gut, sehr gut",
        "trifft überhaupt nicht zu, trifft gar nicht zu, trifft nicht zu, trifft eher nicht zu, teils teils, "
        "teils/teils, neutral, trifft eher zu, trifft zu, trifft völlig zu, trifft voll zu, trifft voll und ganz zu",
        "nie, sehr selten, selten, gelegentlich, manchmal, häufig, oft, sehr oft, meistens, immer",
        "pas du tout d'accord, pas d'accord, plutôt pas d'accord, neutre, plutôt d'accord, d'accord, "
        "tout à fait d'accord",
        "très insatisfait, insatisfait, plutôt insatisfait, neutre, plutôt satisfait, satisfait, très satisfait",
        "jamais, rarement, parfois, souvent, très souvent, toujours",
        "muy insatisfecho, insatisfecho, neutral, satisfecho, muy satisfecho",
        "nunca, casi nunca, rara vez, a veces, a menudo, casi siempre, siempre",
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        "january, february, march, april, may, june, july, august, september, october, november, december",
    )
)
# Answers that stand outside of an order, after all others.
OUTSIDE = (
    "don't know", "dont know", "do not know", "not sure", "unsure", "prefer not to say", "prefer not to answer",
    "other", "not applicable", "refused", "no answer", "weiß nicht", "keine angabe", "ne sait pas", "no sabe",
    "unknown",
)  # fmt: skip
NUMBER = re.compile(r"(\d[\d.,' ]*\d|\d)\s*([km]?)(?![a-z])")
LESS = re.compile(r"^\s*(<|≤|under|less than|below|up to|at most|unter|bis|weniger|moins de|menos de|fewer than|to )")
MORE = re.compile(
    r"^\s*(>|≥|over|more than|above|at least|über|ab|mehr|plus de|más de)|\+|(and|or) (over|more|older|above)|und mehr"
    r"|et plus|y más"
)
FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}


def recognised(values: Sequence[str]) -> list[str] | None:
    """The values in an order that is obvious, those outside of it last; None if none is."""
    outside = [value for value in values if plain(value) in OUTSIDE]
    inside = [value for value in values if value not in outside]
    if len(inside) < 2:
        return None
    ranges = [_range(value) for value in inside]
    if None not in ranges and len(set(ranges)) == len(ranges):
        return [value for _, value in sorted(zip(ranges, inside, strict=True))] + outside
    words = [plain(value) for value in inside]
    for scale in SCALES:
        if set(words) <= set(scale):
            return sorted(inside, key=lambda value: scale.index(plain(value))) + outside
    return None


def alphabetical(values: Sequence[str]) -> list[str]:
    """The values by the alphabet, those like "other" and "don't know" last."""
    return sorted(values, key=lambda value: (plain(value) in OUTSIDE, value))


def order_in_words(values: Sequence[str]) -> str:
    """Which order such values have; of two in no order nothing is said."""
    return "in their order" if recognised(values) else "in alphabetical order" if len(values) > 2 else ""


def _range(text: str) -> tuple[float, float] | None:
    """The ends of a range of numbers that a text describes, such as "<20k", "20-50k" or "65+"; None of other texts."""
    small = plain(text).replace("€", "").replace("$", "").replace("£", "")
    found = [(_number(digits), FACTORS[factor]) for digits, factor in NUMBER.findall(small)]
    if not 1 <= len(found) <= 2 or any(math.isnan(number) for number, _ in found):
        return None
    if len(found) == 2 and found[0][1] == 1 < found[1][1] and found[0][0] <= found[1][0]:
        found[0] = (found[0][0], found[1][1])  # 20-50k
    ends = [number * factor for number, factor in found]
    if len(ends) == 2:
        return (ends[0], ends[1])
    if LESS.search(small):
        return (-math.inf, ends[0])
    if MORE.search(small):
        return (ends[0], math.inf)
    return (ends[0], ends[0]) if len(re.sub(r"[\d.,' km]", "", small)) <= len("children") else None


def _number(digits: str) -> float:
    """A number as people write it, with marks between thousands."""
    plainly = re.sub(r"[,.' ](?=\d{3}(\D|$))", "", digits).replace(" ", "").replace(",", ".")
    try:
        return float(plainly)
    except ValueError:
        return math.nan
