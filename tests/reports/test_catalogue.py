"""A catalogue of planted privacy bugs: the checks that look at real randomness catch every one of them."""

import pytest

from tests.support.planted import CATALOGUE
from tests.support.planting import Bug, planted
from tests.support.watching import CHECKS

# So many planted bugs the catalogue has at least.
LEAST = 60


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_without_a_bug_nothing_is_found(check: object) -> None:
    assert callable(check)
    check()


def test_the_catalogue_is_long_and_no_bug_stands_in_it_twice() -> None:
    assert len(CATALOGUE) >= LEAST
    assert len(set(CATALOGUE.values())) == len(CATALOGUE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug",
    [  # one of six with every change, all of them at night
        pytest.param(bug, id=title, marks=[pytest.mark.nightly] * (number % 6 > 0))
        for number, (title, bug) in enumerate(CATALOGUE.items())
    ],
)
def test_every_planted_bug_is_caught(bug: Bug) -> None:
    with planted(bug):
        found = caught_by()
    assert found, "no check noticed it"
    CHECKS[found]()  # and nothing of it is left afterwards


def caught_by() -> str:
    """The first check that fails, or nothing."""
    for title, check in CHECKS.items():
        try:
            check()
        except (NameError, ImportError):  # the planted text itself is wrong, which proves nothing
            raise
        except Exception:
            return title
    return ""
