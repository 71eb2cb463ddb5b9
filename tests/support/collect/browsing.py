"""The survey page in a real Chromium: a survey of every kind of question, and a hand that answers it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import Any

import deniable as dn
from tests.support.javascript import CHROMIUM, FLAGS

# Every answer has a text of its own, that can be searched for in all that is sent and kept.
SCHEMA = dn.Schema(
    [
        dn.Choice("region", ["north-zq", "south-zq"], label="Where do you live?"),
        dn.Flag("smoker", label="Do you smoke?", help="Cigars and pipes, too."),
        dn.Choice(
            "age", ["young-zq", "old-zq", "refused-zq"], missing="refused-zq", label="How old are you?",
            labels={"old-zq": "65 or older", "refused-zq": "I would rather not say"},
        ),
        dn.Flags("drinks", ["tea-zq", "beer-zq", "rum-zq"], label="What do you drink?", labels={"tea-zq": "Tea"}),
        dn.Choice.bins("income", [0, 10, 20, inf], label="What do you earn?", help="In thousands a year."),
        dn.Choice("town", [f"town-zq-{i}" for i in range(30)], label="Which town is nearest?"),
    ]
)  # fmt: skip
PLAN = dn.Plan(SCHEMA, {"region": dn.Public(), "town": dn.LocalHashing(epsilon=1.0, buckets=3)}, epsilon=4.0)
ARMS = dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=2.0, arms=[["smoker", "age", "drinks"], ["income", "town"]])
NAMES = {
    "region": "Where do you live?",
    "smoker": "Do you smoke?",
    "age": "How old are you?",
    "drinks": "What do you drink?",
    "income": "What do you earn?",
    "town": "Which town is nearest?",
}


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        yield browser
        browser.close()


@contextmanager
def visit(browser: Any, **options: Any) -> Iterator[Any]:
    """A new context of a browser, which keeps nothing of others."""
    with browser.new_context(**({"locale": "en-US"} | options)) as context:
        context.set_default_timeout(10_000)
        yield context


ANSWERS: Mapping[str, tuple[str, str]] = {
    "region": ("radio", "south-zq"),
    "smoker": ("radio", "Yes"),
    "age": ("radio", "65 or older"),
    "drinks": ("checkbox", "rum-zq"),
    "income": ("radio", "10 to under 20"),
    "town": ("option", "town-zq-7"),
}


def answer(page: Any, name: str) -> None:
    """Answer one question of the form as a respondent does, by what is to be read there."""
    role, text = ANSWERS[name]
    group = page.locator("fieldset").filter(has=page.locator("legend", has_text=NAMES[name]))
    if role == "option":
        group.get_by_role("combobox").select_option(label=text)
    else:
        group.get_by_role(role, name=text, exact=True).check()


def asked(page: Any) -> list[str]:
    """The names of the questions that the form asks."""
    legends = page.locator("legend").all_inner_texts()
    return [name for name, legend in NAMES.items() if legend in legends]


def fill(page: Any) -> list[str]:
    """Begin, answer everything that is asked, and make the report; gives what was asked."""
    page.get_by_role("button", name="Begin").click()
    names = asked(page)
    for name in names:
        answer(page, name)
    page.get_by_role("button", name="Make my report").click()
    page.get_by_role("heading", name="What leaves your device").wait_for()
    return names


KEPT = """async () => {
  const settled = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await settled(indexedDB.open("deniable", 1));
  const store = database.transaction("reports").objectStore("reports");
  const found = await Promise.all([settled(store.getAllKeys()), settled(store.getAll())]);
  database.close();
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const shown = ({ report, ...others }) => ({ ...others, ...(report && { report: hex(report) }) });
  return found[0].map((key, at) => [key, shown(found[1][at])]);
}"""


def kept(page: Any) -> dict[str, dict[str, Any]]:
    """All that the page keeps in this browser, by key."""
    everything = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert page.evaluate(everything) == [0, 0, ""]
    return dict(page.evaluate(KEPT))
