from math import nan

import pytest

from deniable.text.fixed_phrases import forged_in_words, how_many, influence_in_words


@pytest.mark.parametrize(
    ("influence", "span", "words"),
    [
        (0.0191, 1.0, "could move by up to 0.019"),
        (0.999, 1.0, "could move by up to 1"),
        (1.0, 1.0, "could be moved anywhere"),
        (1.5, 2.0, "could move by up to 1.5"),
    ],
)
def test_what_is_moved_further_than_it_can_be_is_moved_anywhere(influence: float, span: float, words: str) -> None:
    assert influence_in_words(influence, span) == f"; if 1% of the reports were forged, it {words}"
    assert forged_in_words(influence, "a mean", span) == f"If 1% of the reports were forged, a mean {words}."


def test_what_is_unknown_is_not_said() -> None:
    assert influence_in_words(nan) == forged_in_words(nan) == ""


def test_one_thing_is_not_several() -> None:
    assert [how_many(n, "report") for n in (0, 1, 2, 20_000)] == [
        "0 reports",
        "1 report",
        "2 reports",
        "20,000 reports",
    ]
