"""Display width of text, where it is cut and broken, and text that turns."""

import pytest

from deniable.text.width import isolated, shortened, width, wrapped


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🎈", 2), ("a\u200bb", 2), ("ﾊ", 1), ("Ａ", 2)]
)
def test_width_is_that_of_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize("most", range(1, 20))
@pytest.mark.parametrize("text", ["a long sentence of words", "日本語の長い名前", "🎈" * 9, "x" * 40])
def test_shortened_and_wrapped_text_fits(text: str, most: int) -> None:
    assert width(shortened(text, most)) <= max(most, 1)
    lines = wrapped(text, max(most, 2))
    assert len(lines) <= 2
    assert all(width(line) <= max(most, 2) for line in lines)
    assert text.startswith(lines[0])


def test_only_text_that_turns_is_closed_in() -> None:
    assert isolated("größe 日本 🎈 é $x$ 5 %") == "größe 日本 🎈 é $x$ 5 %"
    for text in ("שלום", "\u202eabc", "\u2067abc"):
        closed = isolated(text)
        assert (closed[0], closed[-1]) == ("\u2068", "\u2069")
        assert "\u2069" not in closed[1:-1]
