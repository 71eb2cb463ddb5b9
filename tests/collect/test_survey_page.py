"""The survey page in a real Chromium: what it asks, what it keeps, what it sends, and that it does so once."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable import client
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.well_formed import ReportForm
from tests.support.collect.browsing import ANSWERS, ARMS, PLAN, answer, asked, chromium, fill, kept, visit
from tests.support.collect.processes import Process
from tests.support.collect.served import Served
from tests.support.javascript import CHROMIUM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="THE SURVEY PAGE IS NOT TESTED: there is no Chromium here; install Debian's package chromium",
    ),
]
ID_BYTES = 16
CHECKED = client.read(PLAN.to_json())
ZQ = "zq"  # Every answer of the survey has this in its text, and nothing else has.


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "survey.db", [PLAN.to_json()]) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    with visit(browser) as context:
        yield context


def opened(context: Any, url: str) -> Any:
    page = context.new_page()
    page.goto(url)
    return page


def heading(page: Any, name: str) -> None:
    page.get_by_role("heading", name=name).wait_for()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def sent(requests: list[Any]) -> list[tuple[str, bytes]]:
    """The reports among the requests: where they were put, and their bytes."""
    return [(one.url, one.post_data_buffer) for one in requests if one.method == "PUT"]


def test_a_respondent_clicks_through_a_real_survey(tmp_path: Path, context: Any) -> None:
    """Stored bytes are those that were shown; opening the page again sends the same; no answer is kept or sent."""
    with Process(tmp_path, plan=PLAN) as running:
        url = f"http://127.0.0.1:{running.port}/"
        requests: list[Any] = []
        errors: list[Any] = []
        context.on("request", lambda one: requests.append(one))
        context.on("weberror", lambda one: errors.append(one))
        page = opened(context, url)
        page.get_by_text("Your whole report can raise").wait_for()
        promises = page.locator(".promises li").all_inner_texts()
        assert "\n".join(promises) == client.promise(PLAN.to_json())
        assert fill(page) == [*ANSWERS]
        shown = page.locator("#bytes").inner_text().replace(" ", "")
        assert len(bytes.fromhex(shown)) == CHECKED.length
        assert sent(requests) == []
        press(page, "Send")
        heading(page, "Thank you")
        id = page.locator("#receipt").inner_text()
        press(page, "Is it stored?")
        page.get_by_text("Yes, a report with this number is stored").wait_for()

        page.reload()
        heading(page, "Thank you")
        again = opened(context, url)
        heading(again, "Thank you")
        assert sent(requests) == [(f"{url}reports/{id}", bytes.fromhex(shown))]  # what is stored is not sent again
        record = {"arm": "everybody", "id": id, "report": shown, "sent": True, "stored": True}
        assert kept(page) == {f"{PLAN.fingerprint} ": record}
        assert errors == []
        for one in requests:
            assert one.url.startswith(url)
            assert ZQ not in one.url + json.dumps(one.all_headers())
            assert one.post_data_buffer in (None, bytes.fromhex(shown))
        assert running.end()[0] == 0
    store = SqliteLog(tmp_path / "survey.db")
    (data,) = [data for part in store.parts() for data in store.read(part.number, 1)]
    store.close()
    assert data.hex() == id + shown
    assert ReportForm.of(CHECKED).fault(data[ID_BYTES:]) is None


def test_what_the_page_says_of_the_bytes_is_what_they_hold(served: Served, context: Any) -> None:
    """The first bit is the public answer, the second the flag's, the next two the age's, counted from the lowest."""
    page = opened(context, served.url)
    fill(page)
    bits = int.from_bytes(bytes.fromhex(page.locator("#bytes").inner_text().replace(" ", "")), "little")
    said = page.locator("#fields dd:nth-of-type(3n + 2)").all_inner_texts()
    assert said[0] == "Your report names: south-zq."
    assert bits & 1 == 1
    assert said[1] == f"Your report names: {['No', 'Yes'][bits >> 1 & 1]}."
    ages = ["young-zq", "65 or older", "I would rather not say"]
    assert said[2] == f"Your report names: {ages[bits >> 2 & 3]}."


@pytest.mark.parametrize(("draw", "arm"), [(0, 0), (255, 1)])
def test_the_arm_is_drawn_first_and_stays(tmp_path: Path, context: Any, draw: int, arm: int) -> None:
    names = [["region", "smoker", "age", "drinks"], ["region", "income", "town"]]
    fixed = f"crypto.getRandomValues = (array) => array.fill({draw})"
    with Served(tmp_path / "survey.db", [ARMS.to_json()]) as served:
        page = context.new_page()
        page.add_init_script(fixed)
        page.goto(served.url)
        press(page, "Begin")
        assert asked(page) == names[arm]
        other = context.new_page()  # by its own chance it might draw the other arm
        other.add_init_script(fixed.replace(str(draw), str(255 - draw)))
        for _ in range(2):
            other.goto(served.url)
            press(other, "Begin")
            assert asked(other) == names[arm]
            other.goto("about:blank")
        assert kept(page) == {f"{ARMS.fingerprint} ": {"arm": client.read(ARMS.to_json()).names[arm]}}


def test_two_tabs_make_one_report(served: Served, context: Any) -> None:
    tabs = [opened(context, served.url) for _ in range(3)]
    for page in tabs:
        page.bring_to_front()
        press(page, "Begin")
        for name in ANSWERS:
            answer(page, name)
    for page in tabs:
        page.evaluate("document.querySelector('form').requestSubmit()")
    for page in tabs:
        heading(page, "What leaves your device")
    assert len({page.locator("#bytes").inner_text() for page in tabs}) == 1
    for page in tabs:
        page.bring_to_front()
        press(page, "Send")
        heading(page, "Thank you")
    assert served.collector.writer.opened().total() == 1


def test_a_report_that_was_made_and_not_sent_is_shown_again_and_not_sent(served: Served, context: Any) -> None:
    requests: list[Any] = []
    page = opened(context, served.url)
    page.on("request", lambda one: requests.append(one))
    fill(page)
    before = page.locator("#bytes").inner_text()
    page.reload()
    heading(page, "What leaves your device")
    assert page.locator("#bytes").inner_text() == before
    assert sent(requests) == []


def test_only_what_the_plan_lets_people_skip_can_be_skipped(served: Served, context: Any) -> None:
    page = opened(context, served.url)
    press(page, "Begin")
    press(page, "Make my report")
    assert page.get_by_text("Please answer this question.").locator("visible=true").count() == len(ANSWERS) - 1
    assert page.evaluate("document.activeElement.closest('fieldset').querySelector('legend').textContent") == (
        "Where do you live?"
    )
    for name in ANSWERS:
        if name != "age":
            answer(page, name)
    assert [*kept(page).values()] == [{"arm": "everybody"}]  # though everything is answered
    press(page, "Make my report")
    heading(page, "What leaves your device")


def test_names_that_javascript_has_its_own_meaning_for_are_asked_like_others(tmp_path: Path, context: Any) -> None:
    schema = dn.Schema([dn.Flag("__proto__"), dn.Choice("toString", ["constructor", "b"], labels={"b": "Bee"})])
    with Served(tmp_path / "survey.db", [dn.Plan(schema, epsilon=2.0).to_json()]) as served:
        page = opened(context, served.url)
        press(page, "Begin")
        page.get_by_role("radio", name="Yes", exact=True).check()
        page.get_by_role("radio", name="constructor", exact=True).check()
        press(page, "Make my report")
        heading(page, "What leaves your device")


def test_none_of_these_excludes_the_others(served: Served, context: Any) -> None:
    page = opened(context, served.url)
    press(page, "Begin")
    boxes = page.get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("checkbox", name="None of these").check()
    assert [box.is_checked() for box in boxes.all()] == [False, False, False, True]
    boxes.nth(2).check()
    assert [box.is_checked() for box in boxes.all()] == [False, False, True, False]


def test_everything_can_be_done_by_keyboard_and_has_a_name(tmp_path: Path, context: Any) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"])]), epsilon=1.0)
    with Served(tmp_path / "survey.db", [plan.to_json()]) as served:
        page = opened(context, served.url)
        heading(page, "Before you begin")
        assert page.evaluate("document.activeElement.tagName") == "H1"
        for key in ("Tab", "Enter", "Tab", "Space", "Tab", "ArrowDown", "Tab", "Enter"):
            page.keyboard.press(key)
        heading(page, "What leaves your device")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        heading(page, "Thank you")


def test_every_control_has_a_name_that_is_read_aloud(served: Served, context: Any) -> None:
    page = opened(context, served.url)
    press(page, "Begin")
    told = page.locator("main").aria_snapshot()
    for line in ('radiogroup "Where do you live?"', 'group "What do you drink?"', 'radio "65 or older"',
                 'checkbox "rum-zq"', 'combobox "Which town is nearest?"', 'button "Make my report"'):  # fmt: skip
        assert line in told


# -- invitations, plans and errors -------------------------------------------------------------------------------------


def test_an_invitation_works_once_and_never_leaves_but_with_the_report(tmp_path: Path, browser: Any) -> None:
    with Served(tmp_path / "survey.db", [PLAN.to_json()], invited=True) as served:
        (token,) = served.http.post("/invitations", json={"count": 1}, headers=served.auth).text.split()
        for expected in ("Thank you", "This did not work"):
            requests: list[Any] = []
            with visit(browser) as context:
                context.on("request", lambda one: requests.append(one))
                page = opened(context, f"{served.url}/#invitation={token}")
                fill(page)
                assert not any(token in one.url + json.dumps(one.all_headers()) for one in requests)
                press(page, "Send")
                heading(page, expected)
                (put,) = [one for one in requests if one.method == "PUT"]
                assert put.all_headers()["deniable-invitation"] == token
                assert token not in put.url
                if expected == "This did not work":
                    assert "unknown or already used" in page.get_by_role("alert").inner_text()


def test_a_report_that_does_not_arrive_is_sent_again_the_same(served: Served, context: Any) -> None:
    page = context.new_page()
    page.clock.install()
    page.goto(served.url)
    tried: list[bytes] = []
    answers = iter(["abort", {"status": 503, "headers": {"retry-after": "7"}}, None])

    def give(route: Any) -> None:
        tried.append(route.request.post_data_buffer)
        match next(answers):
            case "abort":
                route.abort()
            case None:
                route.continue_()
            case response:
                route.fulfill(**response)

    page.route("**/reports/*", give)
    fill(page)
    press(page, "Send")
    for count in (1, 2):
        page.get_by_text("The same report is sent again in").wait_for()
        assert len(tried) == count
        page.clock.run_for(15_000)
    heading(page, "Thank you")
    assert len(tried) == 3
    assert len({*tried}) == 1


@pytest.mark.parametrize("seconds", ["-5", "1e9", "0", "Wed, 21 Oct 2037 07:28:00 GMT"])
def test_no_answer_makes_the_page_wait_for_ever_or_not_at_all(served: Served, context: Any, seconds: str) -> None:
    page = opened(context, served.url)
    page.route("**/reports/*", lambda route: route.fulfill(status=503, headers={"retry-after": seconds}))
    fill(page)
    press(page, "Send")
    waits = page.get_by_text("The same report is sent again in")
    waits.wait_for()
    (said,) = re.findall(r"in (\S+) seconds", waits.inner_text())
    assert 1 <= int(said) <= 600


@pytest.mark.parametrize(
    ("status", "words"),
    [(422, "is closed"), (409, "Another report is already stored"), (400, "refused the report (400)"), (413, "(413)")],
)
def test_refusals_are_said_in_words(served: Served, context: Any, status: int, words: str) -> None:
    page = opened(context, served.url)
    page.route("**/reports/*", lambda route: route.fulfill(status=status))
    fill(page)
    press(page, "Send")
    heading(page, "This did not work")
    assert words in page.get_by_role("alert").inner_text()


def test_a_link_can_name_its_plan(served: Served, context: Any) -> None:
    page = opened(context, f"{served.url}/#plan={PLAN.fingerprint}&public=region")
    heading(page, "Before you begin")
    page = opened(context, f"{served.url}/#plan={'0' * 64}")
    page.get_by_text("The version of the survey that your link names is closed.").wait_for()
    page = context.new_page()
    page.route("**/plans/*", lambda route: route.fulfill(body=ARMS.to_json()))  # a collector that gives another
    page.goto(f"{served.url}/#plan={PLAN.fingerprint}")
    page.get_by_text("The survey is not the one that your link names.").wait_for()
    page = context.new_page()
    page.route("**/plan.json", lambda route: route.fulfill(body=PLAN.to_json().replace("south-zq", "South-zq")))
    page.goto(served.url)
    page.get_by_text("the plan was changed").wait_for()


def test_an_assigned_arm_comes_with_the_link(tmp_path: Path, context: Any) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, arms=[["a"], ["b"]], assigned=True)
    with Served(tmp_path / "survey.db", [plan.to_json()]) as served:
        page = opened(context, served.url)
        page.get_by_text("does not say which questions are for you").wait_for()
        page.goto(f"{served.url}/#arm={client.read(plan.to_json()).names[1]}")
        press(page, "Begin")
        assert page.locator("legend").all_inner_texts() == ["b"]
        page.get_by_role("radio", name="Yes", exact=True).check()
        press(page, "Make my report")
        page.get_by_text("The set that you were invited to:").wait_for()


def test_who_comes_with_another_invitation_is_told_that_epsilon_adds_up(served: Served, context: Any) -> None:
    """It may be another person; if it is not, reports of one person give away their epsilons together."""
    asks = context.new_page()
    asks.goto(f"{served.url}/#invitation=first")
    heading(asks, "Before you begin")
    assert asks.locator("#others").count() == 0
    page = opened(context, f"{served.url}/#invitation=first")
    fill(page)
    press(page, "Send")
    page.get_by_text("This browser has made one report for this survey.").wait_for()
    page = opened(context, f"{served.url}/#invitation=second")
    heading(page, "Before you begin")
    told = page.locator("#others").inner_text()
    assert "by another link (reports so far: 1)" in told
    assert "One has an epsilon of up to 4; with another one it would be 8 in all" in told
    fill(page)
    press(page, "Send")
    heading(page, "Thank you")
    page.get_by_text("has made 2 reports for this survey, each by another link").wait_for()
    assert page.get_by_text("has made one report").count() == 0


def test_a_report_that_the_collector_has_lost_can_be_sent_again(served: Served, context: Any) -> None:
    page = opened(context, served.url)
    fill(page)
    press(page, "Send")
    heading(page, "Thank you")
    page.route("**/reports/*", lambda route: route.fulfill(status=404 if route.request.method == "HEAD" else 201))
    page.reload()
    press(page, "Is it stored?")
    with page.expect_request(lambda one: one.method == "PUT") as again:
        press(page, "Send")
    assert again.value.url.endswith(page.locator("#receipt").inner_text())


# -- what the page may do, and how it looks ----------------------------------------------------------------------------


def test_the_page_may_run_no_code_but_its_own_and_call_nobody(served: Served, context: Any) -> None:
    policy = served.http.get("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "script-src 'self'" in policy
    page = opened(context, served.url)
    heading(page, "Before you begin")
    tried = """async () => {
      const found = [];
      const script = document.createElement("script");
      try { script.textContent = "window.ran = true" } catch (error) { found.push(error.name) }
      document.head.append(script);
      const style = document.createElement("style");
      style.textContent = "h1 { position: fixed }";
      document.head.append(style);
      const called = await fetch("http://127.0.0.1:9/").catch((error) => error.name);
      return [found, window.ran ?? false, getComputedStyle(document.querySelector("h1")).position, called];
    }"""
    refused: list[Any] = []
    page.on("console", lambda message: refused.append(message.text))
    assert page.evaluate(tried) == [["TypeError"], False, "static", "TypeError"]
    assert any("connect-src" in text for text in refused)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_both_schemes(served: Served, browser: Any, scheme: str) -> None:
    fits = "document.documentElement.scrollWidth <= innerWidth"
    with visit(browser, viewport={"width": 400, "height": 700}, color_scheme=scheme) as context:
        page = opened(context, served.url)
        heading(page, "Before you begin")
        papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == papers[scheme]
        assert page.evaluate(fits)
        fill(page)
        assert page.evaluate(fits)
        press(page, "Send")
        heading(page, "Thank you")
        page.locator("summary").click()
        assert page.evaluate(fits)


def test_the_page_speaks_the_browsers_language_and_can_change_it(served: Served, browser: Any) -> None:
    with visit(browser, locale="de-AT") as context:
        page = opened(context, served.url)
        heading(page, "Bevor Sie beginnen")
        assert "Chance" not in page.locator(".promises").inner_text()
        press(page, "English")
        heading(page, "Before you begin")
        assert page.evaluate("document.documentElement.lang") == "en"
        fill(page)
        assert re.search(r"named \d+\.\d times in 100", page.locator("#fields").inner_text())
        press(page, "Deutsch")
        heading(page, "Was Ihr Gerät verlässt")
        assert re.search(r"in \d+,\d von 100", page.locator("#fields").inner_text())
