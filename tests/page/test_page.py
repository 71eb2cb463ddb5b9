"""The page, read as a browser, a screen reader and a sceptic would."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.charts import association_map
from deniable.charts.drawing import COLOURS
from deniable.page import page
from deniable.page.page import write_page
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import seeded
from tests.support.pages import DESIGNS, KNOWN, NASTY, Element, design, nasty, nasty_arms, read, rows_of, survey
from tests.support.situations import PLANS

PAGES = {
    "usual": lambda: survey(20_000),
    "few reports": lambda: survey(30, epsilon=3.0),
    "one report": lambda: survey(1),
    "nasty names": nasty,
    "nasty names of arms": nasty_arms,
} | {name: lambda plan=plan: dn.count(design(plan, 4_000)) for name, plan in DESIGNS.items()}


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES.keys())
def any_page(request: pytest.FixtureRequest) -> str:
    return page.page(request.param(), title="<b>Title</b> & {{ more }}")


def test_every_page_is_well_formed_and_stands_alone(any_page: str) -> None:
    root = read(any_page)
    assert any_page.lstrip().startswith("<!DOCTYPE html>")
    elements = root.all(*KNOWN, "script", "img", "b", "link", "iframe", "object")
    assert {element.tag for element in elements} <= KNOWN | {"script"}
    (data,) = root.all("script")  # which browsers do not run
    assert data.attributes == {"type": "application/json", "id": "numbers"}
    assert json.loads(data.text)["about"] == "population"
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
    (policy,) = [one for one in root.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert "script-src" not in policy.attributes["content"]  # so that none runs
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
        assert kinds[:3] == ["h3", "p", "div"]
        assert figure.all("div")[0].children[0] is figure.all("svg")[0]
        assert kinds[-1] == "details"
        assert figure.all("tbody")[0].all("tr")


def test_light_dark_and_paper_have_enough_contrast(html: str) -> None:
    style = read(html).all("style")[0].text
    assert "@media print" in style
    light, dark = re.findall(r":root \{(.*?)\}", style, re.S)
    assert re.search(r"@media screen and \(prefers-color-scheme: dark\) \{\s*:root", style)
    for scheme in (light, dark):
        colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", scheme))
        assert set(COLOURS.values()) <= set(colours)
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


def test_a_title_of_broken_letters_is_shown_as_far_as_it_can_be() -> None:
    assert "caf? now" in page.page(survey(100), title="caf\udce9 now")


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


@pytest.mark.parametrize("counts", [nasty, nasty_arms])
def test_text_that_turns_does_not_turn_the_numbers(counts: Callable[[], dn.Counts]) -> None:
    root = read(page.page(counts()))
    for paragraph in root.all("p", "h3", "li", "caption", "title", "desc"):
        opened = 0
        for letter in paragraph.text:
            opened += {"\u2068": 1, "\u2069": -1}.get(letter, 0)
            assert opened in (0, 1)
            assert opened or letter not in "\u2067שלום", paragraph.text
        assert opened == 0


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_awkward_plans_have_pages(plan: dn.Plan) -> None:
    rng = np.random.default_rng(1)
    codes = [rng.integers(feature.levels, size=400) for feature in plan.schema]
    reports = randomize_codes(codes, plan, seeded(rng))
    counts = dn.count(reports, order=min(2, len(plan.schema)))
    html = page.page(counts)
    read(html)
    assert len(html.encode()) < 2_000_000


@pytest.mark.slow
def test_the_same_counts_give_the_same_bytes(html: str, counts: dn.Counts, tmp_path: Path) -> None:
    assert page.page(counts, title="A title") == html
    counts.save(tmp_path / "c.npz")
    code = "import deniable as dn; from deniable.page.page import write_page; "
    code += "write_page(dn.Counts.load('c.npz'), 'r.html', title='A title')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": "7"}, check=True)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == html


def test_an_old_page_stays_if_the_new_one_fails(
    counts: dn.Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(association_map, "draw", fail)
    with pytest.raises(KeyboardInterrupt):
        write_page(counts, path)
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "old"
    with pytest.raises(dn.EstimateError, match="the page needs counts"):
        write_page(7, path)
    with pytest.raises(dn.DeniableError, match=r"r.pdf: a page is written to an HTML file; call it r.html"):
        write_page(counts, tmp_path / "r.pdf")
