"""The page on a telephone: pictures fit with the numbers at their right, and can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
