"""Charts drawn to scale: from the picture alone, by its ticks, the numbers can be read back."""

import re

import pytest

from deniable.charts import interval_chart
from deniable.charts.interval_chart import Row
from tests.support.pages import Element, read


def test_bars_and_intervals_are_drawn_to_scale() -> None:
    """From the picture alone, by its ticks, the numbers can be read back."""
    values = [(0.3, 0.25, 0.36), (0.5, 0.41, 0.56), (-0.02, -0.1, 0.05)]
    rows = [Row(f"row {k}", "", *numbers, "x") for k, numbers in enumerate(values)]
    svg = read(interval_chart.draw(rows, name="c", title="t", about="a", percent=False)).all("svg")[0]
    ticks = {
        float(text.text.replace("−", "-")): float(text.attributes["x"])
        for text in svg.all("text")
        if "middle" in text.attributes["style"]
    }
    (a, x), (b, y) = min(ticks.items()), max(ticks.items())
    back = lambda place: a + (b - a) * (place - x) / (y - x)  # noqa: E731
    lines = [element for element in svg.all("path") if "stroke-width: 4" in element.attributes["style"]]
    found = [[back(float(place)) for place in re.findall(r"[ML] ([\d.]+)", line.attributes["d"])] for line in lines]
    assert found == [pytest.approx([low, high], abs=1e-4) for _, low, high in values]
    strokes = [element for element in svg.all("path") if "stroke-width: 1.4" in element.attributes["style"]]
    assert [back(float(re.findall(r"M ([\d.]+)", one.attributes["d"])[0])) for one in strokes] == pytest.approx(
        [value for value, _, _ in values], abs=1e-4
    )


def across(path: Element) -> list[float]:
    return [float(place) for place in re.findall(r"[ML] ([-\d.]+)", path.attributes["d"])]


def down(path: Element) -> list[float]:
    return [float(place) for place in re.findall(r"[ML] [-\d.]+ ([-\d.]+)", path.attributes["d"])]


@pytest.mark.parametrize("percent", [True, False])
def test_a_bar_is_as_long_as_its_value(percent: bool) -> None:
    values = [(0.3, 0.25, 0.36), (0.1, 0.02, 0.15), (0.5, 0.41, 0.56), (-0.02, -0.1, 0.05)]
    rows = [Row(f"row {k}", "", *numbers, "x") for k, numbers in enumerate(values)]
    svg = read(interval_chart.draw(rows, name="c", title="t", about="a", percent=percent)).all("svg")[0]
    ticks = {
        float(text.text.replace("−", "-").removesuffix(" %")) / (100 if percent else 1): float(text.attributes["x"])
        for text in svg.all("text")
        if "middle" in text.attributes["style"]
    }
    unit = (ticks[max(ticks)] - ticks[0]) / max(ticks)
    bars = [path for path in svg.all("path") if "fill: var(--bar)" in path.attributes["style"]]
    lines = [path for path in svg.all("path") if "stroke-width: 4" in path.attributes["style"]]
    assert len(bars) == len(lines) == len(values)
    for bar, line, (value, low, high) in zip(bars, lines, values, strict=True):
        start, end = min(across(bar)), max(across(bar))
        assert end - start == pytest.approx(abs(value) * unit, abs=0.03)
        assert [start, end] == pytest.approx(sorted([ticks[0], ticks[0] + value * unit]), abs=0.03)
        assert across(line) == pytest.approx([ticks[0] + low * unit, ticks[0] + high * unit], abs=0.03)
        assert (min(down(bar)) + max(down(bar))) / 2 == pytest.approx(down(line)[0], abs=0.03)  # in the same row


QUESTION = "Have you, at any time during the last twelve months, been in situation number {} of those on the card?"


def drawn_texts(rows: list[Row]) -> list[str]:
    drawn = read(interval_chart.draw(rows, name="c", title="t", about="a", percent=True))
    return [text.text for text in drawn.all("text") if "%" not in text.text]


def test_long_labels_that_begin_alike_are_told_apart() -> None:
    texts = drawn_texts([Row(QUESTION.format(k), "", 0.3, 0.2, 0.4, "x") for k in range(1, 8)])
    first = texts[0 : len(texts) // 7 * 7 : len(texts) // 7]
    assert len(set(first)) == 7
    assert all(any(str(k) in text for text in texts) for k in range(1, 8))
    pairs = [(1, 2), (1, 3), (2, 3)]
    rows = [Row(QUESTION.format(a), f"× {QUESTION.format(b)}", 0.3, 0.2, 0.4, "x") for a, b in pairs]
    lines = [text for text in drawn_texts(rows) if text != "x"]
    for (a, b), first, second in zip(pairs, lines[::2], lines[1::2], strict=True):
        assert str(a) in first
        assert second.startswith("×")
        assert str(b) in second


def test_labels_that_fit_into_two_lines_are_whole() -> None:
    labels = ["less than 20,000 euros per year (before tax)", "20,000 to less than 50,000 euros per year"]
    texts = drawn_texts([Row(label, "", 0.3, 0.2, 0.4, "x") for label in labels])
    assert not any("…" in text for text in texts)


def test_headings_have_their_answers_whole_however_long_the_questions_are() -> None:
    answers = ["no", "yes", "Prefer not to say"]
    said = [interval_chart.heading([(QUESTION.format(1), answer)]) for answer in answers]
    assert [heading.endswith(f": {answer}") for heading, answer in zip(said, answers, strict=True)] == [True] * 3
    assert drawn_texts([Row(heading, heading=True) for heading in said])[:3] == said  # none is cut
    both = interval_chart.heading([(QUESTION.format(1), "no"), (QUESTION.format(2), "yes")])
    assert re.fullmatch(r".*1.*: no, .*2.*: yes", both)
    assert interval_chart.heading([("Do you smoke?", "no"), ("age", "65+")]) == "Do you smoke? no, age: 65+"
