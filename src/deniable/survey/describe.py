"""The plan in words and tables, for terminal and page."""

import math
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, islice, repeat
from math import prod

from deniable.client import SCALE, log_up
from deniable.errors import listed
from deniable.survey.aim import Names, unwanted
from deniable.survey.arms import arm_name, different_names
from deniable.survey.blocks import TIMES, Block
from deniable.survey.half_widths import HalfWidths, everybody_everything, times_fewer
from deniable.survey.plan import Plan
from deniable.survey.planning.hardly_known import hardly_known, to_two_digits
from deniable.survey.privacy import (
    BELIEF,
    LARGE,
    Promise,
    in_two_rounds,
    of_one_report,
    of_report,
    of_weakest_question,
    public_in_quotes,
)
from deniable.survey.schema import SEPARATOR, Feature, Flag
from deniable.text.tables import ALARM, DIM, GAP, aligned, is_terminal, paint
from deniable.text.width import folded, shortened, width

# HEAD names the columns of the table of protocols; "sent if true" is the probability that an answer's evidence is sent
# by somebody who gave it, and "sent if not" by somebody who gave another one.
HEAD = ("feature", "answers", "protocol", "epsilon", "sent if true", "sent if not")
# ARM_HEAD names the columns of the table of arms.
ARM_HEAD = ("arm", "share", "asked together", "answers", "protocol", "epsilon")
# NARROW and WIDE are the least and the most columns of a terminal that a table is made for; names of blocks are folded
# to fit. What is not printed to a terminal is made for the most.
NARROW, WIDE = 72, 100
# FILLED is how many columns of a terminal a sentence takes at most.
FILLED = 96
# LEAST_ROOM is how many columns are left for the names of a block, however wide the rest of the table is.
LEAST_ROOM = 20
# WHOLE_TEXT is how many columns are left for texts that are shown whole, on several lines.
WHOLE_TEXT = 28
# LONG_NAME is how many columns the name of an arm takes at most.
LONG_NAME = 24
# MOST_LINES is how many lines of the table of arms are printed.
MOST_LINES = 24
# MOST_TABLES is how many tables a plan says half-widths of, one by one.
MOST_TABLES = 12
# MOST_RANGE is how many tables half-widths are worked out of, to say of the others how wide they are.
MOST_RANGE = 2_000
# MOST_CELLS is how many cells a table has at most that nobody said is wanted, but that is asked together.
MOST_CELLS = 256
# WORTH_SAYING is how many times as many people a plan without a design must need as one with it, to say so.
WORTH_SAYING = 1.5
# MOST_QUESTIONS is how many questions a table has at most whose half-width is said: a block has no more of two answers.
MOST_QUESTIONS = 12
# ROUND_NUMBER is how many people the half-widths are of where nobody said how many there will be.
ROUND_NUMBER = 10_000

Row = tuple[str, ...]


# -- tables ------------------------------------------------------------------------------------------------------------


def protocol_head(plan: Plan) -> Row:
    """The head of the table of protocols: HEAD, with the epsilon of one report where a fresh coin makes it smaller."""
    return (*HEAD[:4], *(["epsilon_1"] if in_two_rounds(plan) else []), *HEAD[4:])


def protocol_rows(plan: Plan) -> list[Row]:
    """The table of protocols below its head: how each block is randomized, in words and percentages."""
    rows = list(map(_protocol_row, plan.blocks, repeat(distinct_titles(plan.schema))))
    if not in_two_rounds(plan):
        return rows
    ones = [log_up([block.protocol.ratio_1]) if block.protocol.protects else None for block in plan.blocks]
    each = ("none" if one is None else epsilon_in_words(one) for one in ones)
    return [(*row[:4], one, *row[4:]) for row, one in zip(rows, each, strict=True)]


def _protocol_row(block: Block, titles: Mapping[str, str]) -> Row:
    protocol, levels = block.protocol, prod(block.levels)
    answers = "true/false" if isinstance(block.features[0], Flag) and levels == 2 else f"one of {levels:,}"
    name = _titled(block.names, titles)
    if not protocol.protects:
        return name, answers, "PUBLIC, not protected", "none", "always", "never"
    sent = f"{protocol.q:.2%}", f"{protocol.p:.2%}"
    return name, answers, protocol.name, epsilon_in_words(protocol.epsilon), *sent


def arm_rows(plan: Plan) -> list[Row]:
    """The table below ARM_HEAD: a row for each block of each arm, the arm's name and share on its first."""
    return [row for rows in _rows_by_arm(plan) for row in rows]


def _titled(names: Sequence[str], titles: Mapping[str, str]) -> str:
    """What people read as questions that are asked together."""
    return TIMES.join(titles[name] for name in names)


def _rows_by_arm(plan: Plan) -> Iterator[list[Row]]:
    titles = distinct_titles(plan.schema)
    for name, share, arm in zip(plan.arm_names, plan.shares, plan.arms, strict=True):
        blocks, first = [one for one in arm.blocks if one.protocol.protects], (name, f"{share / SCALE:.2%}")
        own = [_protocol_row(block, titles) for block in blocks or arm.blocks]
        yield [(*(first if place == 0 else ("", "")), *row[:4]) for place, row in enumerate(own)]


def describe(plan: Plan, *, colour: bool = False) -> str:
    """The plan as a small table that a privacy officer can read, with its promises and its fingerprint."""
    lines = _arms(plan, colour=colour) if plan.has_arms else _blocks(plan, colour=colour)
    if len(plan.public) < len(plan.schema):
        lines += [*_outlook(plan, colour=colour), "", *_promises(plan)]
    for loud in _warnings(plan):
        lines += ["", *(paint(line, ALARM, colour=colour) for line in _filled(loud))]
    return "\n".join([*lines, "", paint(f"Fingerprint {plan.fingerprint}", DIM, colour=colour)])


def _blocks(plan: Plan, *, colour: bool) -> list[str]:
    head, rows = protocol_head(plan), protocol_rows(plan)
    room = _room(head, rows, 0)
    lines = [line for row in rows for line in _folded(row, 0, room)]
    return aligned(head, lines, numbers=range(3, len(head)), rule=True, colour=colour)


def _arms(plan: Plan, *, colour: bool) -> list[str]:
    """The table of arms, of many only the first, and who draws them."""
    head: Row = ARM_HEAD if _named(plan) else ARM_HEAD[1:]
    first = islice(_rows_by_arm(plan), MOST_LINES)
    arms = [[(shortened(row[0], LONG_NAME), *row[1:])[-len(head) :] for row in rows] for rows in first]
    at = head.index("asked together")
    room = _room(head, [row for rows in arms for row in rows], at)
    each = [[line for row in rows for line in _folded(row, at, room)] for rows in arms]
    shown = max(1, sum(lines <= MOST_LINES for lines in accumulate(map(len, each))))
    lines = [line for rows in each[:shown] for line in rows]
    table = aligned(head, lines, numbers=(at - 1, at + 3), rule=True, colour=colour)
    if more := len(plan.arms) - shown:
        table.append(f"... and {more:,} more arms" if more > 1 else "... and one more arm")
    return [*table, "", *_filled(who_draws(plan))]


def _named(plan: Plan) -> bool:
    """Whether some arm has a name of its own, which says more than what it asks."""
    return plan.arm_names != different_names([None] * len(plan.arms), [arm_name(arm.blocks) for arm in plan.arms])


def _room(head: Row, rows: Sequence[Row], at: int) -> int:
    """How wide a column may be if the table is to fit a terminal."""
    others = [max(map(width, column)) for k, column in enumerate(zip(head, *rows, strict=True)) if k != at]
    return max(LEAST_ROOM, _columns() - sum(others) - len(GAP) * len(others))


def within_width(head: Row, rows: Sequence[Row]) -> list[Row]:
    """The rows of a table with the whole texts of the first column, on several lines where they are long."""
    room = max(_room(head, rows, 0), WHOLE_TEXT)
    return [
        (piece, *(cells if place == 0 else ("",) * len(cells)))
        for first, *cells in rows
        for place, piece in enumerate(folded(first, room))
    ]


def _columns() -> int:
    """How many columns there are for a table: those of the terminal, within limits."""
    if not is_terminal(sys.stdout):
        return WIDE
    return max(NARROW, min(WIDE, shutil.get_terminal_size((WIDE, 24)).columns))


def _folded(row: Row, at: int, room: int) -> list[Row]:
    """A row of a table as several lines if the names of its block, in the column `at`, take more than the room."""
    pieces: list[str] = []
    for name in row[at].split(TIMES):
        word = shortened(name, room) if not pieces else shortened(f"x {name}", room)
        if pieces and width(pieces[-1]) + 1 + width(word) <= room:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    blank = ("",) * len(row)
    lines = [row, *(blank for _ in pieces[1:])]
    return [(*line[:at], piece, *line[at + 1 :]) for line, piece in zip(lines, pieces, strict=True)]


# -- what it will tell -------------------------------------------------------------------------------------------------


def _outlook(plan: Plan, *, colour: bool) -> list[str]:
    """What the plan will tell: half-widths of its tables, or what a design would gain."""
    apart = all(len(block.features) == 1 for block in plan.blocks) and not plan.has_arms
    if not plan.want and apart:
        return _gain_of_a_design(plan)
    widths, n = HalfWidths(plan), plan.n or ROUND_NUMBER
    tables = [names for names in plan.want or _asked_together(plan) if len(names) <= MOST_QUESTIONS]
    if not tables:
        return []
    lines = ["", *_half_widths(plan, widths, tables, n, colour=colour)]
    said = "95 % intervals of a cell's share, about the population, if all answers are equally common."
    if plan.n is None:
        said += " Four times as many people halve them."
    loud = hardly_known(plan, widths, tables) if plan.n else ""
    lines += _filled(" ".join([said, *_spared(plan)]))
    lines += [paint(line, ALARM, colour=colour) for line in ["", *_filled(loud)] if loud]
    return lines + (_gain_of_a_design(plan) if apart else [])


def _asked_together(plan: Plan) -> tuple[Names, ...]:
    """The tables that blocks hold, where nobody said which are wanted."""
    protected = (block for block in plan.blocks if block.protocol.protects and prod(block.levels) <= MOST_CELLS)
    return tuple(dict.fromkeys(block.names for block in protected))


def _half_widths(plan: Plan, widths: HalfWidths, tables: Sequence[Names], n: int, *, colour: bool) -> list[str]:
    """The table of half-widths, beside those of asking everybody everything; of many tables only the first."""
    other = everybody_everything(plan)
    columns = [widths] if other is None or other == plan else [widths, HalfWidths(other)]
    people = f"with {n:,} {'person' if n == 1 else 'people'}"
    head: Row = ("wanted" if plan.want else "asked together", people, "if everybody were asked everything")
    titles = distinct_titles(plan.schema)
    rows = [(_titled(names, titles), *(_points(one(names, n)) for one in columns)) for names in tables[:MOST_TABLES]]
    head = head[: 1 + len(columns)]
    found = [line for row in rows for line in _folded(row, 0, _room(head, rows, 0))]
    lines = aligned(head, found, numbers=range(1, len(head)), rule=True, colour=colour)
    return lines + _more(widths, tables[MOST_TABLES:], n)


def _more(widths: HalfWidths, tables: Sequence[Names], n: int) -> list[str]:
    """The tables that are not shown, with the range of their half-widths."""
    if not tables:
        return []
    said = f"... and {len(tables):,} more" if len(tables) > 1 else "... and one more"
    if len(tables) > MOST_RANGE:
        return [said]
    low, *_, high = sorted([widths(names, n) for names in tables] * 2)
    return [f"{said}: {_points(low)}" + (f" to {_points(high)}" if _points(low) != _points(high) else "")]


def _gain_of_a_design(plan: Plan) -> list[str]:
    """One sentence on how many times as many people asking everybody everything takes as a design would."""
    fewer = times_fewer(plan)
    if fewer is None or fewer < WORTH_SAYING:
        return []
    return ["", *_filled(
        "Everybody is asked everything, each answer with a part of epsilon. For tables of two this takes about "
        f"{to_two_digits(fewer)} times as many people as a design that asks each person a few questions together, at "
        "the same total epsilon: dn.design, or `deniable plan`."
    )]  # fmt: skip


def _spared(plan: Plan) -> Iterator[str]:
    """One sentence on the people who are asked for every pair of questions, and why."""
    if plan.aim and plan.aim.manner and (share := plan.aim.manner.spare):
        left = unwanted([name for name in plan.schema.names if name not in plan.public], plan.aim.want)
        why = f"; no wanted table has {listed(left)}" if left else ""
        yield f"{100 * share:g} % of the people are asked for every pair of questions alike{why}."


def _points(half_width: float) -> str:
    """A half-width in percentage points, to two digits."""
    points = 100 * half_width
    if math.isinf(points):
        return "not asked"
    return "over 99 points" if points > 99 else f"+- {f'{points:#.2g}'.rstrip('.')} points"


# -- sentences ---------------------------------------------------------------------------------------------------------


def who_draws(plan: Plan) -> str:
    """One sentence on how a respondent comes to an arm."""
    if plan.assigned:
        return (
            f"Each person is asked one of these {len(plan.arms):,} arms. The device does not draw it: whoever invites "
            "people gives them an arm, and must do so at random, without regard to what they might answer. If an arm "
            "has few people, they may know whose report is whose."
        )
    return (
        f"Each person is asked one of these {len(plan.arms):,} arms. Their device draws it, publicly, before any "
        "answer is looked at, so the arm says nothing about them."
    )


def _promises(plan: Plan) -> list[str]:
    """The most that the whole report gives away, and the most that can be learned of one answer alone."""
    whole, one = of_report(plan), of_weakest_question(plan)
    assert one is not None  # some question is protected
    unequal = len({f"{arm.epsilon:.2f}" for arm in plan.arms}) > 1
    most = " in the least protected arm" if unequal else ""
    beyond = ", beyond what the columns tell that are not protected" if plan.public else ""
    said = _filled(
        f"Total epsilon {epsilon_in_words(plan.epsilon)}: whatever else is known, {_what_changes(plan)} the odds "
        f"that somebody gave certain answers by at most {odds_in_words(whole)} times{most}{beyond}; a belief of 1 in "
        f"10 becomes at most {whole.at_most(BELIEF)}."
    )
    said += _filled(_of_kept_answers(plan)) if plan.kept else []
    together = any(len(block.features) > 1 for block in plan.blocks)
    protected = [name for name, own in plan.schema.questions.items() if {f.name for f in own}.difference(plan.public)]
    if len(protected) > 1:
        said += _filled(_of_one_answer(one, whole, together=together))
    return said


def _what_changes(plan: Plan) -> str:
    return "all reports of one person together change" if plan.kept else "one whole report changes"


def _of_kept_answers(plan: Plan) -> str:
    """What a plan that keeps answers does when a person is asked again."""
    if plan.kept == SCALE:
        return (
            "Answers are KEPT: asked again, a device sends the same bytes, even if the true answers have changed. So "
            "waves of the same people tell nothing new, and nothing of change."
        )
    return (
        "Answers are KEPT: asked again, a device throws a fresh coin over what it kept, even if the true answers have "
        f"changed. One report alone has epsilon {epsilon_in_words(plan.epsilon_1)}: it changes odds by at most "
        f"{odds_in_words(of_one_report(plan))} times."
    )


def _warnings(plan: Plan) -> Iterator[str]:
    """What must not be overlooked: a large epsilon, one that is less than was asked for, and what is public."""
    if plan.epsilon > LARGE:
        seen = "all reports of one person together" if plan.kept else "one report"
        yield (
            f"PROTECTS LITTLE: epsilon {epsilon_in_words(plan.epsilon)} is above {LARGE}. Whoever suspects somebody's "
            f"answers with a chance of 1 in 10 can become {of_report(plan).sure(BELIEF)} by {seen}."
        )
    titles = distinct_titles(plan.schema)
    capped = [_titled(block.names, titles) for block in plan.blocks if SCALE - 1 in block.protocol.integers.values()]
    if capped and plan.asked is not None and plan.epsilon < plan.asked:
        yield (
            f"CAPPED: epsilon {float(plan.asked):g} was asked for. Probabilities are whole numbers over {SCALE:,}, and "
            f"these have the largest already: {listed(capped)}."
        )
    if plan.public:
        yield f"NOT PROTECTED, shown as they are{' in every arm' * plan.has_arms}: {', '.join(public_in_quotes(plan))}."


def _of_one_answer(one: Promise, whole: Promise, *, together: bool) -> str:
    """The promise about one answer alone, to somebody who knows all the others."""
    block = " Answers that are asked together each have all of their block's epsilon." if together else ""
    if one == whole:
        return f"The same holds for one answer alone, if all others are known.{block}"
    return (
        "One answer alone, if all others are known: the odds of the least protected one change by at most "
        f"{odds_in_words(one)} times, and a belief of 1 in 10 becomes at most {one.at_most(BELIEF)}.{block}"
    )


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, min(FILLED, _columns()), break_long_words=False, break_on_hyphens=False)


# -- words -------------------------------------------------------------------------------------------------------------


def short_name(feature: Feature) -> str:
    """What people read as a feature, without the question it belongs to: "tea" for "drinks: tea"."""
    question = feature.question if isinstance(feature, Flag) else None
    if question is None or feature.label is not None:
        return feature.title if question is None else str(feature.label)
    return feature.name[len(question) + len(SEPARATOR) :]


def question_title(features: Sequence[Feature]) -> str:
    """What people read as a question of one feature or of several flags."""
    first = features[0]
    return (isinstance(first, Flag) and (first.question_label or first.question)) or first.title


def distinct_titles(features: Iterable[Feature]) -> dict[str, str]:
    """What people read as each feature, by its name: its title, or its name if another one has that title too."""
    titles = {feature.name: feature.title for feature in features}
    times = Counter(titles.values()) + Counter({name for name, title in titles.items() if name != title})
    return {name: title if times[title] == 1 else name for name, title in titles.items()}


def answer_in_words(feature: Feature, answer: str | bool) -> str:
    """An answer as people say it: yes or no for a flag, a label for a value that has one."""
    if isinstance(feature, Flag):
        return {"True": "yes", "False": "no"}.get(str(answer), str(answer))
    return dict(feature.labels).get(str(answer), str(answer))


def epsilon_in_words(epsilon: float) -> str:
    """Epsilon with four digits, rounded up, so that no printed digit understates the loss of privacy."""
    return f"{math.ceil(Fraction(epsilon) * 10_000) / 10_000:.4f}"


def odds_in_words(promise: Promise) -> str:
    """How many times odds can change, rounded up."""
    if promise.ratio < 10**9:
        return f"{math.ceil(promise.ratio * 10) / 10:,.1f}"
    return f"e^{epsilon_in_words(log_up([promise.ratio]))}"
