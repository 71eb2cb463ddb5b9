"""What the page says of a survey: its questions, the privacy promise, and what the reports tell and do not tell."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import combinations
from typing import Any

import deniable
from deniable.analyses.findings import Findings, survey_findings
from deniable.analyses.not_enough_reports import Kind, Unanswered
from deniable.analyses.pair_findings import SURE, RankedPair
from deniable.counts.as_counts import no_counts
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.page.blocks import Chart, Table, percent
from deniable.page.chosen import Chosen, choices, chosen
from deniable.page.design import Design, design, protocol_table
from deniable.page.expected import Expected, expected
from deniable.page.fit import Checked, checked
from deniable.page.numbers import document, named
from deniable.page.pairs import conditional_chart, conditional_heading, in_words, pair_label, ranked_chart, square_chart
from deniable.page.promise import Privacy, privacy
from deniable.page.single_questions import shares_chart
from deniable.survey.describe import distinct_titles, question_title, short_name
from deniable.survey.plan import Plan
from deniable.survey.privacy import of_question
from deniable.survey.schema import Choice, Feature
from deniable.text.fixed_phrases import NOT_ENOUGH
from deniable.text.progress import told
from deniable.text.width import isolated

# TITLE is the title of a page that was given none.
TITLE = "Survey results"
# ASKED is how many questions are listed before the rest of the list is folded.
ASKED = 12
# ANSWERS is how many possible answers to a question are listed.
ANSWERS = 12
# LISTED is how many results without enough reports are listed.
LISTED = 15
# NAMED is how many of the surest pairs stand at the top of the page.
NAMED = 3
# MAIL is what an address of mail looks like.
MAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
# MADE_WITH are the packages whose versions the page names.
MADE_WITH = ("numpy", "scipy", "pyarrow", "matplotlib", "jinja2")


@dataclass(frozen=True)
class Together:
    """What the page says of pairs of questions."""

    pairs: int
    sure: int
    rate: str  # the false discovery rate of those that are sure
    surest: tuple[str, ...]
    answered: bool  # whether some may be skipped, so that they are among those who answered both
    ranked: Chart | None
    square: Chart | None
    conditionals: tuple[Chart, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """What the page says of results without enough reports."""

    things: int
    words: str  # that stand in place of a number
    table: Table | None
    more: str


@dataclass(frozen=True)
class Content:
    """All that the template sets in words."""

    title: str
    facts: dict[str, str]  # who made the survey, when, and whom to ask, where that is said
    link: str  # to whom to ask, if that is an address
    n: int
    level: str
    besides: str  # what the confidence level leaves to 100
    plan: Plan
    chosen: tuple[Chosen, ...]
    asked: Table
    all_asked: Table | None
    design: Design | None
    privacy: Privacy
    singles: tuple[Chart, ...]
    left_out: tuple[str, ...]
    together: Together
    expected: Expected | None
    checked: Checked
    missing: Missing
    protocols: Table
    versions: str
    numbers: str  # all numbers as JSON, for programs


def content(
    counts: Counts,
    *,
    level: float = 0.95,
    show: Sequence[Any] = (),
    answered: bool = False,
    more: Counts | None = None,
    facts: Mapping[str, str | None] | None = None,
) -> Content:
    """The content of the page about counts of every pair of features that some arm asks.

    `show` is what was chosen to come first, without missing answers if `answered`; `more` are counts of chosen tables
    that the first ones do not hold, and `facts` are words about the survey: title, organisation, dates and contact.
    """
    _check_pairs(counts)
    plan = counts.plan
    said = {name: fact.encode("utf-8", "replace").decode() for name, fact in (facts or {}).items() if fact}
    # a shell may hand over broken letters
    first = chosen([counts, *([] if more is None else [more])], choices(plan.schema, show), level, answered=answered)
    found = survey_findings(counts, level=level)
    asked = _asked(plan)
    promised = privacy(plan)
    singles, together = _singles(found), _together(plan, found)
    tables = dict(named([*singles, together.ranked, together.square, *together.conditionals]))
    fit = checked(counts)
    came, missing = expected(counts, level=level), _missing(found, first, distinct_titles(plan.schema))
    whole = {
        "questions": asked,
        "promise": promised.table,
        "fit": fit.tests,
        "influence": fit.influence,
        **({"expected": came.whole or came.table} if came else {}),
        **({"unanswered": missing.table} if missing.table else {}),
    }
    return Content(
        title=said.get("title", TITLE),
        facts={name: fact for name, fact in said.items() if name != "title"},
        link=_link(said.get("contact", "")),
        n=counts.n,
        level=percent(found.level),
        besides=f"{100 * (1 - found.level):.3g}",
        plan=plan,
        chosen=first,
        asked=replace(asked, rows=asked.rows[:ASKED]),
        all_asked=asked if len(asked.rows) > ASKED else None,
        design=design(plan, found.arms),
        privacy=promised,
        singles=singles,
        left_out=found.left_out,
        together=together,
        expected=came,
        checked=fit,
        missing=missing,
        protocols=protocol_table(plan),
        versions=_versions(),
        numbers=document({"title": TITLE} | said, plan, counts.n, found.level, first, tables | whole),
    )


def _link(contact: str) -> str:
    """The address behind a contact, if it is one of mail or of the web; else nothing."""
    if contact.startswith(("https://", "http://")):
        return contact
    return f"mailto:{contact}" if MAIL.fullmatch(contact) else ""


def _check_pairs(counts: Counts) -> None:
    """Refuse what is not counts of every pair of features that some arm asks, and of at least one report."""
    if not isinstance(counts, Counts):
        raise EstimateError(no_counts("the page needs", counts))
    if not counts.n:
        raise EstimateError("there are no reports to make a page of")
    for names in dict.fromkeys(names for arm in counts.plan.arms for names in _counted(arm)):
        if not counts.holds(*names):
            told = "the page needs every pair of features, as `deniable count --order 2` gives"
            raise CountError(f"{told}: {' x '.join(names)} was not counted")


def _counted(arm: Plan) -> Iterable[tuple[str, ...]]:
    """What the page needs of one arm: its pairs of features, or its only one."""
    names = arm.schema.names
    return combinations(names, 2) if len(names) > 1 else [tuple(names)]


# -- questions and privacy ---------------------------------------------------------------------------------------------


def _asked(plan: Plan) -> Table:
    """The questions with their possible answers, and whether they are protected."""
    rows = tuple(
        (
            question_title(features),
            _possible_answers(features),
            "yes" if of_question(plan, question) else "NOT PROTECTED",
        )
        for question, features in plan.schema.questions.items()
    )
    caption = "The questions, their possible answers, and whether answers are protected"
    return Table(caption, ("question", "answers", "protected"), rows, words=3)


def _possible_answers(features: Sequence[Feature]) -> str:
    """The possible answers to a question; of many, the first."""
    first = features[0]
    if isinstance(first, Choice):
        return _some(first.titles)
    skipped = "" if first.missing is None else f", or {isolated(first.missing)}"
    named = f"any of: {_some([short_name(feature) for feature in features])}" if first.question else "yes or no"
    return named + skipped


def _some(answers: Sequence[str]) -> str:
    more = f", … ({len(answers):,} in all)" if len(answers) > ANSWERS else ""
    return ", ".join(map(isolated, answers[:ANSWERS])) + more


# -- findings ----------------------------------------------------------------------------------------------------------


def _singles(found: Findings) -> tuple[Chart, ...]:
    """A chart for each group of shares."""
    numbered = told(enumerate(found.shares, start=1), lambda one: f"drawing {one[0]} of {len(found.shares)} charts")
    return tuple(shares_chart(f"single-{k}", shares, found.level) for k, shares in numbered)


def _titled(pair: RankedPair, titles: Mapping[str, str]) -> RankedPair:
    """A pair by what people read as its questions."""
    return replace(pair, first=titles[pair.first], second=titles[pair.second])


def _together(plan: Plan, found: Findings) -> Together:
    """Charts of the pairs, and the surest of them in words."""
    titles = distinct_titles(plan.schema)
    tested, sure = ([_titled(pair, titles) for pair in pairs] for pairs in (found.pairs.tested, found.pairs.sure))
    return Together(
        pairs=len(tested),
        sure=len(sure),
        rate=percent(SURE),
        surest=tuple(map(in_words, sure[:NAMED])),
        answered=any(pair.answered for pair in tested),
        ranked=ranked_chart(tested),
        square=square_chart(list(titles.values()), tested, every=not (found.pairs.apart or found.pairs.nobody)),
        conditionals=tuple(
            conditional_chart(f"given-{k}", one, found.level) for k, one in enumerate(found.conditionals, start=1)
        ),
        notes=tuple(_pair_notes(found)),
    )


def _pair_notes(found: Findings) -> Iterator[str]:
    """Which pairs are not told of, and why."""
    pairs = found.pairs
    every = len(pairs.tested) + pairs.apart + pairs.nobody
    if pairs.apart == every > 0:
        yield "No arm asks two questions together, so that nothing can be said about which go together."
    elif pairs.apart:
        asked = f"No arm asks {pairs.apart:,} of the {every:,} pairs of questions"
        yield f"{asked} together, so that nothing can be said about whether these go together."
    if pairs.nobody:
        told = "is asked together by an arm" if pairs.nobody == 1 else "are asked together by arms"
        yield f"{pairs.nobody:,} of the {every:,} pairs of questions {told} that nobody fell into."
    for name in pairs.wide:
        yield f"{isolated(name)} has so many answers that it is not paired with other questions here."


def _missing(found: Findings, first: Sequence[Chosen], titles: Mapping[str, str]) -> Missing:
    """The results without enough reports: those that would take the fewest in a table, and how many more there are.

    What was chosen is among them; of a result that also stands further down, the one that takes more reports counts.
    """
    shown = [*(one.unanswered for one in first if one.unanswered), *found.unanswered]
    each = {(one.kind, one.names): one for one in sorted(shown, key=lambda one: one.needed)}
    every = sorted(each.values(), key=lambda one: one.needed)
    listed, others = every[:LISTED], every[LISTED:]
    table = Table(
        "What could not be answered, and how many reports in all it would take",
        ("question", "missing", "reports"),
        tuple((_thing(one, titles), _lacking(one), _reports(one)) for one in listed),
        words=2,
    )
    things = len(every) + found.untried
    return Missing(things, NOT_ENOUGH, table if listed else None, _more(others, found.untried))


def _reports(one: Unanswered) -> str:
    """How many reports a result would take."""
    return "unknown" if one.kind is Kind.NOBODY else str(one.needed)


def _thing(one: Unanswered, titles: Mapping[str, str]) -> str:
    """What a result without enough reports is about."""
    match one.kind:
        case Kind.PAIR:
            return pair_label(*(titles[name] for name in one.names))
        case Kind.CONDITIONAL:
            what, *given = (titles[name] for name in one.names)
            return conditional_heading(what, " × ".join(given))
        case Kind.TABLE:
            return " × ".join(isolated(titles[name]) for name in one.names)
    return titles[one.names[0]]


def _lacking(one: Unanswered) -> str:
    """What of a result lacks reports."""
    match one.kind:
        case Kind.ANSWERS:
            return f"{one.missing} of {one.asked} answers" if one.missing < one.asked else "all answers"
        case Kind.YES:
            return "share of yes"
        case Kind.PAIR:
            return "whether and how they go together"
        case Kind.CONDITIONAL | Kind.TABLE:
            return f"{one.missing} of {one.asked} shares"
        case Kind.NOBODY:
            return "nobody was asked"


def _more(others: Sequence[Unanswered], untried: int) -> str:
    """How many more results lack reports, and from how many to how many reports those would take that were tried."""
    if not others and not untried:
        return ""
    if not others:
        return f"And {untried:,} more, which were not tried."
    low, high = _reports(others[0]), _reports(others[-1])
    needed = low if low == high else f"from {low} to {high}"
    tried = f", of which {len(others):,} were tried" if untried else ""
    return f"And {len(others) + untried:,} more{tried}. Reports they would take: {needed}."


def _versions() -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    named = (f"{name} {version(name)}" for name in MADE_WITH)
    return ", ".join([f"deniable {deniable.__version__}", f"Python {python}", *named])
