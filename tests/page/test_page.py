"""The page, read as a browser, a screen reader and a sceptic would."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.charts import charts
from deniable.charts.charts import Row
from deniable.cli.cli import main
from deniable.page import page
from deniable.page import pairs as together
from deniable.page.page import write_page
from deniable.page.pairs import Pair, ranked
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import seeded
from tests.support.situations import PLANS

VOID = {"meta", "br", "hr", "img", "link", "input"}
WORDS = """
html head meta title style body a header h1 h2 h3 p dl div dt dd nav ol ul li main section figure details summary span
table caption thead tbody tr th td data code footer svg desc path text
"""
KNOWN = set(WORDS.split())


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, *tags: str) -> list["Element"]:
        """The elements with these tags in this one, in order."""
        own = [child for child in self.children if isinstance(child, Element)]
        return [one for child in own for one in ([child] * (child.tag in tags) + child.all(*tags))]


class Reader(HTMLParser):
    """A tree of elements; what is not closed as it was opened is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {})
        self.feed(text)
        self.close()
        assert self.at is self.root, f"<{self.at.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"an attribute stands twice in <{tag}>"
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def read(text: str) -> Element:
    return Reader(text).root


def survey(n: int, *, epsilon: float = 12.0, seed: int = 1) -> dn.Counts:
    """Choices, flags, a question of several flags and a public one; some go together."""
    rng = np.random.default_rng(seed)
    schema = dn.Schema(
        [
            dn.Choice("age", ["young", "middle", "old"]),
            dn.Flag("smoker"),
            dn.Flag("drinker"),
            dn.Flags("sports", ["chess", "judo"]),
            dn.Choice("arm", ["treated", "control"]),
        ]
    )
    age = rng.choice(3, n, p=[0.3, 0.5, 0.2])
    smoker = rng.random(n) < np.array([0.5, 0.3, 0.1])[age]
    records = {
        "age": np.array(["young", "middle", "old"])[age],
        "smoker": smoker,
        "drinker": rng.random(n) < np.where(smoker, 0.3, 0.6),
        "sports: chess": rng.random(n) < 0.2,
        "sports: judo": rng.random(n) < 0.4,
        "arm": rng.choice(["treated", "control"], n),
    }
    plan = dn.Plan(schema, {"arm": dn.Public()}, epsilon=epsilon)
    return dn.count(dn.randomize(records, plan, rng=rng), order=2)


@pytest.fixture(scope="module")
def counts() -> dn.Counts:
    return survey(20_000)


@pytest.fixture(scope="module")
def html(counts: dn.Counts) -> str:
    return page.page(counts, title="A title")


@pytest.fixture(scope="module")
def root(html: str) -> Element:
    return read(html)


NASTY = [
    "<script>alert(1)</script>",
    "$x^2$ & \"q\" 'q'",
    "</text></svg><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "日本語 🎈",
    '#010101 url(#m) id="x" --> ]]>',
    "a\uffffb",
    "very long " * 30 + "end",
    "\u202eturned",
    "שלום",
]


def nasty() -> dn.Counts:
    rng = np.random.default_rng(3)
    features = [dn.Choice(f"{name} ?", NASTY) for name in NASTY[:2]] + [dn.Flag(name) for name in NASTY]
    schema = dn.Schema([*features, dn.Flags("</style> <b>", [name.strip() for name in NASTY[:3]])])
    kind = rng.integers(len(NASTY), size=3_000)
    records: dict[str, Any] = {
        feature.name: np.array(NASTY)[kind] for feature in schema if isinstance(feature, dn.Choice)
    }
    records |= {feature.name: kind < 3 for feature in schema if isinstance(feature, dn.Flag)}
    plan = dn.Plan(schema, {NASTY[0]: dn.Public()}, epsilon=60.0)
    return dn.count(dn.randomize(records, plan, rng=rng), order=2)


PAGES = {
    "usual": lambda: survey(20_000),
    "few reports": lambda: survey(30, epsilon=3.0),
    "one report": lambda: survey(1),
    "nasty names": nasty,
}


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES.keys())
def any_page(request: pytest.FixtureRequest) -> str:
    return page.page(request.param(), title="<b>Title</b> & {{ more }}")


# -- form --------------------------------------------------------------------------------------------------------------


def test_every_page_is_well_formed_and_stands_alone(any_page: str) -> None:
    root = read(any_page)
    assert any_page.lstrip().startswith("<!DOCTYPE html>")
    elements = root.all(*KNOWN, "script", "img", "b", "link", "iframe", "object")
    assert {element.tag for element in elements} <= KNOWN
    every = Counter(element.tag for element in elements)
    assert sum(every.values()) == len(re.findall(r"<[a-z]", any_page))  # there are no others
    assert every["html"] == every["main"] == every["header"] == every["footer"] == every["nav"] == every["h1"] == 1
    for element in elements:
        assert not {"src", "srcset", "action", "data", "background"} & set(element.attributes)
        assert not [name for name in element.attributes if name.startswith("on")]
        assert "url(" not in element.attributes.get("style", "")
    assert "@import" not in root.all("style")[0].text
    assert "url(" not in root.all("style")[0].text
    assert not re.search(r"https?:|//[a-z]", any_page)
    assert len(any_page.encode()) < 2_000_000


def test_every_page_can_be_walked_by_keyboard_and_ear(any_page: str) -> None:
    root = read(any_page)
    (page_itself,) = root.all("html")
    assert page_itself.attributes["lang"] == "en"
    ids = [element.attributes["id"] for element in root.all(*KNOWN) if "id" in element.attributes]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    for link in root.all("a"):
        assert link.attributes["href"].removeprefix("#") in ids
    for element in root.all(*KNOWN):
        for name in element.attributes.get("aria-labelledby", "").split():
            assert name in ids
    assert root.all("a")[0].attributes == {"class": "skip", "href": "#main"}
    levels = [int(heading.tag[1]) for heading in root.all("h1", "h2", "h3")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(heading.text.strip() for heading in root.all("h1", "h2", "h3"))
    for svg in root.all("svg"):
        assert svg.attributes["role"] == "img"
        assert [child.tag for child in svg.children if isinstance(child, Element)][:2] == ["title", "desc"]
    for table in root.all("table"):
        assert table.all("caption")[0].text.strip()
        columns = table.all("thead")[0].all("th")
        assert all(head.attributes["scope"] == "col" and head.text for head in columns)
        for row in table.all("tbody")[0].all("tr"):
            assert len(row.all("th", "td")) == len(columns)
            assert row.all("th")[0].attributes["scope"] == "row"


def test_every_chart_has_a_table_under_it(any_page: str) -> None:
    figures = read(any_page).all("figure")
    assert figures
    for figure in figures:
        kinds = [child.tag for child in figure.children if isinstance(child, Element)]
        assert kinds[:3] == ["h3", "p", "svg"]
        assert kinds[-1] == "details"
        assert figure.all("tbody")[0].all("tr")


def test_light_dark_and_paper_have_enough_contrast(html: str) -> None:
    style = read(html).all("style")[0].text
    assert "@media print" in style
    light, dark = re.findall(r":root \{(.*?)\}", style, re.S)
    assert re.search(r"@media screen and \(prefers-color-scheme: dark\) \{\s*:root", style)
    for scheme in (light, dark):
        colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", scheme))
        assert set(charts.COLOURS.values()) <= set(colours)
        for text, ground in (
            ("ink", "paper"),
            ("soft", "paper"),
            ("link", "paper"),
            ("ink", "panel"),
            ("alarm", "alarm-paper"),
        ):
            assert contrast(colours[f"--{text}"], colours[f"--{ground}"]) >= 4.5, (text, ground)
        for mark, ground in (
            ("mark", "paper"),
            ("against", "paper"),
            ("mark", "bar"),
            ("mark", "cell"),
            ("ink", "mark"),
        ):
            assert contrast(colours[f"--{mark}"], colours[f"--{ground}"]) >= (1.8 if ground == "mark" else 3), (
                mark,
                ground,
            )


def contrast(one: str, other: str) -> float:
    """Of two colours, as the guidelines for accessible pages define it."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([light(one), light(other)])
    return (high + 0.05) / (low + 0.05)


def test_charts_have_no_colours_of_their_own(root: Element) -> None:
    for svg in root.all("svg"):
        for element in svg.all("path", "text"):
            assert not re.search(r"#[0-9a-f]{3}|rgb|black|white", element.attributes["style"])
            assert "font-family" not in element.attributes["style"]
    used = {
        colour
        for svg in root.all("svg")
        for e in svg.all("path", "text")
        for colour in re.findall(r"--\w+", e.attributes["style"])
    }
    assert {"--mark", "--against", "--ink", "--soft", "--bar", "--cell"} <= used


# -- content -----------------------------------------------------------------------------------------------------------


def numbers(row: Element) -> list[float]:
    return [float(data.attributes["value"]) for data in row.all("data")]


def figure_of(root: Element, heading: str) -> Element:
    (found,) = [figure for figure in root.all("figure") if figure.all("h3")[0].text == heading]
    return found


def rows_of(figure: Element) -> dict[tuple[str, ...], list[float]]:
    """Words and numbers of each row."""
    found = {}
    for row in figure.all("tbody")[0].all("tr"):
        words = tuple(cell.text for cell in row.all("th", "td") if not cell.all("data"))
        found[words] = numbers(row)
    return found


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


def test_bars_and_intervals_are_drawn_to_scale() -> None:
    """From the picture alone, by its ticks, the numbers can be read back."""
    values = [(0.3, 0.25, 0.36), (0.5, 0.41, 0.56), (-0.02, -0.1, 0.05)]
    rows = [Row(f"row {k}", "", *numbers, "x") for k, numbers in enumerate(values)]
    svg = read(charts.intervals(rows, name="c", title="t", about="a", percent=False)).all("svg")[0]
    ticks = {
        float(text.text.replace("−", "-")): float(text.attributes["x"])
        for text in svg.all("text")
        if "middle" in text.attributes["style"]
    }
    (a, x), (b, y) = min(ticks.items()), max(ticks.items())
    back = lambda place: a + (b - a) * (place - x) / (y - x)  # noqa: E731
    lines = [element for element in svg.all("path") if "stroke-width: 4" in element.attributes["style"]]
    found = [[back(float(place)) for place in re.findall(r"[ML] ([\d.]+)", line.attributes["d"])] for line in lines]
    assert found == [pytest.approx([low, high], abs=1e-4) for _, low, high in values]
    strokes = [element for element in svg.all("path") if "stroke-width: 1.4" in element.attributes["style"]]
    assert [back(float(re.findall(r"M ([\d.]+)", one.attributes["d"])[0])) for one in strokes] == pytest.approx(
        [value for value, _, _ in values], abs=1e-4
    )


def test_pairs_and_shares_within_groups_are_what_the_library_says(root: Element, counts: dn.Counts) -> None:
    told = dn.associations(counts).to_pylist()
    expected = {
        (f"{row['first']} × {row['second']}", row["measure"]): pytest.approx(
            [row[k] for k in ("effect", "low", "high", "fdr")]
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
    assert stats["of 15 pairs go together, by a test with 5 % false discoveries"] == str(len(sure))
    assert stats["reports"] == "20,000"
    assert stats["things that need more reports"] == "0"
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
    pair = Pair("a", "b", "correlation", 0.1, 0.01, 0.19, p_value=0.03, fdr=0.2)
    assert pair.enough
    assert not pair.sure
    assert replace(pair, fdr=0.04).sure
    assert not replace(pair, fdr=0.04, low=np.nan).sure
    chart = ranked([replace(pair, fdr=0.04), pair])
    assert chart is not None
    assert chart.caption.startswith("1 of 2 pairs go together")
    shown = [text.attributes["style"] for text in read(chart.svg).all("text") if "0.10" in text.text]
    assert [re.findall(r"--\w+", style) for style in shown] == [["--ink"], ["--soft"]]
    assert ranked([replace(pair, low=np.nan)]) is None


def test_few_reports_give_words_and_no_numbers() -> None:
    counts = survey(30, epsilon=3.0)
    root = read(page.page(counts))
    for figure in root.all("figure"):
        for row in figure.all("tbody")[0].all("tr"):
            assert len(row.all("data")) in (3, 4) or "not enough reports" in row.text
            assert not row.all("data") or "not enough reports" not in row.text
    for row in dn.associations(counts).to_pylist():
        if np.isnan(row["low"]) or np.isnan(row["fdr"]):
            label = f"{row['first']} × {row['second']}"
            every = rows_of(figure_of(root, "Every pair of questions"))
            assert every[label, row["measure"], "not enough reports", "", "", ""] == []
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


def test_a_title_of_broken_letters_is_shown_as_far_as_it_can_be() -> None:
    assert "caf? now" in page.page(survey(100), title="caf\udce9 now")


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


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_stay_text_wherever_they_stand() -> None:
    root = read(page.page(nasty(), title=NASTY[0]))
    assert root.all("title")[0].text == root.all("h1")[0].text == NASTY[0]
    first = rows_of(root.all("figure")[0])
    assert [words[0] for words in first] == [name.replace("\uffff", "\uffff") for name in NASTY]
    drawn = "\n".join(text.text for svg in root.all("svg") for text in svg.all("text"))
    for name in ("$x^2$ & \"q\" 'q'", "{{ 7 * 7 }}{% raw %}", "日本語 🎈", "<script>alert(1)</script>", "a\ufffdb"):
        assert name in drawn
    assert "very long very long" in drawn
    assert "49" not in [text.text for text in root.all("text")]
    assert '#010101 url(#m) id="x"' in drawn  # not taken for a colour, a reference or an id


def test_text_that_turns_does_not_turn_the_numbers() -> None:
    root = read(page.page(nasty()))
    for paragraph in root.all("p", "h3", "li", "caption", "title", "desc"):
        opened = 0
        for letter in paragraph.text:
            opened += {"\u2068": 1, "\u2069": -1}.get(letter, 0)
            assert opened in (0, 1)
            assert opened or letter not in "\u202eשלום", paragraph.text
        assert opened == 0


# -- size --------------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(page, "TRIED", 30)
    monkeypatch.setattr(together, "TRIED", 30)
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


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_awkward_plans_have_pages(plan: dn.Plan) -> None:
    rng = np.random.default_rng(1)
    codes = [rng.integers(feature.levels, size=400) for feature in plan.schema]
    reports = randomize_codes(codes, plan, seeded(rng))
    counts = dn.count(reports, order=min(2, len(plan.schema)))
    html = page.page(counts)
    read(html)
    assert len(html.encode()) < 2_000_000


# -- the same, and safely ----------------------------------------------------------------------------------------------


def test_the_same_counts_give_the_same_bytes(html: str, counts: dn.Counts, tmp_path: Path) -> None:
    assert page.page(counts, title="A title") == html
    counts.save(tmp_path / "c.npz")
    code = "import deniable as dn; from deniable.page.page import write_page; "
    code += "write_page(dn.Counts.load('c.npz'), 'r.html', title='A title')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": "7"}, check=True)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == html


def test_the_command_makes_the_page_from_reports_or_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0)
    dn.randomize({"a": [True, False] * 300, "b": [True] * 600}, plan).save("r.parquet")
    assert main(["count", "r.parquet", "--order", "2", "-o", "c.npz"]) == 0
    capsys.readouterr()
    assert main(["report", "r.parquet", "-o", "one.html", "--title", "<T>", "--level", "0.9"]) == 0
    assert capsys.readouterr() == ("", "600 reports told of in one.html.\n")
    assert main(["report", "--counts", "c.npz", "-o", "two.html", "--title", "<T>", "--level", "0.9"]) == 0
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()
    root = read(Path("one.html").read_text(encoding="utf-8"))
    assert root.all("title")[0].text == "<T>"
    row = dn.estimate(dn.Counts.load("c.npz"), ["a"]).about("population").table(level=0.9).to_pylist()[1]
    assert rows_of(figure_of(root, "Yes or no"))["a",] == pytest.approx([row["proportion"], row["low"], row["high"]])
    assert "90 % interval" in root.text


FAILURES = {
    "no reports": (["none.parquet"], "none.parquet: no such file"),
    "no counts": (["--counts", "none.npz"], "none.npz: cannot be read"),
    "no folder": (["r.parquet", "-o", "none/r.html"], "there is no folder"),
    "over its input": (["r.parquet", "-o", "r.parquet"], "would be written over"),
    "over its counts": (["--counts", "c.npz", "-o", "c.npz"], "would be written over"),
    "one table alone": (
        ["--counts", "single.npz"],
        "a report needs every pair of features, as `deniable count --order 2`",
    ),
    "nobody": (["--counts", "nobody.npz"], "there are no reports"),
    "level": (["r.parquet", "--level", "95"], "a level of confidence is between 0 and 1"),
}


@pytest.mark.parametrize(("arguments", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0)
    reports = dn.randomize({"a": [True], "b": [True]}, plan)
    reports.save("r.parquet")
    dn.count(reports, order=2).save("c.npz")
    dn.count(reports, [["a"], ["b"]]).save("single.npz")
    dn.Counts(plan, {("a", "b"): [[0, 0], [0, 0]]}).save("nobody.npz")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["report", *arguments, *([] if "-o" in arguments else ["-o", "r.html"])]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "arguments", [["-o", "r.html"], ["r.parquet", "--counts", "c.npz", "-o", "r.html"], ["r.parquet"]]
)
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["report", *arguments])
    assert exit_.value.code == 2
    assert "usage: deniable report" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("command", [["report", "--counts", "c.npz", "-o", "r.html"], ["demo", "-o", "r.html"]])
def test_what_is_not_installed_is_named(
    missing: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(command) == 1
    assert f"needs {missing}; install it with: pip install 'deniable[report]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_old_page_stays_if_the_new_one_fails(
    counts: dn.Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(charts, "heat_map", fail)
    with pytest.raises(KeyboardInterrupt):
        write_page(counts, path)
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "old"
    with pytest.raises(dn.EstimateError, match="a report is made of counts"):
        write_page("counts.npz", path)  # type: ignore[arg-type]
