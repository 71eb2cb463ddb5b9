from math import nan

import pytest

from deniable.text.fixed_phrases import influence_in_words


@pytest.mark.parametrize(
    ("influence", "span", "words"),
    [
        (0.0191, 1.0, ", ±0.019 if 1% are crafted"),
        (0.999, 1.0, ", ±1 if 1% are crafted"),
        (1.0, 1.0, ", any value if 1% are crafted"),
        (1.5, 2.0, ", ±1.5 if 1% are crafted"),
        (nan, 1.0, ""),
    ],
)
def test_what_is_moved_beyond_all_that_it_can_be_may_have_any_value(influence: float, span: float, words: str) -> None:
    assert influence_in_words(influence, span) == words
