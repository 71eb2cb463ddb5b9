"""Cells of tables in words: probabilities, and answers to flags."""

import pytest

from deniable.tables.rows_in_words import in_words

ENDS = ("low", "high")


@pytest.mark.parametrize("name", ["p_value", "p_holm", "fdr"])
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0312, "0.031"), (4.56e-7, "4.6e-07"), (1e-12, "<1e-12"), (3e-233, "<1e-12"), (0.0, "<1e-12"), (1.0, "1")],
)
def test_probabilities_have_two_digits_and_a_least(name: str, value: float, text: str) -> None:
    assert in_words([{name: value}], [name], ENDS).rows == [[text]]


def test_other_numbers_have_four_decimals_and_flags_yes_and_no() -> None:
    rows = [{"smoker": True, "proportion": 3e-13}, {"smoker": False, "proportion": 0.25}]
    assert in_words(rows, ["smoker", "proportion"], ENDS).rows == [["yes", "0.0000"], ["no", "0.2500"]]
