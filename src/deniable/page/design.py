"""Who was asked what, on the page: the arms with their questions, shares and sizes, and questions asked together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deniable.analyses.who_was_asked import Arms, ArmSize
from deniable.page.blocks import Cell, Number, Table
from deniable.survey.arms import arm_name
from deniable.survey.blocks import Block
from deniable.survey.describe import distinct_titles, protocol_head, protocol_rows, who_draws
from deniable.survey.plan import Plan
from deniable.survey.privacy import in_two_rounds
from deniable.text.width import isolated

# ARMS is how many arms are listed before the rest of the list is folded.
ARMS = 10
# MOST_ARMS is how many arms are listed at all.
MOST_ARMS = 1_000
# NAMED is how many questions of one block, or blocks of one kind, are named.
NAMED = 12
# TOGETHER is what is said of questions that are asked together.
TOGETHER = (
    "Questions that stand together, with × between them, are randomized together, as one answer over all combinations "
    "of their answers."
)

# IN_TWO_ROUNDS is what the numbers are of where a fresh coin is thrown over kept answers.
IN_TWO_ROUNDS = ": epsilon is of all reports of a person together; epsilon_1 and what is sent are of one report"


@dataclass(frozen=True)
class Design:
    """What the page says of who was asked what: of arms, or of blocks of several questions that everybody is asked."""

    arms: int  # none if everybody was asked everything
    sentences: tuple[str, ...]
    sizes: str  # of the arms, against their shares
    alarm: bool  # whether these sizes are no chance
    table: Table
    whole: Table | None  # where the table shows the first arms alone
    more: str


def design(plan: Plan, arms: Arms | None) -> Design | None:
    """What is said of a plan with arms or blocks of several questions; None of one that asks everything alone."""
    if arms is not None:
        return _of_arms(plan, arms)
    if not asks_together(plan):
        return None
    titles = distinct_titles(plan.schema)
    rows = tuple((_questions([block], titles),) for block in plan.blocks if len(block.features) > 1)
    table = Table("The questions that are asked together", ("asked together",), rows)
    return Design(0, (TOGETHER,), sizes="", alarm=False, table=table, whole=None, more="")


def asks_together(plan: Plan) -> bool:
    """Whether some questions are randomized together."""
    return any(len(block.features) > 1 for block in plan.blocks)


def _of_arms(plan: Plan, arms: Arms) -> Design:
    titles = distinct_titles(plan.schema)
    public = ", ".join(isolated(titles[name]) for name in plan.public)
    shown = f"Everybody is asked {public} too, which is not protected." if public else ""
    sentences = (who_draws(plan), TOGETHER if asks_together(plan) else "", shown)
    table = _arm_table(arms.each[:MOST_ARMS], titles)
    left = len(arms.each) - MOST_ARMS
    return Design(
        arms=len(arms.each),
        sentences=tuple(filter(None, sentences)),
        sizes=sizes_in_words(plan, arms),
        alarm=arms.unlikely or bool(arms.apart),
        table=replace(table, rows=table.rows[:ARMS]),
        whole=table if len(arms.each) > ARMS else None,
        more=f"And {left:,} more arms, which are in the plan." if left > 0 else "",
    )


def _arm_table(arms: Sequence[ArmSize], titles: Mapping[str, str]) -> Table:
    """The arms with their sizes; their names only where these do not just say what is asked."""
    named = any(not arm.name.startswith(arm_name(arm.plan.blocks)) for arm in arms)
    rows = tuple((*([isolated(arm.name)] if named else []), *_arm_cells(arm, titles)) for arm in arms)
    head = (*(["arm", "questions"] if named else ["questions of the arm"]), "share", "expected", "respondents")
    caption = "What each arm asks, its share, how many respondents that share would be, and how many the arm has"
    return Table(caption, head, rows, words=2 if named else 1)


def _arm_cells(arm: ArmSize, titles: Mapping[str, str]) -> tuple[Cell, ...]:
    """What an arm asks, its share, and its size."""
    share = Number(f"{100 * arm.share:.{2 if arm.share >= 0.001 else 4}f}\u00a0%", arm.share)
    expected = Number(f"{arm.expected:,.{0 if arm.expected >= 100 else 1}f}", arm.expected)
    return _questions(_own(arm.plan), titles), share, expected, Number(f"{arm.n:,}", arm.n)


def _own(arm: Plan) -> Sequence[Block]:
    """The blocks of an arm that are not public, which all arms have; those that are, if there are no others."""
    return [block for block in arm.blocks if block.protocol.protects] or arm.blocks


def _questions(blocks: Sequence[Block], titles: Mapping[str, str]) -> str:
    """The questions of some blocks, those asked together joined."""
    return _some([" × ".join(isolated(titles[name]) for name in block.names) for block in blocks])


def _some(words: Sequence[str]) -> str:
    more = f", … ({len(words):,} in all)" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def sizes_in_words(plan: Plan, arms: Arms) -> str:
    """Whether the arms have the sizes that their shares say, and agree with each other, by chi-square tests."""
    return " ".join(filter(None, [_sizes(plan, arms), _agreement(arms)]))


def _agreement(arms: Arms) -> str:
    """What is said where arms contradict each other."""
    if not arms.apart:
        return ""
    named = ", ".join(map(isolated, arms.apart[:3])) + (f" and {len(arms.apart) - 3} more" if arms.apart[3:] else "")
    return (
        f"The arms do not say the same of {named} (p < 0.001, chi-square test of homogeneity): people may not have "
        "come to their arms at random. Then no result here that combines arms can be trusted."
    )


def _sizes(plan: Plan, arms: Arms) -> str:
    drawn = "assigned" if plan.assigned else "drawn"
    if not arms.test.enough:
        return (
            f"There are too few reports to say whether the arms are as large as they were {drawn}: a test takes "
            f"{arms.fewest} for each arm, on average."
        )
    if not arms.unlikely:
        return f"The sizes of the arms are as {drawn}, within chance (p = {arms.test.p_value:.2g}, chi-square test)."
    return (
        f"The arms do not have the sizes that they were {drawn} with (p < 0.001, chi-square test): being asked an arm "
        "may have changed who answered, or the arms were not given out as planned. Then those who were asked a "
        "question are no random part of the respondents, and no interval here allows for that."
    )


def protocol_table(plan: Plan) -> Table:
    """How each block is randomized; with arms, blocks that are randomized alike share a row."""
    table_head, rows = protocol_head(plan), protocol_rows(plan)
    rounds = IN_TWO_ROUNDS if in_two_rounds(plan) else ""
    if plan.has_arms:
        titles = distinct_titles(plan.schema)
        kinds: dict[tuple[str, ...], list[str]] = {}
        for block, (_, *how) in zip(plan.blocks, rows, strict=True):
            kinds.setdefault(tuple(how), []).append(_questions([block], titles))
        rows = [(_some(blocks), *how) for how, blocks in kinds.items()]
        return Table(f"How answers were randomized{rounds}", ("questions", *table_head[1:]), tuple(rows), words=3)
    head, *cells = (line[:1] + line[2:] for line in (table_head, *rows))  # answers stand among the questions
    return Table(f"How each answer was randomized{rounds}", head, tuple(cells), words=2)
