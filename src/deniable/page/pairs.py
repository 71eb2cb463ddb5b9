"""Pairs of questions on the page: the surest associations, a heat map of all, and the answers to one given another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from deniable.analyses.pair_findings import SURE, Conditional, RankedPair, surest_features
from deniable.charts import association_map, interval_chart
from deniable.charts.association_map import Gap
from deniable.charts.interval_chart import Row
from deniable.page.blocks import (
    SEE_TABLE,
    Cell,
    Chart,
    Number,
    Table,
    asked_in_words,
    digits_for,
    numbers_of,
    percent,
    row_of,
    with_asked,
    with_merged,
)
from deniable.page.single_questions import extremes_in_words
from deniable.survey.schema import Flag
from deniable.text.fixed_phrases import NOT_ENOUGH
from deniable.text.width import isolated

# RANKED is how many pairs the chart of the surest associations shows at most.
RANKED = 15
# SKIPPED is said of pairs where questions may be skipped.
SKIPPED = " Who skipped a question is left out: each pair is among those who answered both."
# SQUARE is how many features the heat map shows at most.
SQUARE = 30


def ranked_chart(pairs: Sequence[RankedPair]) -> Chart | None:
    """The chart of the surest associations, of those with enough reports; None if there are none."""
    known = [pair for pair in pairs if pair.enough]
    if not known:
        return None
    top = known[:RANKED]
    rows = [
        Row(
            isolated(pair.first),
            f"× {isolated(pair.second)}",
            pair.shrunken,
            pair.listed_low,
            pair.listed_high,
            _effect(pair),
            faint=not pair.sure,
        )
        for pair in top
    ]
    heading, caption = "The surest associations", _ranked_caption(pairs, known, len(top))
    svg = interval_chart.draw(rows, name="ranked", title=heading, about=f"{caption} {SEE_TABLE}", percent=False)
    return Chart("ranked", heading, caption, svg, _pair_table(heading, top))


def _ranked_caption(pairs: Sequence[RankedPair], known: Sequence[RankedPair], shown: int) -> str:
    sure = sum(pair.sure for pair in known)
    caption = f"{'None of these pairs can' if len(pairs) > 1 else 'This pair cannot'} be told from chance."
    if sure:
        chance = f"at most about {percent(SURE)} of such findings are chance"
        of = f"{sure:,} of {len(pairs):,} pairs go" if len(pairs) > 1 else "These two questions go"
        caption = f"{of} together; {chance}."
    if lacking := len(pairs) - len(known):
        caption += f" For {lacking:,} of {len(pairs):,} pairs there are {NOT_ENOUGH}."
    if 0 < sure < shown:
        caption += " Those in grey may be chance."
    if shown < len(known):
        caption += f" The first {shown} are shown."
    caption += (
        " What comes out surest is partly luck: strengths are shrunken by as much, and intervals allow for it; the "
        "table has the strengths as they were found, too."
    )
    caption += SKIPPED * any(pair.answered for pair in known[:shown])
    return caption + _merged_in_words(known[:shown]) + asked_in_words(pair.asked for pair in known[:shown])


def _merged_in_words(pairs: Sequence[RankedPair]) -> str:
    """That rare answers were merged, if any were."""
    merged = sum(bool(pair.merged) for pair in pairs)
    if not merged:
        return ""
    return f" For {merged:,} pair{'s' * (merged != 1)} rare answers were merged into one; the table says which."


def square_chart(questions: Sequence[str], pairs: Sequence[RankedPair], *, every: bool = True) -> Chart | None:
    """The heat map of all pairs, or of those of the features that go together most surely; None of a single pair.

    `questions` are all questions, in order; `every` is whether all pairs of them were asked of somebody together.
    """
    if len(pairs) < 2:
        return None
    chosen = set(surest_features(pairs, SQUARE))
    names = [name for name in questions if name in chosen]
    shown = [pair for pair in pairs if chosen.issuperset(pair.names)]
    by_names = {pair.names: pair for pair in shown}
    effects = [[_depth(by_names.get((left, right))) for left in names[:i]] for i, right in enumerate(names)]
    apart = any(Gap.APART in row for row in effects)
    note = ""
    if len(shown) < len(pairs):
        note = (
            f"The {len(names)} questions with the surest associations; for all {len(pairs):,} pairs: "
            "deniable associations counts.npz --top 0"
        )
    heading = "Every pair of questions" + ("" if every else " that some people were asked together")
    caption = _square_caption(shown) + (" A dot: nobody was asked both." if apart else "")
    caption += SKIPPED * any(pair.answered for pair in shown)
    caption += _merged_in_words(shown) + asked_in_words(pair.asked for pair in shown)
    svg = association_map.draw(names, effects, name="square", title=heading, about=f"{caption} {SEE_TABLE}")
    return Chart("square", heading, caption, svg, _pair_table(heading, shown), note)


def _square_caption(shown: Sequence[RankedPair]) -> str:
    caption = (
        "The deeper the colour, the more strongly two questions go together; pale where that may be chance. Columns "
        "have the numbers of the rows."
    )
    negative = any(pair.sure and pair.effect < 0 for pair in shown)
    return caption + (" Orange: a yes to one goes with a no to the other." if negative else "")


def _depth(pair: RankedPair | None) -> float | Gap:
    """The effect that a heat map shows: none if it may be chance; a gap if nobody was asked both, or too few were."""
    if pair is None:
        return Gap.APART
    if not pair.enough:
        return Gap.FEW
    return pair.shrunken if pair.sure else 0.0


def _pair_table(caption: str, pairs: Sequence[RankedPair]) -> Table:
    rows = []
    for pair in pairs:
        numbers: tuple[Cell, ...] = (NOT_ENOUGH, "", "", "", "")
        if pair.enough:
            strength = (pair.shrunken, pair.listed_low, pair.listed_high, pair.effect)
            numbers = (*(Number(_signed(x), x) for x in strength), Number(_rate(pair.fdr), pair.fdr))
        rows.append((pair_label(*pair.names), pair.measure, *numbers))
    table = Table(caption, ("pair", "measure", "strength", "from", "to", "as found", "chance"), tuple(rows), words=2)
    return with_merged(with_asked(table, [pair.asked for pair in pairs]), [pair.merged for pair in pairs])


def conditional_chart(name: str, found: Conditional, level: float) -> Chart:
    """The chart of the answers to one question among those with each answer to another one."""
    heading = conditional_heading(found.what.title, found.given.title)
    caption = _conditional_caption(found) + asked_in_words([found.asked])
    digits = digits_for(found.shares)
    table = Table(
        f"{heading}: shares among those with each answer, with {percent(level)} intervals",
        (f"among {found.given.title}", found.what.title, "share", "from", "to"),
        tuple((share.among, share.label, *numbers_of(share, digits)) for share in found.shares),
        words=2,
    )
    lines = list(_conditional_rows(found, digits))
    svg = interval_chart.draw(lines, name=name, title=heading, about=f"{caption} {SEE_TABLE}")
    return Chart(name, heading, caption, svg, table)


def _conditional_rows(found: Conditional, digits: int) -> Iterator[Row]:
    """The lines of a conditional chart: of a choice under a heading for each answer to the given question."""
    given, before = found.given.title, None
    for share in found.shares:
        if not isinstance(found.what, Flag):
            if share.among != before:
                yield Row(interval_chart.heading([(given, share.among)]), heading=True)
            before = share.among
            yield row_of(share, share.label, digits)
        else:
            yield row_of(
                share, f"{isolated(given)}: {share.among}" if isinstance(found.given, Flag) else share.among, digits
            )


def _conditional_caption(found: Conditional) -> str:
    what, given = isolated(found.what.title), isolated(found.given.title)
    skipped = found.what.missing is not None or found.given.missing is not None
    among = f"among those with each answer to {given}{', of those who answered both' * skipped}."
    if not isinstance(found.what, Flag):
        return f"How the answers to {what} are distributed {among}"
    named = [replace(share, label=share.among) for share in found.shares]
    return f"How many say yes to {what} {among} {extremes_in_words(named)}"


def conditional_heading(what: str, given: str) -> str:
    """The heading of a conditional chart, and what it is called where it lacks reports."""
    return f"{isolated(what)}, by {isolated(given)}"


def pair_label(first: str, second: str) -> str:
    """Two features as they are shown together."""
    return f"{isolated(first)} × {isolated(second)}"


def in_words(pair: RankedPair) -> str:
    """A pair with its strength."""
    return f"{isolated(pair.first)} and {isolated(pair.second)}: {pair.measure} {_effect(pair)}"


def _effect(pair: RankedPair) -> str:
    return f"{_signed(pair.shrunken)} ({_signed(pair.listed_low)} to {_signed(pair.listed_high)})"


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "−").replace("−0.00", "0.00")


def _rate(rate: float) -> str:
    return "< 0.001" if rate < 0.001 else f"{rate:.3f}"
