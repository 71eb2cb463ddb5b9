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
