"""Pictures of tables: every row is drawn where its numbers say, in words that can be told apart, light and dark."""

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from matplotlib.figure import Figure

import deniable as dn
from deniable.charts.result_plots import DARK, LIGHT
from deniable.inference.about_whom import Subject
from deniable.tables.pictures import MOST, MOST_PAIRS
from deniable.tables.table import CONTRASTS, DIFFERENCES, PAIRS, SHARES, About, Kind, Table

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "65+"]), dn.Flag("drinker")])
PLAN = dn.Plan(SCHEMA, epsilon=12.0)
OF = dn.simulate.truth(
    SCHEMA,
    [
        (0.5, {"smoker": 0.5, "age": [0.6, 0.3, 0.1], "drinker": 0.7}),
        (0.5, {"smoker": 0.1, "age": [0.1, 0.3, 0.6], "drinker": 0.2}),
    ],
)
COUNTS = dn.simulate.counts(OF, PLAN, np.random.default_rng(1), n=20_000)
EST = dn.estimate(COUNTS, ["smoker", "age"]).about("population")
LATER = dn.simulate.counts(OF, PLAN, np.random.default_rng(2), n=20_000)


def made(columns: dict[str, list[Any]], keys: tuple[str, ...], kind: Kind = SHARES) -> Table:
    return Table(columns, keys, About("made", kind, Subject.POPULATION, 0.95, 1000))


def drawn_intervals(figure: Figure) -> dict[int, tuple[float, float]]:
    """The ends of the horizontal line in each row."""
    lines = [(line.get_xdata(), line.get_ydata()) for line in figure.axes[0].lines]
    return {int(y[0]): (float(x[0]), float(x[1])) for x, y in lines if y[0] == y[1] and len(x) == 2}


def labels(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def words(figure: Figure) -> str:
    texts = [*figure.texts, *figure.axes[0].texts, figure._suptitle, figure._supxlabel]  # type: ignore[attr-defined]
    return " ".join(" ".join(text.get_text() for text in texts if text).split())


def test_every_row_is_drawn_with_its_interval() -> None:
    table = EST.table()
    figure = table.plot()
    assert labels(figure) == ["smoker: no", "18-29", "30-44", "65+", "smoker: yes", "18-29", "30-44", "65+"]
    found = drawn_intervals(figure)
    rows = iter(table)
    for place in (1, 2, 3, 5, 6, 7):
        row = next(rows)
        assert found[place] == pytest.approx((row["low"], row["high"]))
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars == [(0, pytest.approx(row["proportion"])) for row in table]
    assert "About the population; 95% intervals; 20,000 reports." in words(figure)
    assert EST.plot().axes[0].get_xlim() == figure.axes[0].get_xlim()


def test_of_a_flag_given_others_only_true_is_drawn() -> None:
    table = EST.conditional("smoker", given="age")
    figure = table.plot()
    assert labels(figure) == ["18-29", "30-44", "65+"]
    true = [row for row in table if row["smoker"]]
    assert drawn_intervals(figure) == {k: pytest.approx((row["low"], row["high"])) for k, row in enumerate(true)}
    other = EST.conditional("age", given="smoker").plot()
    assert labels(other)[:2] == ["smoker: no", "18-29"]


def test_two_waves_show_the_change_and_both_shares() -> None:
    table = dn.compare(EST, dn.estimate(LATER, ["smoker", "age"]).about("population"))
    figure = table.plot()
    row = table.to_pylist()[0]
    assert drawn_intervals(figure)[1] == pytest.approx((row["low"], row["high"]))
    assert f"{100 * row['before']:.1f} → {100 * row['after']:.1f} %" in words(figure)
    low, high = figure.axes[0].get_xlim()
    assert low < 0 < high


def test_coefficients_are_drawn_without_the_constant() -> None:
    table = dn.regress(COUNTS, "smoker", on=["age", "drinker"]).table()
    figure = table.plot()
    assert labels(figure) == [row["term"] for row in table][1:]
    assert drawn_intervals(figure)[0] == pytest.approx(tuple(table.to_pylist()[1][end] for end in ("low", "high")))


def test_pairs_are_drawn_with_the_intervals_of_a_list() -> None:
    table = dn.associations(COUNTS)
    figure = table.plot()
    assert labels(figure) == [f"{row['first']} × {row['second']}" for row in table]
    assert drawn_intervals(figure) == {
        k: pytest.approx((row["listed_low"], row["listed_high"])) for k, row in enumerate(table)
    }


def pairs(count: int) -> Table:
    names = [f"f{k}" for k in range(count)]
    both = [(names[j], names[i]) for i in range(count) for j in range(i)]
    numbers = [0.5 / (1 + k) for k in range(len(both))]
    fdr = [0.01] * (len(both) - 2) + [0.3, float("nan")]
    columns: dict[str, list[Any]] = {"first": [a for a, _ in both], "second": [b for _, b in both]}
    columns |= {"effect": numbers, "shrunken": numbers, "fdr": fdr}
    columns |= dict.fromkeys(("low", "high", "listed_low", "listed_high"), numbers)
    return made(columns, ("first", "second"), PAIRS)


def test_many_pairs_are_a_map_of_all() -> None:
    figure = pairs(7).plot()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [f"f{k}" for k in range(6)]
    assert labels(figure) == [f"f{k}" for k in range(1, 7)]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[0] == "0.50"
    assert len(texts) == 36 - 1  # all but the one without enough reports, which has a frame
    assert sum(text != "" for text in texts) == 21 - 2  # pairs that are sure
    assert "Empty frames: not enough reports" in words(figure)


def test_many_rows_are_cut_and_that_is_said() -> None:
    number = [0.1] * (MOST + 5)
    table = made({"a": [f"v{k}" for k in range(MOST + 5)], "proportion": number, "low": number, "high": number}, ("a",))
    figure = table.plot()
    assert len(labels(figure)) == MOST
    assert f"The first {MOST} of {MOST + 5}." in words(figure)
    assert f"The first {MOST_PAIRS} of 36." in words(pairs(9).plot("intervals"))


def test_a_map_has_the_shares_of_a_table() -> None:
    figure = EST.table().plot("map")
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown == [f"{100 * row['proportion']:.0f}" for row in EST.table()]
    widest = max(50 * (row["high"] - row["low"]) for row in EST.table())
    assert f"at most {widest:.2g} points" in words(figure)


def test_missing_intervals_and_such_that_say_little_are_words() -> None:
    nothing = float("nan")
    columns: dict[str, list[Any]] = {"a": ["x", "y", "z"], "proportion": [0.2, 0.01, 0.3]}
    table = made(columns | {"low": [nothing, -0.05, 0.2], "high": [nothing, 0.07, 0.4]}, ("a",))
    figure = table.plot()
    first, second, third = (text.get_text() for text in figure.axes[0].texts)
    assert first == "not enough reports"
    assert second.endswith("says little")
    assert third == "30 % (20 to 40)"
    assert sorted(drawn_intervals(figure)) == [1, 2]


def test_long_labels_are_told_apart_and_never_read_as_mathematics() -> None:
    begin = "How often in the past twelve months have you smoked "
    answers = [f"{begin}daily", f"{begin}weekly", f"{begin}less than weekly, but more than never", "$never_1$"]
    number = [0.1, 0.2, 0.3, 0.4]
    table = made({"a": answers, "proportion": number, "low": number, "high": number}, ("a",))
    shown = labels(table.plot())
    assert len(set(shown)) == 4
    assert all(len(label) <= 24 for label in shown)
    assert shown[0].endswith("daily")
    assert shown[3] == "$never_1$"
    table.plot()._repr_png_()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("style", "palette"), [("default", LIGHT), ("dark_background", DARK)])
def test_colours_go_with_the_style(style: str, palette: Any) -> None:
    with matplotlib.style.context(style):
        figure = EST.table().plot()
        colours = {line.get_color() for line in figure.axes[0].lines}
    assert palette.mark in colours
    assert palette.ink in colours
    other = DARK if palette is LIGHT else LIGHT
    assert not colours & {other.mark, other.ink}


def test_colours_are_those_of_the_page() -> None:
    sheet = (Path(dn.__file__).parent / "page" / "page.html").read_text()
    light, dark = (part for part in re.split(r"--paper: ", sheet)[1:3])
    for palette, part in ((LIGHT, light), (DARK, dark)):
        for name in ("ink", "soft", "line", "mark", "bar", "against", "cell"):
            (colour, *_) = re.findall(rf"--{name}: (#\w+);", part)
            assert getattr(palette, name) == colour


def test_it_draws_on_axes_that_are_given() -> None:
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert EST.table().plot(ax=left) is figure
    assert EST.project("age").plot(ax=right) is figure
    assert len(right.get_yticklabels()) == 3
    assert left.get_title(loc="left") == "smoker x age"
    assert "About the population" in left.get_xlabel().replace("\n", " ")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_it_is_saved_and_shown_in_a_notebook(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{suffix}"
    figure = EST.table().plot(path=path)
    assert path.read_bytes()[:4] == {"png": b"\x89PNG", "svg": b"<?xm", "pdf": b"%PDF"}[suffix]
    assert figure._repr_png_()[:4] == b"\x89PNG"  # type: ignore[attr-defined]


def test_a_picture_that_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = EST.table()
    with pytest.raises(dn.EstimateError, match='"intervals" or a "map"; found \'pie\''):
        table.plot("pie")
    with pytest.raises(dn.EstimateError, match="two features or more"):
        EST.project("age").plot("map")
    with pytest.raises(dn.EstimateError, match="the column 'high', which was left out"):
        table.select(["smoker", "age", "proportion", "low"]).plot()
    with pytest.raises(dn.EstimateError, match="before wide"):
        table.wide("age").plot()
    with pytest.raises(dn.EstimateError, match="no picture of pairs of the model; plot a table of shares"):
        dn.fit(COUNTS).graph().plot()
    with pytest.raises(dn.EstimateError, match="needs rows"):
        table.slice(0, 0).plot()
    with pytest.raises(dn.DeniableError, match="no picture ends in 'doc'"):
        table.plot(path=tmp_path / "x.doc")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dn.EstimateError, match=r"pip install 'deniable\[report\]'"):
        table.plot()


def test_means_contrasts_and_waves_are_drawn_in_their_own_units() -> None:
    """A mean is no share, log odds are no percentage points, and a difference has its two groups as a label."""
    years = {"18-29": 24.0, "30-44": 37.0, "65+": 75.0}
    means = EST.mean_of("age", years, by="smoker")
    figure = means.plot()
    assert labels(figure) == ["smoker: no", "smoker: yes"]
    for place, row in enumerate(means):
        assert drawn_intervals(figure)[place] == pytest.approx((row["low"], row["high"]))
    assert "%" not in words(figure).replace("95% intervals", "")
    contrasts = EST.contrasts("smoker", by="age")
    assert labels(contrasts.plot()) == [row["contrast"].replace(" - ", " − ") for row in contrasts]
    assert contrasts.about.title == "smoker, contrasts by age"
    assert EST.contrasts(("age", ["18-29", "30-44"]), by="smoker").about.title == (
        "age: 18-29 or 30-44, contrasts by smoker"
    )
    long = ("answers that take a line each", "and are not cut")
    columns = {"contrast": [" - ".join(long)], "estimate": [0.1], "low": [0.0], "high": [0.2]}
    assert labels(made(columns, ("contrast",), CONTRASTS).plot())[0].splitlines()[1] == "− and are not cut"
    assert "In percentage points; grey: may be chance." in words(contrasts.plot())
    assert "Grey: may be chance." in words(EST.contrasts("age", by="smoker", scores=years).plot())
    odds = dn.regress(COUNTS, "smoker", on=["age"], kind="logistic").table()
    assert "In log odds; grey: may be chance." in words(odds.plot())
    assert "%" not in words(odds.plot()).replace("95% intervals", "")
    waves = dn.trend([COUNTS, LATER], "smoker").table()
    assert len(labels(waves.plot())) == 2
    with pytest.raises(dn.EstimateError, match="a map is of shares or of pairs"):
        means.plot("map")


def test_a_difference_is_a_line_whose_title_says_of_what() -> None:
    columns = {"share of": ["a"], "group": ["b: x"], "compared with": ["b: y"], "difference": [0.1], "low": [0.05]}
    table = made({**columns, "high": [0.2]}, ("share of", "group", "compared with"), DIFFERENCES)
    assert labels(table.plot()) == ["difference"]
    assert drawn_intervals(table.plot())[0] == pytest.approx((0.05, 0.2))


def test_a_map_without_room_for_numbers_has_a_colour_bar() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("town", [f"t{k}" for k in range(12)])])
    told = dn.simulate.truth(schema, {"smoker": 0.3, "town": [1 / 12] * 12})
    est = dn.estimate(dn.simulate.counts(told, dn.Plan(schema, epsilon=12.0), 1, n=20_000), ["smoker", "town"])
    figure = est.plot("map")
    most = max(row["proportion"] for row in est.table())
    (bar,) = figure.axes[1:]
    ticks = [label.get_text() for label in bar.get_xticklabels()]
    assert len(ticks) == 5
    assert ticks[0].removesuffix(" %").strip("0.") == ""
    assert all(tick.endswith(" %") for tick in ticks)
    assert float(ticks[-1].removesuffix(" %")) == pytest.approx(100 * most, abs=0.06)
    assert len(EST.plot("map").axes) == 1  # with the numbers in its cells there is none


def test_a_trend_names_its_question_and_answer_in_percent_and_differences_are_in_points() -> None:
    schema = dn.Schema([dn.Flag("smoker", label="Do you smoke?"), dn.Choice("age", ["a", "b"], labels={"a": "18-29"})])
    told = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.4, 0.6]})
    waves = [dn.simulate.counts(told, dn.Plan(schema, epsilon=4.0), k, n=4_000) for k in (1, 2)]
    smokers = words(dn.trend(waves, "smoker").plot())
    assert "Do you smoke?: yes, by wave" in smokers
    assert re.search(r"\d %? ?\(", smokers)
    assert " % (" in smokers
    assert "age: 18-29, by wave" in words(dn.trend(waves, ("age", "a")).plot())
    own = dn.trend([dn.estimate(one, ["smoker"]) for one in waves], lambda est: est.cell(smoker=True)).plot()
    assert "%  (" not in words(own)
    figure = dn.estimate(waves[0], ["smoker", "age"]).contrasts("smoker", by="age").plot()
    assert "In percentage points" in words(figure)
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert not any("%" in text for text in (*ticks, *(text.get_text() for text in figure.axes[0].texts)))
