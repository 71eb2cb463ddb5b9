"""What tests of the page share: one survey's counts, its page, and the page read."""

import pytest

import deniable as dn
from deniable.page import page
from tests.support.pages import Element, read, survey


@pytest.fixture(scope="session")
def counts() -> dn.Counts:
    return survey(20_000)


@pytest.fixture(scope="session")
def html(counts: dn.Counts) -> str:
    return page.page(counts, title="A title")


@pytest.fixture(scope="session")
def root(html: str) -> Element:
    return read(html)
