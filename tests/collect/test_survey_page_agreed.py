"""The survey page in a real Chromium: what a link says was agreed to, and surveys that are something else."""

from collections.abc import Iterator
from typing import Any

import pytest

import deniable as dn
from deniable.collect.signatures import Signature, sign
from spec.make_signatures import KEY, OTHER
from tests.support.collect.browsing import chromium, visit
from tests.support.collect.served import Served
from tests.support.javascript import CHROMIUM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="THE SURVEY PAGE'S LINKS ARE NOT TESTED: there is no Chromium here"),
]
SCHEMA = dn.Schema([dn.Flag("smoker")])
AGREED, SWAPPED, LARGE = dn.Plan(SCHEMA, epsilon=1.0), dn.Plan(SCHEMA, epsilon=6.0), dn.Plan(SCHEMA, epsilon=9.0)
SIGNED, BY_OTHER = sign(AGREED.fingerprint, KEY), sign(AGREED.fingerprint, OTHER)


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with chromium() as browser, visit(browser) as context:
        yield context


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("agreed") / "survey.db"
    with Served(path, [AGREED.to_json()], signatures={AGREED.fingerprint: SIGNED.to_json()}) as served:
        yield served


def shown(context: Any, url: str, plan: dn.Plan | None = None, signature: str | None = None) -> str:
    """The words of the page that a link opens, and that nothing was sent; a plan or a signature may be swapped."""
    page = context.new_page()
    put: list[str] = []
    page.on("request", lambda request: put.append(request.method))
    if plan is not None:
        page.route("**/plan.json", lambda route: route.fulfill(body=plan.to_json()))
    if signature is not None:
        page.route("**/*.sig", lambda route: route.fulfill(body=signature))
    page.goto(url)
    page.locator("h1").wait_for()
    words = str(page.locator("main").inner_text())
    page.close()
    assert set(put) == {"GET"}
    return words


BEGINS, MORE, UNSIGNED = "Before you begin", "would give away more than was agreed to", "not signed with the key"
UNCLEAR, MISPLACED = "does not understand a part of your link", "before the #, where this page does not read it"
SHOWN, NO_WAVES = "would send answers as they are, without protection", "this survey does not keep answers"


@pytest.mark.parametrize(
    ("link", "plan", "words"),
    [
        ("", None, BEGINS),
        ("#epsilon=1", None, BEGINS),
        ("#epsilon=1.5", SWAPPED, MORE),
        ("#epsilon=0.99", None, MORE),
        ("#epsilon=0.9999", None, "an epsilon of 1.00, where your link allows at most 0.9999"),
        ("#epsilon=", None, UNCLEAR),
        ("#epsilon=1e9", None, UNCLEAR),
        ("#epsilon=Infinity", SWAPPED, UNCLEAR),
        ("", SWAPPED, BEGINS),
        ("", LARGE, MORE),
        ("#epsilon=9", LARGE, BEGINS),
    ],
)
def test_a_link_can_state_the_most_that_was_agreed_to(
    served: Served, context: Any, link: str, plan: dn.Plan | None, words: str
) -> None:
    """Without a ceiling in the link, a collector can swap the plan for another one up to 8: that is the control."""
    assert words in shown(context, f"{served.url}/{link}", plan)


@pytest.mark.parametrize(
    ("key", "plan", "signature", "words"),
    [
        (SIGNED.key, None, None, BEGINS),
        (BY_OTHER.key, None, None, UNSIGNED),
        (SIGNED.key, None, BY_OTHER.to_json(), UNSIGNED),
        (SIGNED.key, None, Signature(SIGNED.key, BY_OTHER.signature).to_json(), UNSIGNED),
        (SIGNED.key, SWAPPED, None, UNSIGNED),
        (SIGNED.key, SWAPPED, SIGNED.to_json(), UNSIGNED),
        (SIGNED.key, None, "", UNSIGNED),
        (SIGNED.key[:-1], None, None, UNSIGNED),
        ("0", None, None, UNSIGNED),
    ],
)
def test_a_link_can_name_the_key_that_signed_the_plan(
    served: Served, context: Any, key: str, plan: dn.Plan | None, signature: str | None, words: str
) -> None:
    assert words in shown(context, f"{served.url}/#key={key}", plan, signature)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("#invitation=x&epsilon=2", BEGINS),
        ("?lang=en&utm_source=mail&farm=1#invitation=x&epsilon=2", BEGINS),
        ("#invitation=x&epsil", UNCLEAR),
        ("#invitation=x&ke", UNCLEAR),
        ("#invitation=x&amp;epsilon=2", UNCLEAR),
        ("#invitation=x%26epsilon=2", UNCLEAR),
        ("#invitation=x%2526epsilon%253D2", UNCLEAR),
        ("#invitation=x;epsilon=2", UNCLEAR),
        ("#invitation=x.", UNCLEAR),
        ("#invitation=", UNCLEAR),
        ("#arm=a%26epsilon=2", UNCLEAR),
        ("#Plan=x", UNCLEAR),
        ("#epsilon=1&epsilon=2", UNCLEAR),
        ("#key=", UNCLEAR),
        (f"#{AGREED.fingerprint}", UNCLEAR),
        ("?epsilon=2", MISPLACED),
        ("?Plan=x", MISPLACED),
        ("?lang=en&amp;epsilon=2", MISPLACED),
        ("?lang=en%26epsilon=2", MISPLACED),
        ("#wave=february", NO_WAVES),
        ("#invitation=x&wave=february", NO_WAVES),
    ],
)
def test_what_cannot_be_read_in_a_link_is_refused(served: Served, context: Any, link: str, words: str) -> None:
    """A pin that falls away silently would let through whatever it was to stop."""
    assert words in shown(context, f"{served.url}/{link}")


TWO = dn.Schema([dn.Flag("smoker"), dn.Choice("home, now", ["north", "south"])])
OPEN = dn.Plan(TWO, {"home, now": dn.Public()}, epsilon=1.0)
ALL_OPEN = dn.Plan(TWO, {"home, now": dn.Public(), "smoker": dn.Public()})


@pytest.mark.parametrize(
    ("link", "plan", "words"),
    [
        ("", OPEN, BEGINS),
        ("#epsilon=1", OPEN, f'{SHOWN}, that your link does not name: "home, now".'),
        ("#public=", OPEN, SHOWN),
        ("#public=smoker", OPEN, SHOWN),
        ("#epsilon=1&public=home,%20now", OPEN, BEGINS),
        ("#epsilon=1&public=smoker,home%2C%20now", OPEN, BEGINS),
        ("#public=", None, BEGINS),
        ("", ALL_OPEN, BEGINS),
        ("#epsilon=0.01", ALL_OPEN, f'{SHOWN}, that your link does not name: "smoker", "home, now".'),
        (f"#key={SIGNED.key}", ALL_OPEN, SHOWN),
    ],
)
def test_a_link_can_name_the_columns_that_are_sent_as_they_are(
    served: Served, context: Any, link: str, plan: dn.Plan | None, words: str
) -> None:
    """An epsilon says nothing of what is public: a plan in which everything is has an epsilon of 0."""
    assert words in shown(context, f"{served.url}/{link}", plan)
