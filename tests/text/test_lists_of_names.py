"""Names in one text with commas between them, some of which have commas in them."""

import csv

import pytest

from deniable.text.lists_of_names import listed_names, quotes_in_words

KNOWN = ("age", "All in all, how happy are you?", "All in all", "a+b", "Where, exactly", "Where")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age", ["age"]),
        ("age, Where", ["age", "Where"]),
        ("All in all, how happy are you?", ["All in all, how happy are you?"]),
        (
            "age,All in all, how happy are you?,Where, exactly",
            ["age", "All in all, how happy are you?", "Where, exactly"],
        ),
        ("Where, exactly , age", ["Where, exactly", "age"]),
        ('"Where, exactly",age', ["Where, exactly", "age"]),
        ("All in all,Where", ["All in all", "Where"]),
        ("sex,age", ["sex", "age"]),
        ("Where, exacly", ["Where", "exacly"]),
        ("", []),
    ],
)
def test_names_are_read_as_those_that_there_are(text: str, names: list[str]) -> None:
    assert listed_names(text, KNOWN) == names


def test_half_a_quote_is_an_error_and_a_broken_name_is_told_of() -> None:
    with pytest.raises(csv.Error):
        listed_names('"age', KNOWN)
    assert "in double quotes: '\"A, b\",C'" in quotes_in_words(["exactly", "sex"], KNOWN)
    assert quotes_in_words(["sex", "age", "Where"], KNOWN) == ""
    assert quotes_in_words(["sex"], ["age"]) == ""
