"""Pages of surveys with blocks and arms: what they say of who was asked what, and that their numbers are right."""

import re
from fractions import Fraction
from itertools import combinations
from math import isnan

import numpy as np
import pytest
from scipy.special import gammaincc

import deniable as dn
from deniable.page import page
from deniable.survey.privacy import Promise, of_report
from tests.support.pages import DESIGNS, Element, design, figure_of, numbers, read, rows_of

N = 12_000
COUNTS = {name: dn.count(design(plan, N)) for name, plan in DESIGNS.items() if name != "120 arms"}
ROOTS = {name: read(page.page(counts)) for name, counts in COUNTS.items()}
ARMS = [name for name, plan in DESIGNS.items() if plan.has_arms and name != "120 arms"]


@pytest.fixture(scope="module")
def many() -> tuple[dn.Counts, Element]:
    """A page of 120 arms, with so few reports that no pair is answered."""
    counts = dn.count(design(DESIGNS["120 arms"], 1_200))
    return counts, read(page.page(counts))


def section(root: Element, name: str) -> Element:
    (found,) = [one for one in root.all("section") if one.attributes["aria-labelledby"] == name]
    return found


# The captions of the table of protocols.
RANDOMIZED = ("How answers were randomized", "How each answer was randomized")


def tables(root: Element, begin: str | tuple[str, ...]) -> list[Element]:
    return [table for table in root.all("table") if table.all("caption")[0].text.startswith(begin)]


def asked(counts: dn.Counts, *names: str) -> int:
    """How many were asked all of these, from the arms."""
    return sum(arm.n for arm in counts.arms if set(names) <= set(arm.plan.schema.names))


def caption(figure: Element) -> str:
    return figure.all("p")[0].text


# -- who was asked what ------------------------------------------------------------------------------------------------


def arm_rows(table: Element) -> list[tuple[list[str], list[float]]]:
    rows = table.all("tbody")[0].all("tr")
    return [([cell.text for cell in row.all("th", "td") if not cell.all("data")], numbers(row)) for row in rows]


def check_arms(counts: dn.Counts, rows: list[tuple[list[str], list[float]]]) -> None:
    plan = counts.plan
    assert len(rows) <= len(plan.arms)
    for (words, found), arm, share in zip(rows, counts.arms, plan.shares, strict=False):
        assert found == pytest.approx([share / 65_536, counts.n * share / 65_536, arm.n])
        own = [block for block in arm.plan.blocks if not set(block.names) <= set(plan.public)]
        assert words[-1] == ", ".join(" × ".join(block.names) for block in own)


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_has_its_questions_its_share_and_its_size(name: str) -> None:
    (table,) = tables(ROOTS[name], "What each arm asks")
    rows = arm_rows(table)
    assert len(rows) == len(DESIGNS[name].arms)
    check_arms(COUNTS[name], rows)
    if name == "named arms":
        assert [words[0] for words, _ in rows] == ["panel", "phone", "web"]
    assert sum(found[2] for _, found in rows) == N


def test_many_arms_are_folded(many: tuple[dn.Counts, Element]) -> None:
    counts, root = many
    first, every = tables(root, "What each arm asks")
    assert 5 <= len(arm_rows(first)) <= 20
    assert arm_rows(first) == arm_rows(every)[: len(arm_rows(first))]
    assert len(arm_rows(every)) == 120
    check_arms(counts, arm_rows(every))
    inside = [details for details in root.all("details") if "All 120 arms" in details.all("summary")[0].text]
    assert [one.all("table")[0] for one in inside] == [every]


def test_very_many_arms_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.page.design.ARMS", 1)
    monkeypatch.setattr("deniable.page.design.MOST_ARMS", 2)
    root = read(page.page(COUNTS["arms"]))
    assert [len(arm_rows(table)) for table in tables(root, "What each arm asks")] == [1, 2]
    assert "The first 2 arms" in root.text
    assert "And 1 more arms, which are in the plan." in root.text


@pytest.mark.parametrize("name", ["arms", "named arms", "one question per arm"])
def test_the_sizes_of_arms_are_tested(name: str) -> None:
    counts, plan = COUNTS[name], DESIGNS[name]
    expected = N * np.array(plan.shares) / 65_536
    statistic = sum((arm.n - e) ** 2 / e for arm, e in zip(counts.arms, expected, strict=True))
    p = gammaincc((len(expected) - 1) / 2, statistic / 2)
    said = re.search(r"The sizes of the arms are as (drawn|assigned), within chance \(p = ([\d.]+),", ROOTS[name].text)
    assert said
    assert float(said[2]) == pytest.approx(p, rel=0.05)
    assert (said[1] == "assigned") == plan.assigned
    assert "whoever invites" in ROOTS[name].text or not plan.assigned
    assert not [one for one in section(ROOTS[name], "asked").all("p") if one.attributes.get("class") == "alarm"]


def test_arms_of_other_sizes_are_a_warning_on_the_page_and_no_other() -> None:
    """Warnings are errors here."""
    plan = DESIGNS["arms"]
    more = dn.count(design(plan, 3_000, seed=5))
    odd = dn.Counts(plan, arms=[COUNTS["arms"].arms[0], *more.arms[1:]])
    with pytest.warns(dn.ArmSizeWarning):
        dn.estimate(odd, ["smoker"])
    (alarm,) = [
        one for one in section(read(page.page(odd)), "asked").all("p") if one.attributes.get("class") == "alarm"
    ]
    assert "do not have the sizes that they were drawn with (p < 0.001" in alarm.text


def test_too_few_reports_for_the_test_of_sizes_are_said() -> None:
    root = read(page.page(dn.count(design(DESIGNS["120 arms"], 400))))
    assert "too few reports to say whether the arms are as large as they were drawn: a test takes 5" in root.text


def test_questions_asked_together_are_listed_without_arms() -> None:
    (table,) = tables(ROOTS["blocks"], "The questions that are asked together")
    assert [row.text for row in table.all("tbody")[0].all("tr")] == ["smoker × age", "drinker × income"]
    assert "arm" not in section(ROOTS["blocks"], "asked").text
    assert "respondents." not in ROOTS["blocks"].text  # everybody was asked everything


# -- privacy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_promises_are_of_the_worst_arm_and_of_the_worst_block(name: str) -> None:
    plan, root = DESIGNS[name], ROOTS[name]
    whole = max(np.prod([float(block.protocol.ratio) for block in arm.blocks]) for arm in plan.arms)
    assert float(of_report(plan).ratio) == pytest.approx(whole)
    rows = tables(root, "Belief")[0].all("tbody")[0].all("tr")
    belief = [Promise(of_report(plan).ratio).at_most(before) for before in page_beliefs(root)]
    assert [cell.text for cell in rows[-1].all("td")] == belief
    together = any(len(block.features) > 1 for block in plan.blocks)
    assert ("have one epsilon, that of their block" in root.text) == together
    largest = max(
        sum(block.protocol.epsilon for block in arm.blocks if {feature.name for feature in features} & set(block.names))
        for arm in plan.arms
        for features in plan.schema.questions.values()
        if features[0].name not in plan.public
    )
    facts = dict(zip(*([one.text for one in root.all("dl")[1].all(tag)] for tag in ("dt", "dd")), strict=True))
    if together:
        said = facts["Epsilon of one question alone"].removeprefix("at most ")
        assert largest - 1e-9 <= float(said) <= largest + 2e-4
    assert ("that of the largest arm" in facts["Total epsilon"]) == plan.has_arms
    assert facts["About"].startswith("the population")


def page_beliefs(root: Element) -> list[Fraction]:
    head = [cell.text for cell in tables(root, "Belief")[0].all("thead")[0].all("th")][1:]
    return [Fraction(*map(int, words.removeprefix("before: ").split(" in "))) for words in head]


@pytest.mark.parametrize("name", COUNTS)
def test_every_block_has_its_protocol(name: str) -> None:
    (table,) = tables(ROOTS[name], RANDOMIZED)
    head = [cell.text for cell in table.all("thead")[0].all("th")]
    rows = [[cell.text for cell in row.all("th", "td")] for row in table.all("tbody")[0].all("tr")]
    for block in DESIGNS[name].blocks:
        label = (" × " if DESIGNS[name].has_arms else " x ").join(block.names)
        (row,) = [row for row in rows if label in row[0].split(", ")]
        own = dict(zip(head, row, strict=True))
        if not block.protocol.protects:
            assert own["epsilon"] == "none"
            continue
        assert own["protocol"] == block.protocol.name
        assert float(own["epsilon"]) == pytest.approx(block.protocol.epsilon, abs=2e-4)
        assert float(own["sent if true"].removesuffix("%")) == pytest.approx(100 * block.protocol.q, abs=0.0051)
        assert float(own["sent if not"].removesuffix("%")) == pytest.approx(100 * block.protocol.p, abs=0.0051)


def test_blocks_that_are_randomized_alike_share_a_row(many: tuple[dn.Counts, Element]) -> None:
    (table,) = tables(many[1], RANDOMIZED)
    (row,) = table.all("tbody")[0].all("tr")
    assert "(120 in all)" in row.text


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["blocks", "arms", "named arms", "one question per arm"])
def test_shares_are_what_the_library_says_and_of_whom(name: str) -> None:
    counts, root = COUNTS[name], ROOTS[name]
    for choice in ("age", "income", "region"):
        figure = figure_of(root, choice)
        told = dn.estimate(counts, [choice]).about("population").table().to_pylist()
        assert rows_of(figure) == {
            (row[choice],): pytest.approx([row["proportion"], row["low"], row["high"]]) for row in told
        }
        of = asked(counts, choice)
        assert caption(figure).endswith(f" Asked of {of:,} of {N:,} respondents.") == (of < N)
    figure = figure_of(root, "Yes or no")
    everybody = not counts.plan.has_arms
    for flag in ("smoker", "drinker"):
        _, row = dn.estimate(counts, [flag]).about("population").table().to_pylist()
        words = (flag,) if everybody else (flag, f"{asked(counts, flag):,}")
        assert rows_of(figure)[words] == pytest.approx([row["proportion"], row["low"], row["high"]])
    low, high = sorted(asked(counts, flag) for flag in ("smoker", "drinker"))
    assert (f"Each was asked of {low:,} to {high:,} of {N:,} respondents." in caption(figure)) == (low < high)


@pytest.mark.parametrize("name", ["blocks", "arms", "named arms"])
def test_pairs_are_what_the_library_says_and_the_others_are_counted(name: str) -> None:
    counts, root = COUNTS[name], ROOTS[name]
    told = dn.associations(counts).to_pylist()
    features = counts.plan.schema.names
    pairs = list(combinations(features, 2))
    together = [pair for pair in pairs if asked(counts, *pair)]
    assert sorted((row["first"], row["second"]) for row in told) == sorted(together)
    heading = "Every pair of questions"
    if len(together) < len(pairs):
        heading += " that some people were asked together"
        said = f"No arm asks {len(pairs) - len(together)} of the {len(pairs)} pairs of questions together"
        assert said in section(root, "together").text
    figure = figure_of(root, heading)
    rows = {words[0]: (words, found) for words, found in rows_of(figure).items()}
    assert len(rows) == len(told)
    for row in told:
        pair = (row["first"], row["second"])
        words, found = rows[" × ".join(pair)]
        assert not isnan(row["low"])
        assert found == pytest.approx([row[key] for key in ("shrunken", "listed_low", "listed_high", "effect", "fdr")])
        assert counts.plan.has_arms == (words[-1] == f"{asked(counts, *pair):,}")
    dots = [text for text in figure.all("svg")[0].all("text") if text.text == "•"]
    drawn = {name for pair in together for name in pair}
    gaps = [pair for pair in combinations(drawn, 2) if not asked(counts, *pair)]
    assert len(dots) == len(gaps) + bool(gaps)  # one is in the key


def test_shares_within_groups_say_of_whom() -> None:
    counts, root = COUNTS["arms"], ROOTS["arms"]
    figure = figure_of(root, "smoker, by age")
    est = dn.estimate(counts, ["age", "smoker"]).about("population")
    told = [row for row in est.conditional("smoker", given="age").to_pylist() if row["smoker"]]
    assert rows_of(figure) == {
        (row["age"], "yes"): pytest.approx([row["proportion"], row["low"], row["high"]]) for row in told
    }
    assert caption(figure).endswith(f" Asked of {counts.arms[0].n:,} of {N:,} respondents.")


def test_one_question_per_arm_has_no_pairs() -> None:
    root = ROOTS["one question per arm"]
    assert not section(root, "together").all("figure")
    assert "No arm asks two questions together" in section(root, "together").text
    assert not [figure for figure in root.all("figure") if figure.attributes["id"] in ("ranked", "square")]
    assert "pairs" not in root.all("dl")[0].text


def test_questions_that_nobody_was_asked_are_said() -> None:
    name = "an arm that nobody falls into"
    counts, root = COUNTS[name], ROOTS[name]
    assert counts.arms[1].n == 0
    (table,) = tables(root, "What could not be answered")
    rows = {row.all("th")[0].text: [cell.text for cell in row.all("td")] for row in table.all("tbody")[0].all("tr")}
    unknown = {"income", "region", "sports: chess", "sports: judo"}
    assert {key for key, cells in rows.items() if cells == ["nobody was asked", "unknown"]} == unknown
    assert f"Nobody was asked, of {N:,} respondents." in caption(figure_of(root, "income"))
    assert set(rows_of(figure_of(root, "income"))) == {
        (value, "not enough reports", "", "") for value in ("low", "high")
    }
    assert len(rows_of(figure_of(root, "Every pair of questions that some people were asked together"))) == 3
    within = section(root, "together").text
    assert "6 of the 21 pairs of questions are asked together by arms that nobody fell into." in within
    assert "No arm asks 12 of the 21 pairs of questions together" in within
    assert sorted(row["first"] for row in dn.associations(counts).to_pylist()) == ["drinker", "smoker", "smoker"]


def test_over_arms_some_pairs_are_tried(many: tuple[dn.Counts, Element], monkeypatch: pytest.MonkeyPatch) -> None:
    counts, root = many
    told = dn.associations(counts).to_pylist()
    without = sum(isnan(row["low"]) or isnan(row["fdr"]) for row in told)
    assert without == 120
    assert root.all("dl")[0].all("dd")[-1].text == "120"
    assert "And 105 more, of which 9 were tried. Reports they would take: " in root.text
    monkeypatch.setattr("deniable.analyses.pair_findings.TRIED_OVER_ARMS", 3)
    assert "And 117 more, which were not tried." in page.page(counts)


def test_over_arms_some_flags_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.analyses.share_findings.TRIED", 4)
    monkeypatch.setattr("deniable.analyses.pair_findings.TRIED_OVER_ARMS", 1)
    counts = dn.count(design(DESIGNS["120 arms"], 130))
    without = sum(
        not dn.estimate(counts, [name]).about("population").cell({name: True}).enough
        for name in counts.plan.schema.names
    )
    assert without == 16
    pairs = len(dn.associations(counts))
    empty = sum(not arm.n for arm in counts.arms)
    assert pairs + empty == 120
    root = read(page.page(counts))
    assert root.all("dl")[0].all("dd")[-1].text == str(16 + pairs)
    assert f"And {16 + pairs - 5} more, which were not tried." in root.text
    assert f"{empty} of the 120 pairs of questions are asked together by arms that nobody fell into." in root.text


# -- counts ------------------------------------------------------------------------------------------------------------


def test_pairs_of_each_arm_give_the_same_page_as_its_whole_table() -> None:
    reports = design(DESIGNS["arms"], 3_000)
    assert page.page(dn.count(reports, order=2)) == page.page(dn.count(reports))


def test_counts_without_a_pair_that_an_arm_asks_are_refused() -> None:
    plan = DESIGNS["arms"]
    with pytest.raises(dn.CountError, match=r"the page needs every pair of features.*smoker x region was not counted"):
        page.page(dn.count(design(plan, 100), order=1))
    with pytest.raises(dn.CountError, match="age x sports: chess was not counted"):
        page.page(dn.count(design(plan, 100), [["smoker", "age", "region"], ["smoker", "drinker", "region"]]))
