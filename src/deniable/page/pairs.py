"""Pairs of questions: which most surely go together, how strongly, and what one answer says about the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any

from deniable.analyses.sample_size import for_conditional, for_pairs
from deniable.charts import charts
from deniable.charts.charts import NOT_ENOUGH, Row
from deniable.counts.counts import Counts
from deniable.estimates.estimate import estimate
from deniable.page.blocks import (
    SEE_TABLE,
    Cell,
    Chart,
    Number,
    Table,
    Unanswered,
    digits_for,
    highest_and_lowest,
    numbers_of,
    row_of,
)
from deniable.survey.plan import Plan
from deniable.survey.schema import Choice, Feature, Flag
from deniable.text.width import isolated

RANKED = 15  # pairs in the ranked chart
SQUARE = 30  # features in the heat map
CONDITIONALS = 4  # charts of one answer given another
CONDITIONAL_ROWS = 36
WIDE = 24  # answers: a question with more is not paired with others, as that takes the fourth power of time
TRIED = 2_000  # pairs that are asked how many reports they would take
SURE = 0.05  # rate of false discoveries below which a pair is said to go together


@dataclass(frozen=True)
class Pair:
    """A row of `associations`."""

    first: str
    second: str
    measure: str
    effect: float
    low: float
    high: float
    p_value: float
    fdr: float

    @property
    def names(self) -> tuple[str, str]:
        """Of its features."""
        return self.first, self.second

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The strength and its interval."""
        return self.effect, self.low, self.high

    @property
    def label(self) -> str:
        """Its features."""
        return f"{isolated(self.first)} × {isolated(self.second)}"

    @property
    def enough(self) -> bool:
        """Whether there are enough reports for both its interval and its test."""
        return not isnan(self.low) and not isnan(self.fdr)

    @property
    def sure(self) -> bool:
        """Whether it is among those that go together, few of which are false discoveries."""
        return self.enough and self.fdr <= SURE


def narrow(counts: Counts) -> tuple[Counts | None, list[str]]:
    """Counts of the pairs of features without very many answers, if there are any, and the other features."""
    wide = [feature.name for feature in counts.plan.schema if feature.levels > WIDE]
    names = [name for name in counts.plan.schema.names if name not in wide]
    if len(names) < 2:
        return None, wide
    if not wide:
        return counts, []
    return Counts(counts.plan, {pair: counts.array(*pair) for pair in combinations(names, 2)}), wide


def ranked(pairs: Sequence[Pair]) -> Chart | None:
    """The pairs that most surely go together, of those with enough reports; None if there are none."""
    known = [pair for pair in pairs if pair.enough]
    if not known:
        return None
    top, sure = known[:RANKED], sum(pair.sure for pair in known)
    rows = [
        Row(isolated(pair.first), f"× {isolated(pair.second)}", *pair.numbers, _effect(pair), faint=not pair.sure)
        for pair in top
    ]
    caption = "None of these pairs can be told from chance."
    if sure:
        chance = f"about {100 * SURE:.0f} % of such findings, at most, are chance"
        caption = f"{sure:,} of {len(known):,} pairs go together; {chance}."
    if 0 < sure < len(top):
        caption += " Those in grey may be chance."
    if len(top) < len(known):
        caption += f" The first {len(top)} are shown."
    heading = "The surest associations"
    about = f"{caption} {SEE_TABLE}"
    svg = charts.intervals(rows, name="ranked", title=heading, about=about, percent=False)
    return Chart("ranked", heading, caption, svg, _pair_table(heading, top))


def square(plan: Plan, pairs: Sequence[Pair]) -> Chart:
    """All pairs, or those of the features that go together most surely."""
    chosen = list(dict.fromkeys(name for pair in pairs for name in pair.names))[:SQUARE]
    names = [name for name in plan.schema.names if name in chosen]
    by_names = {pair.names: pair for pair in pairs}
    effects = [
        [pair.effect if (pair := by_names[left, right]).sure else 0.0 if pair.enough else None for left in names[:i]]
        for i, right in enumerate(names)
    ]
    some = [pair for pair in pairs if set(pair.names) <= set(names)]
    caption = (
        "The deeper the colour, the more strongly two questions go together; pale where that may be chance. Columns "
        "have the numbers of the rows."
    )
    if any(x is not None and x < 0 for row in effects for x in row):
        caption += " Orange: a yes to one goes with a no to the other."
    every = len(names) == len({name for pair in pairs for name in pair.names})
    note = (
        ""
        if every
        else (
            f"The {len(names)} questions with the surest associations; for all {len(pairs):,} pairs: "
            "deniable associations counts.npz --top 0"
        )
    )
    heading = "Every pair of questions"
    svg = charts.heat_map(names, effects, name="square", title=heading, about=f"{caption} {SEE_TABLE}")
    return Chart("square", heading, caption, svg, _pair_table(heading, some), note)


def _pair_table(caption: str, pairs: Sequence[Pair]) -> Table:
    rows = []
    for pair in pairs:
        numbers: tuple[Cell, ...] = (NOT_ENOUGH, "", "")
        if pair.enough:
            numbers = tuple(Number(_signed(x), x) for x in pair.numbers)
        rows.append((pair.label, pair.measure, *numbers, Number(_rate(pair.fdr), pair.fdr) if pair.enough else ""))
    return Table(caption, ("pair", "measure", "strength", "from", "to", "chance"), tuple(rows), words=2)


def conditionals(counts: Counts, pairs: Sequence[Pair], level: float) -> list[tuple[Chart, list[Unanswered]]]:
    """Of the pairs that go together most surely, the answers to one question given those to the other."""
    chosen: list[tuple[Feature, Feature]] = []
    for pair in pairs:
        given, what = _direction(counts.plan, pair)
        rows = given.levels * (1 if isinstance(what, Flag) else what.levels)
        nameable = not set(pair.names) & {"proportion", "stderr", "low", "high"}  # `conditional` has columns so called
        if pair.sure and nameable and rows <= CONDITIONAL_ROWS and len(chosen) < CONDITIONALS:
            chosen.append((given, what))
    return [_conditional(counts, f"given-{k}", given, what, level) for k, (given, what) in enumerate(chosen, start=1)]


def _direction(plan: Plan, pair: Pair) -> tuple[Feature, Feature]:
    """The feature that is given, and the one asked about: a public one is given, a flag is asked about."""
    first, second = (plan.schema[name] for name in pair.names)
    public = [feature.name in plan.public for feature in (first, second)]
    flags = [isinstance(feature, Flag) for feature in (first, second)]
    if (public[1] and not public[0]) or (public[0] == public[1] and flags[0] and not flags[1]):
        return second, first
    return first, second


def _conditional(
    counts: Counts, name: str, given: Feature, what: Feature, level: float
) -> tuple[Chart, list[Unanswered]]:
    est = estimate(counts, [given.name, what.name]).about("population")
    found = est.conditional(what.name, given=given.name, level=level).to_pylist()
    rows = [row for row in found if row[what.name] is not False]
    digits = digits_for(rows)
    asked, among_whom = isolated(what.name), isolated(given.name)
    heading = f"{asked}, by {among_whom}"
    lines: list[Row] = []
    for row in rows:
        among = _answer(given, row[given.name])
        if isinstance(what, Choice) and row[what.name] == what.values[0]:
            lines.append(Row(f"{among_whom}: {isolated(among)}", heading=True))
        label = f"{among_whom}: {among}" if isinstance(given, Flag) else among
        label = label if isinstance(what, Flag) else row[what.name]
        lines.append(row_of(label, row, digits))
    caption = f"How many say yes to {asked}" if isinstance(what, Flag) else f"How the answers to {asked} spread"
    caption += f", among those with each answer to {among_whom}."
    if isinstance(what, Flag):
        shares = [(_answer(given, row[given.name]), row) for row in rows]
        caption += f" {highest_and_lowest(sorted(shares, key=lambda share: -share[1]['proportion']))}"
    table = Table(
        f"{heading}: shares among those with each answer, with {100 * level:.10g} % intervals",
        (f"among {given.name}", what.name, "share", "from", "to"),
        tuple(
            (_answer(given, row[given.name]), _answer(what, row[what.name]), *numbers_of(row, digits)) for row in rows
        ),
        words=2,
    )
    svg = charts.intervals(lines, name=name, title=heading, about=f"{caption} {SEE_TABLE}")
    unanswered = []
    if any(isnan(row["low"]) for row in rows):
        count = sum(isnan(row["low"]) for row in rows)
        needed = for_conditional(est, what.name, given.name)
        unanswered.append(Unanswered(heading, f"{count} of {len(rows)} shares", needed))
    return Chart(name, heading, caption, svg, table), unanswered


def missing_pairs(counts: Counts, pairs: Sequence[Pair]) -> list[Unanswered]:
    """The pairs that there are not enough reports for; of very many, the first."""
    without = [pair for pair in pairs if not pair.enough][:TRIED]
    needed = for_pairs(counts, [pair.names for pair in without])
    return [Unanswered(pair.label, "whether and how they go together", needed[pair.names]) for pair in without]


def in_words(pair: Pair) -> str:
    """A pair with its strength."""
    return f"{isolated(pair.first)} and {isolated(pair.second)}: {pair.measure} {_effect(pair)}"


def _answer(feature: Feature, answer: Any) -> str:
    return str(answer) if isinstance(feature, Choice) else "yes" if answer else "no"


def _effect(pair: Pair) -> str:
    return f"{_signed(pair.effect)} ({_signed(pair.low)} to {_signed(pair.high)})"


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "−").replace("−0.00", "0.00")


def _rate(rate: float) -> str:
    return "< 0.001" if rate < 0.001 else f"{rate:.3f}"
