"""Labels that are shortened stay different if they were, and short."""

from hypothesis import given
from hypothesis import strategies as st

from deniable.text.width import shortened, told_apart, width


def test_what_fits_is_left_as_it_is() -> None:
    assert told_apart(["short", "also short", "short"], 12) == ["short", "also short", "short"]


def test_texts_that_begin_differently_lose_their_end() -> None:
    texts = ["apples and pears and plums", "bananas and pears and plums"]
    assert told_apart(texts, 12) == [shortened(text, 12) for text in texts]


def test_texts_that_begin_alike_keep_what_differs() -> None:
    begin = "How often in the past year have you been "
    assert told_apart([f"{begin}late", f"{begin}ill", "Never"], 18) == ["How of…late", "How of…ill", "Never"]


LETTERS = st.text("ab c", min_size=0, max_size=12)


@given(st.lists(st.builds(lambda begin, end: "x" * begin + end, st.integers(0, 30), LETTERS), max_size=6))
def test_different_texts_stay_different_and_short(texts: list[str]) -> None:
    short = told_apart(texts, 12)
    assert all(width(one) <= 12 for one in short)
    for text, one in zip(texts, short, strict=True):
        for other, its in zip(texts, short, strict=True):
            assert (one == its) is (text == other) or text.strip() == other.strip()
