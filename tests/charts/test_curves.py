"""The picture of a plan: its lines, its marks, its key, on light and dark backgrounds."""

import builtins
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import deniable as dn
from deniable.charts.curves import MOST, ON_DARK, ON_LIGHT, TICKS, ticks
from deniable.errors import DeniableError
from deniable.survey.without import with_epsilon

SCHEMA = dn.Schema([dn.Flag("_smoker$"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker")])
PLAN = dn.design(SCHEMA, epsilon=2.0, want=[("_smoker$", "age"), "drinker"], n=5_000)


def curves(axis: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axis.lines if len(line.get_xdata()) > 2
    ]


def test_lines_are_half_widths_against_people_and_epsilon() -> None:
    figure = PLAN.plot()
    above, below = figure.axes
    tables = [text.get_text().split(" x ") for text in figure.legends[0].get_texts()]
    assert sorted(map(len, tables)) == [1, 2]
    for names, (people, points) in zip(tables, curves(above), strict=True):
        for n, width in zip(people[::8], points[::8], strict=True):
            assert width == pytest.approx(100 * PLAN.expect(*names, n=round(n)).half_width, rel=5e-3)
    for names, (epsilons, points) in zip(tables, curves(below), strict=True):
        for epsilon, width in zip(epsilons[::4], points[::4], strict=True):
            other = with_epsilon(PLAN, epsilon / PLAN.epsilon)
            assert width == pytest.approx(100 * other.expect(*names, n=5_000).half_width, rel=1e-6)
        assert (np.diff(points) < 0).all()
    assert [axis.get_xscale() + axis.get_yscale() for axis in figure.axes] == ["loglog", "loglog"]


def test_the_plan_s_own_place_is_marked() -> None:
    for axis, at, said in zip(PLAN.plot().axes, (5_000, PLAN.epsilon), ("5,000 people", "epsilon 2"), strict=True):
        dots = [line for line in axis.lines if line.get_marker() == "o"]
        assert [tuple(line.get_xdata()) for line in dots] == [(at,)] * 2
        widths = sorted(100 * PLAN.expect(*names).half_width for names in (("_smoker$", "age"), ("drinker",)))
        assert sorted(line.get_ydata()[0] for line in dots) == pytest.approx(widths)
        assert said in [text.get_text() for text in axis.texts]


def test_a_number_of_people_and_a_guess_can_be_given() -> None:
    axis = PLAN.plot(n=20_000, guess={"_smoker$": 0.05}).axes[0]
    assert "20,000 people" in [text.get_text() for text in axis.texts]
    dots = [line.get_ydata()[0] for line in axis.lines if line.get_marker() == "o"]
    assert 100 * PLAN.expect("_smoker$", "age", n=20_000, guess={"_smoker$": 0.05}).half_width in dots
    some = dn.Plan(SCHEMA, epsilon=2.0).plot().axes[0]
    assert "10,000 people" in [text.get_text() for text in some.texts]


def test_of_many_tables_three_are_drawn() -> None:
    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(5)])
    figure = dn.Plan(schema, epsilon=2.0).plot()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == 3 < MOST
    assert labels[0].startswith("widest of 10: ")
    assert [len(curves(axis)) for axis in figure.axes] == [3, 3]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as web pages reckon it."""

    def light(colour: str) -> float:
        parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour)]
        return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_lines_can_be_seen_on_light_and_dark() -> None:
    for colours, background, style in ((ON_LIGHT, "white", "default"), (ON_DARK, "black", "dark_background")):
        assert all(contrast(colour, background) >= 3 for colour in colours if colour)
        with matplotlib.style.context(style):
            figure = PLAN.plot()
        assert to_rgb(figure.get_facecolor()) == to_rgb(background)
        assert figure.axes[0].lines[0].get_color() == colours[0]
    assert contrast("#E69F00", "white") < 3  # the control


def test_it_is_saved_whole_with_any_name_in_its_key(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    with mpl.rc_context({"svg.fonttype": "none"}):
        PLAN.plot(path=path)
    text = path.read_text()
    assert "_smoker$ x age" in text
    assert "Half-width of 95 % intervals, in points" in text


@pytest.mark.parametrize(("low", "high"), [(1, 10), (0.3, 4), (500, 50_000), (1e-3, 1e6), (2.1, 2.9)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    found = ticks(low, high)
    assert all(low <= place <= high for place in found)
    assert len(found) <= max(TICKS, np.log10(high / low) + 1)
    assert all(f"{place:.0e}"[0] in "1235" for place in found)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any, **others: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(dn.PlanError, match=r"pip install 'deniable\[report\]'"):
        PLAN.plot()


def test_a_plan_that_protects_nothing_has_no_picture() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), {"smoker": dn.Public()})
    with pytest.raises(dn.PlanError, match="nothing of this plan is protected"):
        plan.plot(n=100)


def test_where_it_cannot_be_saved_is_said_before_it_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match="x.png: cannot be written: there is no folder"):
        PLAN.plot(path=tmp_path / "nowhere" / "x.png")
    with pytest.raises(dn.PlanError, match=r"x.foo: no picture ends in 'foo'; there are .*png"):
        PLAN.plot(path=tmp_path / "x.foo")
    assert list(tmp_path.iterdir()) == []


def test_what_is_supposed_is_said_in_the_picture() -> None:
    plain, guessed = PLAN.plot(), PLAN.plot(guess={PLAN.schema.names[0]: 0.2})
    titles = [figure.legends[0].get_title().get_text() for figure in (plain, guessed)]
    assert titles == [
        "About the population, if all answers are equally common:",
        "About the population, with the shares that are guessed:",
    ]
