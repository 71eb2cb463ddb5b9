"""What the page claims in words, tables and pictures, against the plan and the numbers that it is about."""

import re
from fractions import Fraction
from math import nan

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.pair_findings import RankedPair, conditionals
from deniable.analyses.share_findings import ANSWERS, Group, MostCommon, Share, Shares, group_shares, groups
from deniable.page import page
from deniable.page.blocks import Number
from deniable.page.content import content
from deniable.page.pairs import conditional_chart
from deniable.page.single_questions import extremes_in_words, most_common_in_words, shares_chart
from deniable.simulate import counts as simulated
from deniable.simulate import truth
from deniable.survey.privacy import Promise, in_one_sentence, of_question, of_report
from tests.support.pages import Element, read, rows_of

JUDO = "sports: judo"
SCHEMA = dn.Schema(
    [
        dn.Flag("mild"),
        dn.Flag("strong"),
        dn.Choice("town", ["x", "y", "z"]),
        dn.Flags("sports", ["chess", "judo"]),
        dn.Flag("arm"),
    ]
)
PLAN = dn.Plan(
    SCHEMA,
    {
        "mild": dn.RandomizedResponse(p=1 / 4, q=1 / 2),
        "strong": dn.RandomizedResponse(p=1 / 16, q=15 / 16),
        "town": dn.UnaryEncoding(p=1 / 8, q=1 / 2),
        "sports: chess": dn.RandomizedResponse(p=1 / 4, q=3 / 4),
        JUDO: dn.RandomizedResponse(p=1 / 4, q=3 / 4),
        "arm": dn.Public(),
    },
)
RATIOS = {"mild": 2, "strong": 15, "town": 7, "sports": 9}  # q / p, and twice over where two bits tell
WHOLE = 2 * 15 * 7 * 9
TRUTH = truth(
    SCHEMA,
    [
        (0.5, {"mild": 0.9, "strong": 0.8, "town": [0.1, 0.7, 0.2], "sports: chess": 0.3, JUDO: 0.7, "arm": 1}),
        (0.5, {"mild": 0.3, "strong": 0.1, "town": [0.1, 0.2, 0.7], "sports: chess": 0.2, JUDO: 0.4, "arm": 0}),
    ],
)


@pytest.fixture(scope="module")
def counts() -> dn.Counts:
    return simulated(TRUTH, PLAN, np.random.default_rng(1), n=20_000)


@pytest.fixture(scope="module")
def root(counts: dn.Counts) -> Element:
    return read(page.page(counts))


def table_of(root: Element, section: str) -> tuple[list[str], dict[str, list[str]]]:
    """The head of a section's only table, and its rows by their first words."""
    (found,) = [one for one in root.all("section") if one.attributes["aria-labelledby"] == section]
    (table,) = found.all("table")
    rows = [[cell.text for cell in row.all("th", "td")] for row in table.all("tbody")[0].all("tr")]
    return [cell.text for cell in table.all("thead")[0].all("th")], {first: others for first, *others in rows}


def share(label: str, value: float, half: float) -> Share:
    return Share(label, value, value - half, value + half)


def beliefs(ratio: int, head: list[str]) -> list[str]:
    """What each belief in a table's head can become."""
    before = [Fraction(*map(int, words.removeprefix("before: ").split(" in "))) for words in head[1:]]
    assert len(before) == 3
    return [Promise(Fraction(ratio)).at_most(belief) for belief in before]


def test_the_whole_report_tells_what_all_answers_together_do(root: Element) -> None:
    assert of_report(PLAN).ratio == WHOLE
    head, rows = table_of(root, "promise")
    assert list(rows.values())[-1] == beliefs(WHOLE, head)
    assert "whole" in list(rows)[-1]


def test_each_question_is_promised_what_its_own_randomizing_gives(root: Element) -> None:
    head, rows = table_of(root, "promise")
    told = {name: [cells for words, cells in rows.items() if name in words] for name in SCHEMA.questions}
    for name, ratio in RATIOS.items():
        assert of_question(PLAN, name) == Promise(Fraction(ratio))
        assert told.pop(name) == [beliefs(ratio, head)], name
    assert told == {"arm": []}


def test_the_sentence_is_about_the_question_that_is_protected_least(counts: dn.Counts) -> None:
    told = re.findall(r"[\d,]+ in [\d,]+", in_one_sentence(PLAN))
    can_become = {name: Promise(Fraction(ratio)).at_most(Fraction(1, 10)) for name, ratio in RATIOS.items()}
    assert [name for name, words in can_become.items() if words in told] == ["strong"]
    assert content(counts).privacy.one.ratio == RATIOS["strong"]


def test_how_often_an_answer_is_sent_if_it_is_true_and_if_not(root: Element) -> None:
    head, rows = table_of(root, "method")
    epsilon, true, other = (head.index(words) - 1 for words in ("epsilon", "sent if true", "sent if not"))
    assert set(rows) == set(SCHEMA.names)
    for feature, protocol in PLAN:
        cells = rows[feature.name]
        if feature.name == "arm":
            assert "%" not in "".join(cells)
            continue
        assert float(cells[true].removesuffix("%")) == pytest.approx(100 * protocol.q, abs=0.0051)
        assert float(cells[other].removesuffix("%")) == pytest.approx(100 * protocol.p, abs=0.0051)
        assert float(cells[epsilon]) == pytest.approx(protocol.epsilon, abs=1e-4)


@pytest.mark.parametrize(
    ("alike", "words"),
    [
        (0, "Most common: first, 48 % (44 to 52)."),
        (1, "Highest estimate: first, 48 % (44 to 52); 1 other may be as common."),
        (2, "Highest estimate: first, 48 % (44 to 52); 2 others may be as common."),
        (3, "Highest estimate: first, 48 % (44 to 52); any other may be as common."),
    ],
)
def test_one_answer_is_called_most_common_only_if_it_is_told_apart(alike: int, words: str) -> None:
    shares = [share(label, value, 0.04) for label, value in (("a", 0.1), ("b", 0.15), ("c", 0.27), ("first", 0.48))]
    group = Group("letter", (dn.Choice("letter", ["a", "b", "c", "first"]),))
    most = MostCommon(shares[-1], alike)
    assert most_common_in_words(Shares(group, tuple(shares), 4, (), most_common=most)) == words
    unknown = most_common_in_words(Shares(group, (*shares, share("unknown", nan, nan)), 5, ()))
    assert unknown == "There are not enough reports for 1 of 5 answers."


SURVEYS = 600


@pytest.mark.parametrize(
    ("shares", "most"), [([0.35, 0.35, 0.2, 0.1], 0.05), ([0.1] * 10, 0.05), ([0.4, 0.3, 0.2, 0.1], 0.0)]
)
def test_the_most_common_answer_is_wrongly_named_in_at_most_5_of_100_surveys(shares: list[float], most: float) -> None:
    """Where several are equally common, naming any is wrong; and naming the highest estimate always is a control."""
    values = [f"v{k}" for k in range(len(shares))]
    schema = dn.Schema([dn.Choice("letter", values)])
    plan, told = dn.Plan(schema, epsilon=3.0), truth(schema, {"letter": shares})
    (group,) = groups(plan)
    best = values[0] if shares[0] > shares[1] else None
    claims, highest = [], []
    rng = np.random.default_rng(1)
    for _ in range(SURVEYS):
        found = group_shares(simulated(told, plan, rng, n=2_000), group, 0.95).most_common
        assert found is not None
        highest.append(found.first.label)
        claims += [found.first.label] if not found.alike else []
    wrong = sum(label != best for label in claims)
    assert wrong <= most * SURVEYS + 3 * np.sqrt(most * SURVEYS)
    if best is None:
        assert sum(label != best for label in highest) > 10 * most * SURVEYS  # a control
        assert len(shares) > 4 or wrong > 0.02 * SURVEYS  # of two that are equally common the test is no stricter
    else:
        assert len(claims) > 0.95 * SURVEYS


def test_differences_of_answers_have_their_own_variance() -> None:
    """Shares of one question go against each other: intervals that lie apart are not what tells them apart."""
    schema = dn.Schema([dn.Choice("letter", ["a", "b"])])
    plan = dn.Plan(schema, {"letter": dn.GRR(epsilon=1.0)})
    (group,) = groups(plan)
    rng, told = np.random.default_rng(2), truth(schema, {"letter": [0.54, 0.46]})
    for _ in range(60):
        counts = simulated(told, plan, rng, n=3_000)
        found = group_shares(counts, group, 0.95).most_common
        assert found is not None
        difference = 2 * found.first.value - 1  # of two answers, which sum to one
        stderr = 2 * dn.estimate(counts, ["letter"]).cell(letter="a").stderr
        assert (found.alike == 0) == (difference > 1.959964 * stderr)


def test_the_highest_and_the_lowest_are_those_of_the_table(root: Element) -> None:
    found = []
    for figure in root.all("figure"):
        caption = figure.all("p")[0].text
        if "Highest: " not in caption:
            continue
        found.append(figure.attributes["id"].partition("-")[0])
        rows = [(row.all("th")[0].text, row.all("data")[0]) for row in figure.all("tbody")[0].all("tr")]
        rows.sort(key=lambda row: float(row[1].attributes["value"]))
        told = re.search(r"Highest: (.*); lowest: (.*)", caption)
        assert told, caption
        for said, (label, data) in zip(told.groups(), (rows[-1], rows[0]), strict=True):
            assert said.startswith(f"{label}, {data.text} ("), caption
    assert {"single", "given"} <= set(found)


@pytest.mark.parametrize(("points", "digits"), [(20, 0), (5, 0), (1, 1), (0.2, 2), (0.02, 3), (0.002, 4)])
def test_numbers_are_as_precise_as_they_are_known(points: float, digits: int) -> None:
    """The last digit is a third of the interval's half or less, and one digit less would be more than that."""
    shares = (share("a", 0.512345678, points / 100), share("b", 0.212345678, points / 100))
    group = Group("letter", (dn.Choice("letter", ["a", "b"]),))
    chart = shares_chart("name", Shares(group, shares, 2, ()), 0.95)
    shown = [cell.shown for row in chart.table.rows for cell in row if isinstance(cell, Number)]
    assert len(shown) == 6
    words = [text.text for text in read(chart.svg).all("text") if " to " in text.text]
    assert len(words) == 2
    most = Shares(group, shares, 2, (), most_common=MostCommon(shares[0], 0))
    for text in (*shown, *words, most_common_in_words(most), extremes_in_words(shares)):
        numbers = re.findall(r"\d+(?:\.\d+)?", text)
        assert numbers
        assert {len(number.partition(".")[2]) for number in numbers} == {digits}, text


def test_shares_within_groups_are_as_precise_as_they_are_known(root: Element) -> None:
    within = [figure for figure in root.all("figure") if figure.attributes["id"].startswith("given")]
    assert within
    for figure in within:
        half = float(np.median([50 * (high - low) for _, low, high in rows_of(figure).values()]))
        (digits,) = {len(data.text.removesuffix(" %").partition(".")[2]) for data in figure.all("data")}
        assert 10.0**-digits <= half / 3 < 10.0 ** (1 - digits)


@pytest.mark.parametrize(
    ("first", "second", "given", "what"),
    [
        ("strong", "town", "town", "strong"),  # a flag is asked about
        ("town", JUDO, "town", JUDO),
        ("strong", "arm", "arm", "strong"),  # a public one is given
        ("town", "arm", "arm", "town"),  # even if it is a flag
        ("mild", "strong", "mild", "strong"),
    ],
)
def test_what_is_public_is_given_and_what_is_yes_or_no_is_asked(
    counts: dn.Counts, first: str, second: str, given: str, what: str
) -> None:
    pair = RankedPair(first, second, "any", 0.5, 0.4, 0.6, 0.0, 0.0, shrunken=0.5, listed_low=0.4, listed_high=0.6)
    (found,) = conditionals(counts, [pair], 0.95)
    chart = conditional_chart("given-1", found, 0.95)
    assert chart.heading == f"{what}, by {given}"
    assert given in chart.table.head[0]
    assert chart.table.head[1] == what
    told = dn.estimate(counts, [given, what]).about("population").conditional(what, given=given).to_pylist()
    expected = [row[k] for row in told if row[what] is not False for k in ("proportion", "low", "high")]
    assert [cell.value for row in chart.table.rows for cell in row if isinstance(cell, Number)] == pytest.approx(
        expected
    )


def test_of_many_answers_the_most_common_are_shown() -> None:
    many = ANSWERS + 15
    values = [f"v{k}" for k in range(many)]
    rng = np.random.default_rng(1)
    weights = rng.permutation(np.arange(1, many + 1))
    plan = dn.Plan(dn.Schema([dn.Choice("town", values)]), epsilon=6.0)
    counts = dn.count(dn.randomize({"town": np.repeat(values, 50 * weights)}, plan, rng=rng), order=1)
    estimated = {row["town"]: row["proportion"] for row in dn.estimate(counts, ["town"]).table().to_pylist()}
    (group,) = groups(plan)
    chart = shares_chart("single-1", group_shares(counts, group, 0.95), 0.95)
    shown = [str(label) for label, *_ in chart.table.rows]
    assert shown == sorted(values, key=lambda value: -estimated[value])[:ANSWERS]
    assert values[int(weights.argmax())] in shown
    assert values[int(weights.argmin())] not in shown
    assert f"The {ANSWERS} most common of {many} answers" in chart.caption


HIDES = r"""(?x) (?<![\w-]) (
    display \s*:\s* none | (content-)?visibility \s*:\s* (hidden|collapse)
    | (opacity|(max-)?(width|height)|font-size) \s*:\s* 0+ (\.0+)? [a-z%]* \s* (;|!|$)
)"""


def rules(style: str) -> list[tuple[str, str]]:
    """Each selector with its declarations, those within @media too."""
    found = re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", style, flags=re.S))
    return [(one.strip(), body.strip()) for selectors, body in found for one in selectors.split(",")]


def printed(style: str) -> str:
    """What stands in the blocks for paper."""
    found = ""
    for start in re.finditer(r"@media[^{]*\bprint\b[^{]*\{", style):
        end, depth = start.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(style[end], 0)
            end += 1
        found += style[start.end() : end - 1]
    return found


def matches(element: Element, selector: str) -> bool:
    """By tag, class and id of the last element that a selector names, whatever stands before it or restricts it."""
    last = re.split(r"[\s>+~]+", re.sub(r"::?[\w-]+(\([^)]*\))?|\[[^\]]*\]", "", selector))[-1]
    classes, own = element.attributes.get("class", "").split(), element.attributes.get("id", "")
    tag, *others = re.findall(r"^[\w-]*|[.#][\w-]+", last)
    return tag in ("", element.tag) and all(word[1:] in (classes if word[0] == "." else [own]) for word in others)


def test_paper_shows_every_picture_and_table(root: Element) -> None:
    hidden = [selector for selector, body in rules(printed(root.all("style")[0].text)) if re.search(HIDES, body)]
    assert "nav" in hidden  # links are of no use there
    (body,) = root.all("body")
    shown = body.all("svg", "table")
    assert {one.tag for one in shown} == {"svg", "table"}
    for one in shown:
        around: list[Element] = []
        at: Element | None = one
        while at is not None and at.tag:
            around.append(at)
            at = at.parent
        inside = one.all("path", "text", "caption", "thead", "tbody", "tr", "th", "td", "data")
        for element in (*around, *inside):
            assert not [selector for selector in hidden if matches(element, selector)], element.tag
