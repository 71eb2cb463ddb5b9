"""Chosen results on the page: the tables and conditional shares that somebody asked for, whatever came out.

A choice is the name of a question, names of several with commas between them or as a tuple, or one question given
others: "had an affair | age". A name with a bar in it stands in double quotes, and so may one with a comma.
"""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from deniable.analyses.findings import chosen_table, lacking
from deniable.analyses.not_enough_reports import Unanswered
from deniable.analyses.share_findings import Share
from deniable.analyses.who_was_asked import Asked
from deniable.charts import interval_chart
from deniable.charts.interval_chart import Row
from deniable.counts.as_counts import as_counts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError, abbreviated
from deniable.page.blocks import SEE_TABLE, Chart, Table, asked_in_words, digits_for, numbers_of, percent, row_of
from deniable.survey.describe import answer_in_words
from deniable.survey.schema import Feature, Flag, Schema
from deniable.text.lists_of_names import listed_names, quotes_in_words
from deniable.text.progress import told
from deniable.text.width import isolated

Line = tuple[tuple[str, ...], Share]  # the answers of a row in words, and its share

# MOST_LINES is how many lines a chart of a chosen table has at most; its table has all of them.
MOST_LINES = 60
# ANSWERED is said of a chart that leaves missing answers out.
ANSWERED = " Of those who answered."


@dataclass(frozen=True)
class Choice:
    """A table that was asked for; with `given`, the answers to one question among those with each answer to others."""

    names: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """The names of all questions, those that are given first."""
        return (*self.given, *self.names)


@dataclass(frozen=True)
class Chosen:
    """A chosen result: its chart and table, and its rows by the names of questions and answers."""

    choice: Choice
    chart: Chart
    records: tuple[dict[str, Any], ...]
    unanswered: Unanswered | None  # what of it lacks reports
    among: str  # whom it is about, if not everybody


def choices(schema: Schema, show: Sequence[Any]) -> list[Choice]:
    """What was asked for, checked; of a multi-select question, each of its flags."""
    if isinstance(show, str) or not isinstance(show, Sequence):
        raise EstimateError(f'show is a list, [("smoker", "age"), "had an affair | age"]; found {abbreviated(show)}')
    return list(dict.fromkeys(choice for one in show for choice in _choices(schema, one)))


def _choices(schema: Schema, one: Any) -> Iterator[Choice]:
    """What one entry asks for."""
    names, given = _named(schema, one)
    if given and len(names) != 1:
        raise EstimateError(f"before the bar stands one question, as in 'had an affair | age'; found {one!r}")
    every = [_flags(schema, name) for name in (*names, *given)]
    for own in product(*every):
        if len(set(own)) < len(own):
            raise EstimateError(f"a chosen result has each question once; found {one!r}")
        yield Choice(own[: len(names)], own[len(names) :])


def _flags(schema: Schema, name: str) -> list[str]:
    """The features of a question: itself, or its flags."""
    return [feature.name for feature in schema.questions.get(name) or (schema[name],)]


def _named(schema: Schema, one: Any) -> tuple[list[str], list[str]]:
    """The names before and after the bar."""
    if isinstance(one, str):
        known = dict.fromkeys([*schema.names, *schema.questions])
        if one in known:
            return [one], []
        parts = [_names(part, known) for part in _split(one)]
        if quotes := quotes_in_words([name for part in parts for name in part], known):
            raise EstimateError(f"show {one!r}: no such names{quotes}")
        if len(parts) <= 2 and all(parts):
            return parts[0], parts[1] if len(parts) > 1 else []
    elif isinstance(one, list | tuple) and one and all(isinstance(name, str) for name in one):
        return list(one), []
    raise EstimateError(f'show takes "smoker", ("smoker", "age") or "smoker | age"; found {abbreviated(one)}')


def _split(text: str) -> list[str]:
    """The parts of a text around a bar that is not inside double quotes."""
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == '"'
        if letter == "|" and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _names(text: str, known: Collection[str]) -> list[str]:
    """Names with commas between them; none if that cannot be read."""
    try:
        return [name.strip() for name in listed_names(text.strip(), known) if name.strip()]
    except csv.Error:
        return []


def counted(source: Any, counts: Counts, wanted: Sequence[Choice]) -> Counts | None:
    """The counts of those chosen tables that the page's own counts do not hold, where reports can be counted again."""
    lacking = [choice.every for choice in wanted if not counts.holds(*choice.every)]
    return as_counts(source, lacking) if lacking else None


def chosen(
    counts: Sequence[Counts], wanted: Sequence[Choice], level: float, *, answered: bool = False
) -> tuple[Chosen, ...]:
    """The chosen results, each from the first counts that hold it; all, or only among those who answered."""
    each = enumerate(told(wanted, lambda one: f"estimating {' x '.join(one.every)}"), start=1)
    return tuple(_chosen(f"chosen-{k}", counts, one, level, answered=answered) for k, one in each)


def _chosen(name: str, counts: Sequence[Counts], choice: Choice, level: float, *, answered: bool) -> Chosen:
    holding = next((one for one in counts if one.holds(*choice.every)), counts[0])
    est = chosen_table(holding, choice.every, answered=answered)
    if choice.given:
        table = est.conditional(choice.names[0], given=list(choice.given), level=level)
    else:
        table = est.table(level=level)
    records = tuple(table.to_pylist())
    missing = answered and any(feature.missing is not None for feature in est.features)
    respondents = table.about.respondents or table.reports
    whom = (ANSWERED if missing else "") + asked_in_words([Asked(table.reports, respondents)])
    lines = _told(est, choice, records)
    short = lacking(holding, choice.names, choice.given, [share for _, share in lines], answered=answered)
    chart = _chart(name, est.features, choice, lines, level, whom=whom)
    return Chosen(choice, chart, records, short, table.about.among)


def _chart(
    name: str, features: Sequence[Feature], choice: Choice, lines: Sequence[Line], level: float, *, whom: str
) -> Chart:
    """The chart of a chosen table; `whom` says who answered, and was asked."""
    titles = [isolated(feature.title) for feature in features]
    heading = " × ".join(titles)
    caption = "Shares of the population."
    if choice.given:
        *given, what = titles
        heading = f"{what}, by {' × '.join(given)}"
        caption = f"Shares among those with each answer to {' and '.join(given)}."
    digits = digits_for([share for _, share in lines])
    rows = list(_rows(features, lines, digits))
    more = f" The first {MOST_LINES} lines are drawn." if len(rows) > MOST_LINES else ""
    caption += more + whom
    svg = interval_chart.draw(rows[:MOST_LINES], name=name, title=heading, about=f"{caption} {SEE_TABLE}")
    shares = "shares among those with each answer" if choice.given else "shares of the population"
    table = Table(
        f"{heading}: {shares}, with {percent(level)} intervals",
        (*(feature.title for feature in features), "share", "from", "to"),
        tuple((*answers, *numbers_of(share, digits)) for answers, share in lines),
        words=len(features),
    )
    return Chart(name, heading, caption, svg, table)


def _told(est: Any, choice: Choice, records: Sequence[dict[str, Any]]) -> list[Line]:
    """The answers in words and the share of each row; of the shares of a flag within groups, those of yes alone."""
    last = est.features[-1]
    found_answers = {record[last.name] for record in records}
    yes_alone = bool(choice.given) and isinstance(last, Flag) and len(found_answers) == 2
    found = []
    for record in records:
        if yes_alone and record[last.name] not in (True, "yes"):
            continue
        answers = tuple(answer_in_words(feature, record[feature.name]) for feature in est.features)
        found.append((answers, Share(answers[-1], record["proportion"], record["low"], record["high"])))
    return found


def _rows(features: Sequence[Feature], lines: Sequence[Line], digits: int) -> Iterator[Row]:
    """The lines of the chart, under a heading for each combination of all answers but the last that changes."""
    *others, last = features
    same = len({answers[-1] for answers, _ in lines}) == 1 and len(others) > 0
    if same:  # of a flag, those who say yes: the groups name the lines
        *others, last = others
        lines = [(answers[:-1], share) for answers, share in lines]
    before: tuple[str, ...] | None = None
    for answers, share in lines:
        if others and answers[:-1] != before:
            named = zip(others, answers[:-1], strict=True)
            yield Row(interval_chart.heading([(one.title, answer) for one, answer in named]), heading=True)
        before = answers[:-1]
        alone = isinstance(last, Flag) and not others
        yield row_of(share, _said(last, answers[-1]) if alone else answers[-1], digits)


def _said(feature: Feature, answer: str) -> str:
    """A question with an answer to it: "age: 18-29", "Do you smoke? yes"."""
    return f"{isolated(feature.title)}{'' if feature.title.endswith('?') else ':'} {isolated(answer)}"
