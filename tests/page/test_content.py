"""What the page shows is what the library says: single questions, pairs, and what needs more reports."""

import re
from dataclasses import replace
from math import log, nan
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.pair_findings import RankedPair
from deniable.page import page
from deniable.page.pairs import ranked_chart
from deniable.simulate import counts as simulated
from deniable.simulate import truth
from deniable.survey.privacy import BELIEF, of_one_report, of_report
from tests.support.kept_plans import KEPT
from tests.support.pages import Element, figure_of, read, rows_of, survey
from tests.support.situations import PLANS


def test_single_questions_are_what_the_library_says(root: Element, counts: dn.Counts) -> None:
    for name in ("age", "arm"):
        rows = rows_of(figure_of(root, name))
        told = dn.estimate(counts, [name]).about("population").table().to_pylist()
        assert rows == {(row[name],): pytest.approx([row["proportion"], row["low"], row["high"]]) for row in told}
    flags = rows_of(figure_of(root, "Yes or no")) | rows_of(figure_of(root, "sports (any number of answers)"))
    for label, name in (
        ("smoker", "smoker"),
        ("drinker", "drinker"),
        ("chess", "sports: chess"),
        ("judo", "sports: judo"),
    ):
        _, row = dn.estimate(counts, [name]).about("population").table().to_pylist()
        assert flags.pop((label,)) == pytest.approx([row["proportion"], row["low"], row["high"]])
    assert not flags


def test_what_is_shown_is_the_number_rounded(root: Element) -> None:
    shown = [(data.text, float(data.attributes["value"])) for data in root.all("data")]
    assert len(shown) > 50
    for text, value in shown:
        if text.startswith("<"):
            assert value < 0.001
            continue
        plain = text.replace("−", "-")
        scale = 100 if plain.endswith("%") else 1
        digits = len(plain.removesuffix(" %").partition(".")[2])
        assert abs(float(plain.removesuffix(" %")) - scale * value) <= 0.5 * 10**-digits * (1 + 1e-9)


def test_the_numbers_beside_a_chart_are_those_of_its_table(root: Element) -> None:
    for figure in root.all("figure"):
        if figure.attributes["id"] == "square":
            continue
        words = [text.text for text in figure.all("svg")[0].all("text")]
        for row in figure.all("tbody")[0].all("tr"):
            value, low, high = (data.text.removesuffix(" %") for data in row.all("data")[:3])
            percent = " %" if row.all("data")[0].text.endswith("%") else ""
            assert f"{value}{percent} ({low} to {high})" in words


def test_pairs_and_shares_within_groups_are_what_the_library_says(root: Element, counts: dn.Counts) -> None:
    told = dn.associations(counts).to_pylist()
    expected = {
        (f"{row['first']} × {row['second']}", row["measure"]): pytest.approx(
            [row[k] for k in ("shrunken", "listed_low", "listed_high", "effect", "fdr")]
        )
        for row in told
    }
    assert len(expected) == 15
    assert rows_of(figure_of(root, "Every pair of questions")) == expected
    ranked = rows_of(figure_of(root, "The surest associations"))
    assert list(ranked.items()) == list(expected.items())
    est = dn.estimate(counts, ["age", "smoker"]).about("population")
    shares = [row for row in est.conditional("smoker", given="age").to_pylist() if row["smoker"]]
    assert rows_of(figure_of(root, "smoker, by age")) == {
        (row["age"], "yes"): pytest.approx([row["proportion"], row["low"], row["high"]]) for row in shares
    }
    sure = [row for row in told if row["fdr"] <= 0.05]
    assert len(root.all("figure")) == 4 + 2 + len(sure)
    stats = {div.all("dt")[0].text: div.all("dd")[0].text for div in root.all("dl")[0].all("div")}
    assert stats["of 15 pairs go together (false discovery rate 5 %)"] == str(len(sure))
    assert stats["reports"] == "20,000"
    assert stats["results need more reports"] == "0"
    assert "Nothing: there were enough reports" in root.text


def test_a_heat_map_is_as_deep_as_the_pair_is_strong(root: Element, counts: dn.Counts) -> None:
    svg = figure_of(root, "Every pair of questions").all("svg")[0]
    names = counts.plan.schema.names
    told = {(row["first"], row["second"]): row for row in dn.associations(counts).to_pylist()}
    most = max(abs(row["effect"]) for row in told.values() if row["fdr"] <= 0.05)
    pairs = [told[left, right] for i, right in enumerate(names) for left in names[:i]]
    drawn = [(element.attributes["d"], element.attributes["style"]) for element in svg.all("path")]
    places = [where for where, style in drawn if "--cell" in style][: len(pairs)]
    found = dict.fromkeys(places, 0.0)
    for where, style in drawn:
        if where in found and (hue := re.search(r"--mark|--against", style)):
            deep = re.search(r"opacity: ([\d.]+)", style)
            found[where] = (-1 if hue[0] == "--against" else 1) * (float(deep[1]) if deep else 1.0)
    expected = [row["effect"] / most if row["fdr"] <= 0.05 else 0 for row in pairs]
    assert list(found.values()) == pytest.approx(expected, abs=1e-3)
    assert min(expected) < 0  # smokers drink less here


def test_a_pair_is_sure_by_the_rate_of_false_discoveries() -> None:
    """One in twenty of very many pairs has p below 0.05 by chance alone."""
    pair = RankedPair(
        "a", "b", "correlation", 0.2, 0.01, 0.19, 0.03, 0.2, shrunken=0.1, listed_low=-0.1, listed_high=0.4
    )
    assert pair.enough
    assert not pair.sure
    assert replace(pair, fdr=0.04).sure
    assert not replace(pair, fdr=0.04, low=np.nan).sure
    chart = ranked_chart([replace(pair, fdr=0.04), pair])
    assert chart is not None
    assert chart.caption.startswith("1 of 2 pairs go together")
    shown = [text.attributes["style"] for text in read(chart.svg).all("text") if "0.10" in text.text]
    assert [re.findall(r"--\w+", style) for style in shown] == [["--ink"], ["--soft"]]
    assert ranked_chart([replace(pair, low=np.nan)]) is None


def test_few_reports_give_words_and_no_numbers() -> None:
    counts = survey(30, epsilon=3.0)
    root = read(page.page(counts))
    for figure in root.all("figure"):
        for row in figure.all("tbody")[0].all("tr"):
            assert len(row.all("data")) in (3, 5) or "not enough reports" in row.text
            assert not row.all("data") or "not enough reports" not in row.text
    for row in dn.associations(counts).to_pylist():
        if np.isnan(row["low"]) or np.isnan(row["fdr"]):
            label = f"{row['first']} × {row['second']}"
            every = rows_of(figure_of(root, "Every pair of questions"))
            assert every[label, row["measure"], "not enough reports", "", "", "", ""] == []
    est = dn.estimate(counts, ["age"]).about("population")
    assert np.isnan(est.table()["low"].to_numpy()).all()
    assert set(rows_of(figure_of(root, "age"))) == {
        (age, "not enough reports", "", "") for age in ("young", "middle", "old")
    }
    assert not figure_of(root, "age").all("data")
    (unanswered,) = [table for table in root.all("table") if "could not be answered" in table.all("caption")[0].text]
    rows = [[cell.text for cell in row.all("th", "td")] for row in unanswered.all("tbody")[0].all("tr")]
    assert ["age", "all answers"] in [row[:2] for row in rows]
    assert all(re.fullmatch(r"(about|very roughly) [\d,]+|more than can be said", row[2]) for row in rows)
    needed = [int(re.sub(r"\D", "", row[2]) or 10**12) for row in rows]
    assert needed == sorted(needed)
    assert min(needed) > 30
    missing = int(root.all("dl")[0].all("dd")[-1].text)
    assert missing == len(rows) or f"And {missing - len(rows)} more" in root.text


def test_the_public_column_is_named_loudly(root: Element) -> None:
    (alarm,) = [p for p in root.all("p") if p.attributes.get("class") == "alarm"]
    assert "Not protected" in alarm.text
    assert "arm" in alarm.text
    asked = {row.all("th")[0].text: row.all("td")[-1].text for row in root.all("table")[0].all("tbody")[0].all("tr")}
    assert asked == {"age": "yes", "smoker": "yes", "drinker": "yes", "sports": "yes", "arm": "NOT PROTECTED"}


def test_nothing_protected_makes_no_promise() -> None:
    rng = np.random.default_rng(1)
    plan = PLANS["public alone"]
    records = {"a": rng.random(500) < 0.5, "b": rng.choice(["v0", "v1", "v2"], 500)}
    root = read(page.page(dn.count(dn.randomize(records, plan), order=2)))
    assert not [p for p in root.all("p") if p.attributes.get("class") == "promise"]
    assert "a, b" in root.text


@pytest.mark.slow
def test_a_promise_that_is_worth_little_is_not_praised() -> None:
    for epsilon, kept in ((2.0, True), (12.0, False), (100.0, False)):
        text = " ".join(read(page.page(survey(100, epsilon=epsilon))).text.split())
        assert ("can neither prove nor rule out" in text) == kept
        assert ("nobody can pin an answer on you" in text) == kept
        assert ("little protection" in text) == (not kept)
        assert "at most practically" not in text


def test_the_method_says_by_what_it_was_made(root: Element, counts: dn.Counts) -> None:
    assert counts.plan.fingerprint in root.text
    assert f"deniable {dn.__version__}" in root.text
    total = float(re.search(r"Total epsilon\s*([\d.]+)", root.text)[1])  # type: ignore[index]
    assert counts.plan.epsilon <= total < counts.plan.epsilon + 1e-4


@pytest.mark.slow
def test_many_features_stay_short_and_say_what_was_left_out() -> None:
    rng = np.random.default_rng(1)
    flags, choices = 150, 30
    schema = dn.Schema(
        [dn.Flag(f"flag {k}") for k in range(flags)]
        + [dn.Choice(f"choice {k}", ["x", "y", "z"]) for k in range(choices)]
    )
    kind = rng.random(3000) < 0.5
    records: dict[str, Any] = {f"flag {k}": rng.random(3000) < np.where(kind, 0.8, 0.2) for k in range(flags)}
    records |= {f"choice {k}": rng.choice(["x", "y", "z"], 3000) for k in range(choices)}
    html = page.page(dn.count(dn.randomize(records, dn.Plan(schema, epsilon=720.0), rng=rng), order=2))
    assert len(html.encode()) < 1_500_000
    root = read(html)
    shown = {words[0] for figure in root.all("figure") for words in rows_of(figure)}
    assert {f"flag {k}" for k in range(flags)} <= shown  # all flags are there, in a few charts
    assert len([figure for figure in root.all("figure") if figure.attributes["id"].startswith("single")]) == 24
    left_out = [f"choice {k}" for k in range(choices) if f"choice {k}" not in [h.text for h in root.all("h3")]]
    assert len(left_out) == choices - (24 - 4)
    assert f"Left out to keep the page short: {', '.join(left_out)}" in root.text
    assert "deniable associations counts.npz --top 0" in root.text
    assert len(rows_of(figure_of(root, "Every pair of questions"))) == 30 * 29 / 2


def test_very_many_pairs_without_an_answer_are_counted_and_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.analyses.pair_findings.TRIED", 30)
    schema = dn.Schema([dn.Flag(f"flag {k}") for k in range(12)])
    rng = np.random.default_rng(1)
    records = {name: rng.random(60) < 0.5 for name in schema.names}
    counts = dn.count(dn.randomize(records, dn.Plan(schema, epsilon=6.0), rng=rng), order=2)
    without = sum(np.isnan(row["low"]) or np.isnan(row["fdr"]) for row in dn.associations(counts).to_pylist())
    alone = sum(not dn.estimate(counts, [name]).about("population").cell({name: True}).enough for name in schema.names)
    assert without > 30
    root = read(page.page(counts))
    assert root.all("dl")[0].all("dd")[-1].text == str(without + alone)
    assert (
        f"And {without + alone - 15} more, of which {30 + alone - 15} were tried. Reports they would take: "
        in root.text
    )


def test_a_question_with_very_many_answers_is_cut_and_not_paired() -> None:
    rng = np.random.default_rng(1)
    values = [f"v{k}" for k in range(300)]
    schema = dn.Schema([dn.Choice("town", values), dn.Flag("a"), dn.Flag("b")])
    records = {"town": rng.choice(values, 5000), "a": rng.random(5000) < 0.5, "b": rng.random(5000) < 0.5}
    counts = dn.count(dn.randomize(records, dn.Plan(schema, epsilon=9.0), rng=rng), order=2)
    root = read(page.page(counts))
    assert len(rows_of(figure_of(root, "town"))) == 30
    assert "The 30 most common of 300 answers" in root.text
    assert "town has so many answers that it is not paired" in root.text
    assert list(rows_of(figure_of(root, "The surest associations"))) == [("a × b", "correlation")]


def test_features_may_be_called_as_columns_are() -> None:
    rng = np.random.default_rng(1)
    low = rng.random(3000) < 0.5
    plan = dn.Plan(dn.Schema([dn.Flag("low"), dn.Flag("proportion"), dn.Flag("x")]), epsilon=9.0)
    records = {"low": low, "proportion": low, "x": low}
    root = read(page.page(dn.count(dn.randomize(records, plan, rng=rng), order=2)))
    assert len(rows_of(figure_of(root, "The surest associations"))) == 3
    assert set(rows_of(figure_of(root, "Yes or no"))) == {("low",), ("proportion",), ("x",)}
    wanted = dn.design(plan.schema, epsilon=9.0, n=3000)  # of which the page tells what was expected of each table
    assert "low × proportion" in read(page.page(dn.count(dn.randomize(records, wanted, rng=rng)))).text


def promised(plan: dn.Plan) -> tuple[str, dict[str, list[str]], dict[str, list[str]]]:
    """The section on the promise as text, its table by the first words, and the table of protocols by its head."""
    told = truth(plan.schema, {f.name: [1 / f.levels] * f.levels for f in plan.schema})
    root = read(page.page(simulated(told, plan, np.random.default_rng(1), n=500)))
    (promise, method) = (
        one for one in root.all("section") if one.attributes["aria-labelledby"] in ("promise", "method")
    )
    rows = [[cell.text for cell in row.all("th", "td")] for row in promise.all("tbody")[0].all("tr")]
    columns = [[cell.text for cell in row.all("th", "td")] for row in method.all("tr")]
    return (
        " ".join(promise.text.split()),
        {first: others for first, *others in rows},
        {head: list(cells) for head, *cells in zip(*columns, strict=True)},
    )


def test_a_plan_of_two_rounds_says_what_one_report_and_what_all_of_them_give_away() -> None:
    plan = KEPT["one flag, two rounds"]
    text, rows, how = promised(plan)
    one, whole = of_one_report(plan), of_report(plan)
    assert one.at_most(BELIEF) == "24 in 100" != whole.at_most(BELIEF)
    assert f"Seeing one report alone can raise this belief {one.up_to(BELIEF)}." in text
    assert f"Seeing all reports of a person together can raise this belief {whole.up_to(BELIEF)}" in text
    assert "Answers were kept" in text
    assert "it sends that under a fresh coin" in text
    assert "Answering this survey again from the device that kept the answers tells no more" in text
    assert "Answering again, here or in another survey, adds" not in text
    assert rows["one report alone"][1] == one.at_most(BELIEF)
    assert rows["all reports of a person together"][1] == whole.at_most(BELIEF)
    true, other = (float(how[head][0].removesuffix("%")) / 100 for head in ("sent if true", "sent if not"))
    assert float(how["epsilon_1"][0]) == pytest.approx(log(true / other), abs=1e-3)  # of what is sent
    assert float(how["epsilon"][0]) == pytest.approx(2, abs=1e-3)


def test_a_plan_that_sends_the_same_again_says_so() -> None:
    text, rows, how = promised(KEPT["one flag, sent again"])
    assert "Asked again, it sends the same, even if" in text
    assert "one report alone" not in rows
    assert "epsilon_1" not in how
    text, rows, _ = promised(KEPT["one flag, sent again"].with_blocks(((KEPT["one flag, sent again"].blocks),), 0))
    assert "kept" not in text
    assert "Answering again, here or in another survey, adds" in text
    assert list(rows)[-1] == "the whole report"


def test_one_number_of_pairs_is_the_base_of_all_that_is_said() -> None:
    pair = RankedPair("a", "b", "any", 0.3, 0.2, 0.4, 0.0, 0.0, shrunken=0.3, listed_low=0.2, listed_high=0.4)
    few = replace(pair, second="c", effect=nan, low=nan, high=nan, fdr=nan)
    chart = ranked_chart([pair, few, replace(few, second="d")])
    assert chart is not None
    assert "1 of 3 pairs go together;" in chart.caption
    assert "For 2 of 3 pairs there are not enough reports." in chart.caption
    whole = ranked_chart([pair])
    assert whole is not None
    assert "not enough" not in whole.caption
