"""Single questions: a chart of each choice, and of yes/no questions together."""

from collections.abc import Iterator, Sequence
from math import ceil, isnan
from typing import Any

import numpy as np

from deniable.analyses.sample_size import for_cells
from deniable.counts.counts import Counts
from deniable.estimates.estimate import Estimate, estimate
from deniable.page.blocks import Chart, Unanswered, highest_and_lowest, most_common, shares_chart
from deniable.survey.plan import Plan
from deniable.survey.schema import Choice, Feature, Flag

CHARTS = 24
ANSWERS = 30  # rows of one chart, the most common answers first if there are more
FLAGS = 40  # rows of one chart of yes/no questions

Single = tuple[Chart, list[str], list[Unanswered]]  # with the features it shows


def singles(counts: Counts, level: float) -> Iterator[Single]:
    """A chart of each choice, and of the flags of each question or those that are questions by themselves."""
    parts = list(_parts(counts.plan))
    for k, (heading, features) in enumerate(parts[:CHARTS]):
        draw = _of_flags if isinstance(features[0], Flag) else _of_choice
        yield draw(counts, f"single-{k + 1}", heading, features, level)


def _parts(plan: Plan) -> Iterator[tuple[str, tuple[Feature, ...]]]:
    """The features of each chart, in order, with its heading."""
    alone = [
        features[0]
        for features in plan.schema.questions.values()
        if isinstance(features[0], Flag) and not features[0].question
    ]
    for question, features in plan.schema.questions.items():
        if isinstance(features[0], Choice):
            yield question, features
        elif features[0] is alone[0] if alone else False:
            yield from _blocks("Yes or no" if len(alone) > 1 else question, alone)
        elif features[0] not in alone:
            yield from _blocks(f"{question} (any number of answers)", features)


def _blocks(heading: str, flags: Sequence[Feature]) -> Iterator[tuple[str, tuple[Feature, ...]]]:
    """Flags in charts that are not too long, of about one length."""
    charts_needed = ceil(len(flags) / FLAGS)
    size = ceil(len(flags) / charts_needed)
    for k in range(charts_needed):
        part = f", part {k + 1} of {charts_needed}" if charts_needed > 1 else ""
        yield heading + part, tuple(flags[k * size : (k + 1) * size])


def _of_choice(counts: Counts, name: str, heading: str, features: Sequence[Feature], level: float) -> Single:
    feature = features[0]
    est = estimate(counts, [feature.name]).about("population")
    answers, note = list(feature.answers), ""
    if len(answers) > ANSWERS:
        order = np.argsort(-est.mean[1:], kind="stable")[:ANSWERS]
        answers, note = [answers[k] for k in order], f"The {ANSWERS} most common of {feature.levels:,} answers. "
    cells = [{feature.name: answer} for answer in answers]
    shares = [(str(answer), _row(est, cell, level)) for answer, cell in zip(answers, cells, strict=True)]
    missing = sum(isnan(row["low"]) for _, row in shares)
    unanswered = []
    if missing:
        what = f"{missing} of {len(shares)} answers" if missing < len(shares) else "all answers"
        unanswered.append(
            Unanswered(feature.name, what, for_cells(est, cells if not note else cells[-1:]))
        )  # the rarest shown takes most
    chart = shares_chart(name, heading, shares, note + most_common(shares), "answer", level)
    return chart, [feature.name], unanswered


def _row(est: Estimate, cell: dict[str, Any], level: float) -> dict[str, Any]:
    """The row of `table()` of one cell, which need not wait for the others."""
    answer = est.cell(cell)
    low, high = answer.confidence_interval(level)
    return {"proportion": answer.value, "low": low, "high": high}


def _of_flags(counts: Counts, name: str, heading: str, features: Sequence[Feature], level: float) -> Single:
    shares, unanswered = [], []
    for feature in features:
        est = estimate(counts, [feature.name]).about("population")
        row = _row(est, {feature.name: True}, level)
        shares.append((short_name(feature), row))
        if isnan(row["low"]):
            unanswered.append(Unanswered(feature.name, "share of yes", for_cells(est, [{feature.name: True}])))
    shares.sort(key=lambda share: (isnan(share[1]["low"]), -share[1]["proportion"]))
    what = "Shares that say yes" if len(features) > 1 else "The share that says yes"
    chart = shares_chart(name, heading, shares, f"{what}. {highest_and_lowest(shares)}", "yes to", level)
    return chart, [feature.name for feature in features], unanswered


def short_name(feature: Feature) -> str:
    """Without its question's name, which stands in the heading."""
    question = feature.question if isinstance(feature, Flag) else None
    return feature.name if question is None else feature.name[len(question) + 2 :]
