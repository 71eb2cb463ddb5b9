"""The survey page where a plan keeps answers: who comes back in another wave is asked nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable import client, keeping
from tests.support.collect.browsing import ARMS, PLAN, chromium, fill, visit
from tests.support.collect.served import Served
from tests.support.javascript import CHROMIUM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED IN A BROWSER: install Debian's package chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize("plan", [PLAN.keep(), ARMS.keep(1.0)], ids=["sent again", "two rounds in arms"])
def test_who_comes_back_sends_what_was_kept(plan: Any, tmp_path: Path, browser: Any) -> None:
    with Served(tmp_path / "survey.db", [plan.to_json()]) as served, visit(browser) as context:
        put: list[Any] = []
        context.on("request", lambda one: put.append(one) if one.method == "PUT" else None)
        page = context.new_page()
        page.goto(served.url)
        page.get_by_text("Asked again, this device sends what it kept").wait_for()
        fill(page)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        for wave in ("february", "march"):
            page = context.new_page()
            page.goto(f"{served.url}/#wave={wave}")
            page.get_by_role("heading", name="What leaves your device").wait_for()  # nothing is asked
            page.get_by_role("button", name="Send", exact=True).click()
            page.get_by_role("heading", name="Thank you").wait_for()
        page.reload()
        page.get_by_role("heading", name="Thank you").wait_for()
        page.get_by_text("asks you nothing, and makes its report from what it kept").wait_for()
        assert page.get_by_text("reports for this survey").count() == 0
    sent = [one.post_data_buffer for one in put]
    assert len({one.url for one in put}) == 3  # a number of its own for each wave
    assert len(sent) == 3  # what is stored is not sent again
    if plan.kept == client.SCALE:
        assert len({*sent}) == 1
    for one in sent:
        keeping.again(one, plan.to_json())  # it is a report of the plan, in the arm that was kept
        assert one[0] & (len(plan.arms) - 1) == sent[0][0] & (len(plan.arms) - 1)
