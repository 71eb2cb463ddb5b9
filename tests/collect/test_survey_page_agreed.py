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


BEGINS, MORE, UNSIGNED = "Before you begin", "would give away more than was agreed to", "whose key your link names"
UNCLEAR = "does not say clearly how much"


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
        ("", None, None, UNSIGNED),
    ],
)
def test_a_link_can_name_the_key_that_signed_the_plan(
    served: Served, context: Any, key: str, plan: dn.Plan | None, signature: str | None, words: str
) -> None:
    assert words in shown(context, f"{served.url}/#key={key}", plan, signature)
