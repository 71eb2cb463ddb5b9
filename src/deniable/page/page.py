"""One self-contained page about a survey: what was asked, what is promised, what the reports tell and what not.

All numbers are the library's own answers about the population, with their intervals; the template `page.html` sets them
in words. The same counts give the same page.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import deniable
from deniable.analyses.associations import associations
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.files import check_target, replacing
from deniable.inference.intervals import checked_level
from deniable.page.blocks import Chart, Number, Table, Unanswered
from deniable.page.pairs import TRIED, Pair, conditionals, in_words, missing_pairs, narrow, ranked, square
from deniable.page.single_questions import short_name, singles
from deniable.survey.describe import rounded_up
from deniable.survey.plan import Plan
from deniable.survey.privacy import BELIEF, Promise, in_one_sentence, of_question, of_report
from deniable.survey.schema import Choice
from deniable.text.progress import told
from deniable.text.width import isolated, shortened

ASKED = 12  # questions before the rest of the list is folded
LISTED = 15  # lines about what could not be answered
BELIEFS = (Fraction(1, 100), BELIEF, Fraction(1, 2))


@dataclass(frozen=True)
class Content:
    """All that the template sets in words."""

    title: str
    n: int
    level: str
    besides: str  # the rest to 100
    plan: Plan
    epsilon: str
    asked: Table
    all_asked: Table | None
    promise: Table
    sentence: str
    one: Promise  # about the question that is protected least
    whole: Promise
    belief: Fraction
    public: tuple[str, ...]
    singles: tuple[Chart, ...]
    left_out: tuple[str, ...]
    ranked: Chart | None
    square: Chart | None
    conditionals: tuple[Chart, ...]
    sure: tuple[str, ...]
    pairs: int
    surely: int
    unanswered: Table | None
    more_unanswered: str
    missing: int
    protocols: Table
    versions: str
    notes: tuple[str, ...]


def write_page(counts: Counts, path: str | Path, *, title: str | None = None, level: float = 0.95) -> None:
    """Write the page about counts of every pair of features to an HTML file, whole or not at all."""
    check_target(path)
    text = page(counts, title=title, level=level)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(counts: Counts, *, title: str | None = None, level: float = 0.95) -> str:
    """The page about counts of every pair of features, as HTML."""
    check_extra()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["isolated"] = isolated
    environment.tests["exact"] = lambda cell: isinstance(cell, Number)
    template = environment.from_string(files("deniable.page").joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(c=content(counts, title=title, level=level)) + "\n"


def check_extra() -> None:
    """Say at once if what draws and sets the page is not installed."""
    for name in ("matplotlib", "jinja2"):
        try:
            __import__(name)
        except ImportError:
            raise EstimateError(f"a report needs {name}; install it with: pip install 'deniable[report]'") from None


def content(counts: Counts, *, title: str | None = None, level: float = 0.95) -> Content:
    """What there is to say of these counts."""
    level = checked_level(level)
    _check_pairs(counts)
    plan = counts.plan
    single = list(told(singles(counts, level), lambda one: f"drawing {shortened(one[0].heading, 60)}"))
    shown = {name for _, names, _ in single for name in names}
    paired, wide = narrow(counts)
    pairs = [Pair(**row) for row in associations(paired, level=level).to_pylist()] if paired else []
    within = conditionals(counts, pairs, level)
    missing = [one for _, _, some in single for one in some]
    missing += missing_pairs(paired, pairs) if paired else []
    missing += [one for _, some in within for one in some]
    missing.sort(key=lambda one: one.needed)
    untried = max(0, sum(not pair.enough for pair in pairs) - TRIED)
    whole = of_report(plan)
    strongest = max((p.ratio for name in plan.schema.questions if (p := of_question(plan, name))), default=Fraction(1))
    sure = [pair for pair in pairs if pair.sure]
    asked = _asked(plan)
    return Content(
        title=(title or "Survey report").encode("utf-8", "replace").decode(),  # a shell may hand over broken letters
        n=counts.n,
        level=f"{100 * level:.10g} %",
        besides=f"{100 * (1 - level):.3g}",
        plan=plan,
        epsilon=f"{rounded_up(plan.epsilon):.4f}"
        if len(plan.public) < len(plan.schema)
        else "none: nothing is protected",
        asked=replace(asked, rows=asked.rows[:ASKED]),
        all_asked=asked if len(asked.rows) > ASKED else None,
        promise=_promise(plan),
        sentence=in_one_sentence(plan),
        one=Promise(strongest),
        whole=whole,
        belief=BELIEF,
        public=plan.public,
        singles=tuple(chart for chart, _, _ in single),
        left_out=tuple(name for name in plan.schema.names if name not in shown),
        ranked=ranked(pairs),
        square=square(plan, pairs) if len(pairs) > 1 else None,
        conditionals=tuple(chart for chart, _ in within),
        sure=tuple(in_words(pair) for pair in sure[:3]),
        pairs=len(pairs),
        surely=len(sure),
        unanswered=_unanswered(missing[:LISTED]) if missing else None,
        more_unanswered=_more(missing[LISTED:], untried),
        missing=len(missing) + untried,
        protocols=_protocols(plan),
        versions=_versions(),
        notes=tuple(f"{name} has so many answers that it is not paired with other questions here." for name in wide),
    )


def _check_pairs(counts: Counts) -> None:
    if not isinstance(counts, Counts):
        raise EstimateError(f"a report is made of counts, as dn.count or Counts.load give them; found {counts!r}")
    if not counts.n:
        raise EstimateError("there are no reports to make a page of")
    names = counts.plan.schema.names
    for pair in combinations(names, 2) if len(names) > 1 else [names]:
        if counts.moments is not None:
            return
        try:
            counts.array(*pair)
        except CountError as error:
            raise CountError(
                f"a report needs every pair of features, as `deniable count --order 2` gives: {error}"
            ) from None


def _asked(plan: Plan) -> Table:
    rows = []
    for question, features in plan.schema.questions.items():
        first = features[0]
        public = any(feature.name in plan.public for feature in features)
        if isinstance(first, Choice):
            answers = ", ".join(map(isolated, first.values[:12])) + (
                f", … ({first.levels:,} in all)" if first.levels > 12 else ""
            )
        elif first.question:
            answers = (
                "any of: "
                + ", ".join(isolated(short_name(one)) for one in features[:12])
                + (f", … ({len(features)} in all)" if len(features) > 12 else "")
            )
        else:
            answers = "yes or no"
        rows.append((question, answers, "NOT PROTECTED" if public else "yes"))
    return Table(
        "The questions, their possible answers, and whether answers are protected",
        ("question", "answers", "protected"),
        tuple(rows),
        words=3,
    )


def _promise(plan: Plan) -> Table:
    """What beliefs can become: who sees one answer, those questions together of which the same is said, or all."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for question in plan.schema.questions:
        if promise := of_question(plan, question):
            kinds.setdefault(_beliefs(promise), []).append(question)
    rows = [(f"the answer to {_which(names, len(kinds))}", *said) for said, names in kinds.items()]
    rows.append(("the whole report", *_beliefs(of_report(plan))))
    head = ("who sees", *(f"{belief.numerator} in {belief.denominator}" for belief in BELIEFS))
    caption = "Somebody who beforehand believed in an answer this much can afterwards believe in it at most"
    return Table(caption, head, tuple(rows))


def _beliefs(promise: Promise) -> tuple[str, ...]:
    return tuple(promise.at_most(belief) for belief in BELIEFS)


def _which(names: Sequence[str], kinds: int) -> str:
    if kinds == 1 and len(names) > 1:
        return "any one question"
    named = ", ".join(isolated(shortened(name, 40)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{named}{more}{', each' if len(names) > 1 else ''}"


def _protocols(plan: Plan) -> Table:
    rows = []
    for feature, protocol in plan:
        if not protocol.protects:
            rows.append((feature.name, "PUBLIC, not protected", "none", "", ""))
        else:
            rows.append(
                (
                    feature.name,
                    protocol.name,
                    f"{rounded_up(protocol.epsilon):.4f}",
                    f"{protocol.q:.2%}",
                    f"{protocol.p:.2%}",
                )
            )
    head = ("question", "protocol", "epsilon", "true one marked", "any other marked")
    return Table("How each answer was randomized", head, tuple(rows), words=2)


def _unanswered(some: Sequence[Unanswered]) -> Table:
    rows = tuple((one.what, one.missing, str(one.needed)) for one in some)
    return Table(
        "What could not be answered, and how many reports in all it would take",
        ("question", "missing", "reports"),
        rows,
        words=2,
    )


def _more(others: Sequence[Unanswered], untried: int) -> str:
    """How many more there are, and from how many to how many reports they would take."""
    if not others:
        return ""
    low, high = str(others[0].needed), str(others[-1].needed)
    told = low if low == high else f"from {low} to {high}"
    tried = f", of which {len(others):,} were tried" if untried else ""
    return f"And {len(others) + untried:,} more{tried}. Reports they would take: {told}."


def _versions() -> str:
    names = ("numpy", "scipy", "pyarrow", "matplotlib", "jinja2")
    python = ".".join(map(str, sys.version_info[:3]))
    return ", ".join(
        [f"deniable {deniable.__version__}", f"Python {python}", *(f"{name} {version(name)}" for name in names)]
    )
