"""The page on a telephone and on a desk: pictures and tables fit, with the numbers at their right, and can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.page.page import write_page
from tests.support.collect.browsing import chromium, visit
from tests.support.javascript import CHROMIUM
from tests.support.pages import nasty, survey

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
# What is seen of each text of a picture: its left and right end, the height of its letters, and the width there is.
TEXTS = """() => [...document.querySelectorAll(".chart text")].map(text => {
    const box = text.getBoundingClientRect();
    const scale = text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize);
    return [box.left, box.right, scale, document.documentElement.clientWidth];
})"""
# How much wider each table is than the room it has, and how many lines more than
# one for 20 letters the names of its rows take at most.
TABLES = """() => {
    document.querySelectorAll("details").forEach(one => one.open = true);
    return [...document.querySelectorAll(".scroll")].map(one => {
        const lines = [...one.querySelectorAll("tbody th")].map(
            cell => cell.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight)
                - cell.textContent.length / 20);
        return [one.getAttribute("aria-label"), one.scrollWidth - one.clientWidth, Math.max(0, ...lines)];
    });
}"""
LONG = "Do you smoke cigarettes, cigars or a pipe at least once per week, or did you in the past twelve months?"
SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", label=LONG),
        dn.Flag("drinker", label=LONG.replace("smoke cigarettes, cigars or a pipe", "drink beer, wine or spirits")),
        dn.Choice("age", ["18-29", "30-64", "65+"], label="How old were you at your last birthday, in full years?"),
        dn.Choice("region", ["north", "south"]),
    ]
)


def long_questions() -> dn.Counts:
    """A survey of long questions with arms, made for a number of people."""
    truth = dn.simulate.truth(SCHEMA, {"smoker": 0.2, "drinker": 0.5, "age": [0.3, 0.4, 0.3], "region": [0.6, 0.4]})
    return dn.simulate.counts(truth, dn.design(SCHEMA, epsilon=3.0, n=9_000), 1, n=8_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as one:
        yield one


@pytest.mark.parametrize("wide", [360, 400])
@pytest.mark.parametrize("counts", [lambda: survey(20_000), nasty], ids=["usual", "nasty names"])
def test_pictures_fit_on_a_telephone(counts: Any, wide: int, browser: Any, tmp_path: Path) -> None:
    write_page(counts(), tmp_path / "page.html")
    with visit(browser, viewport={"width": wide, "height": 800}) as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        texts = page.evaluate(TEXTS)
        assert len(texts) > 20
        assert [one for one in texts if one[0] < -0.5 or one[1] > one[3] + 0.5] == []
        assert min(size for _, _, size, _ in texts) >= 7.5
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("wide", [400, 1000])
@pytest.mark.parametrize("counts", [lambda: survey(20_000), long_questions], ids=["usual", "long questions"])
def test_tables_fit_and_the_names_of_rows_take_few_lines(counts: Any, wide: int, browser: Any, tmp_path: Path) -> None:
    write_page(counts(), tmp_path / "page.html", show=["smoker | age"])
    with visit(browser, viewport={"width": wide, "height": 800}) as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        tables = page.evaluate(TABLES)
        assert len(tables) > 8
        assert [(name, over) for name, over, _ in tables if over > 0] == []
        assert [(name, lines) for name, _, lines in tables if lines > 3] == []
