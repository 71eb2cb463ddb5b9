"""The table of results: it goes on as a pyarrow.Table did, prints and renders, pivots, and turns into data frames."""

import pickle
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.inference.about_whom import Subject
from deniable.tables.table import PAIRS, SHARES, SHOWN, About, Table

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "65+"])])
PLAN = dn.Plan(SCHEMA, epsilon=6.0)
OF = dn.simulate.truth(SCHEMA, {"smoker": 0.3, "age": [0.5, 0.3, 0.2]})
COUNTS = dn.simulate.counts(OF, PLAN, np.random.default_rng(1), n=5000)
EST = dn.estimate(COUNTS, ["smoker", "age"]).about("population")
LATER = dn.estimate(dn.simulate.counts(OF, PLAN, np.random.default_rng(2), n=4000), ["smoker", "age"]).about(
    "population"
)
TABLES = {
    "table": EST.table(),
    "conditional": EST.conditional("smoker", given="age"),
    "compare": dn.compare(EST, LATER),
    "associations": dn.associations(COUNTS),
    "regress": dn.regress(COUNTS, "smoker", on=["age"]).table(),
    "posterior": dn.estimate(COUNTS, ["smoker"], method="feasible").posterior(draws=400, rng=1).table(),
    "expected": PLAN.expect("smoker", "age", n=1000).table(),
}


def made(columns: dict[str, list[object]], keys: tuple[str, ...], reports: int = 1000) -> Table:
    return Table(columns, keys, About("made", SHARES, Subject.POPULATION, 0.95, reports))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_it_does_what_an_arrow_table_did(table: Table) -> None:
    arrow = table.to_arrow()
    assert isinstance(arrow, pa.Table)
    assert pa.table(table).equals(arrow)  # through the Arrow C interface
    assert table.column_names == arrow.column_names
    assert (table.num_rows, table.num_columns) == table.shape == arrow.shape
    assert len(table) == arrow.num_rows
    assert table.schema == arrow.schema
    rows = arrow.to_pylist()
    np.testing.assert_equal(table.to_pylist(), rows)
    np.testing.assert_equal(list(table), rows)
    np.testing.assert_equal(table.to_pydict(), arrow.to_pydict())
    assert all(type(cell) in (str, bool, float) for row in table for cell in row.values())
    name = table.column_names[0]
    assert table[name].equals(arrow[name])
    assert table.column(name).equals(table[0])
    assert table.equals(table.select(table.column_names))
    assert table.equals(pa.table(table))
    assert table.select([name]).column_names == [name]
    assert table.slice(1, 2).to_pylist() == rows[1:3]
    assert table.slice(1).to_pylist() == rows[1:]
    assert table.sort_by([(name, "descending")]).to_arrow().equals(arrow.sort_by([(name, "descending")]))
    mask = np.arange(len(rows)) % 2 == 0
    assert table.filter(mask).to_pylist() == rows[::2]
    again = pickle.loads(pickle.dumps(table))
    assert again.equals(table)
    assert str(again) == str(table)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match=r"no column 'nothing'; there are 'smoker', 'age'"):
        EST.table().select(["smoker", "nothing"])


def test_other_libraries_read_it() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = EST.table()
    assert table.to_pandas().to_dict("records") == pandas.DataFrame(table).to_dict("records") == table.to_pylist()
    assert table.to_polars().equals(polars.DataFrame(table))
    assert table.to_polars().to_dicts() == table.to_pylist()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_what_is_not_installed_is_said(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(dn.EstimateError, match=f"needs {package}; install it with: pip install {package}"):
        getattr(EST.table(), f"to_{package}")()


def test_answers_of_two_types_in_one_column_become_words_for_arrow() -> None:
    table = made({"smoker": [False, True, "no answer"], "proportion": [0.1, 0.2, 0.7]}, ("smoker",))
    assert table.to_pylist()[1]["smoker"] is True
    assert table["smoker"].to_pylist() == ["no", "yes", "no answer"]


# -- what it says ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_it_says_about_whom_at_which_level_and_from_how_many_reports(name: str) -> None:
    table = TABLES[name]
    reports = {"compare": 9000, "expected": 1000}.get(name, 5000)
    assert (table.subject, table.level, table.reports) == ("population", 0.95, reports)
    said = f"95% intervals; {reports:,} reports"
    for text in (" ".join(str(table).split()), repr(table).replace("\n", " "), table._repr_html_()):
        assert said in text
        assert "About the population; " in text


def test_levels_subjects_and_simultaneous_intervals_are_said() -> None:
    own = EST.about("respondents").table(level=0.9, simultaneous=True)
    assert str(own).endswith("About the respondents; simultaneous 90% intervals; 5,000 reports.")
    assert own.level == 0.9


def test_every_number_of_a_row_is_printed_aligned() -> None:
    table = EST.table()
    head, *lines = str(table).splitlines()[:-1]
    assert head.split() == table.column_names
    assert len({len(line) for line in lines}) == 1
    for line, row in zip(lines, table, strict=True):
        smoker, age, *numbers = line.split()
        assert (smoker, age) == ("yes" if row["smoker"] else "no", row["age"])
        assert [float(number) for number in numbers] == pytest.approx(
            [row[name] for name in ("proportion", "stderr", "low", "high")], abs=5e-5
        )


FEW = made(
    {
        "age": ["a", "b", "c"],
        "proportion": [0.2, 0.01, 0.3],
        "low": [float("nan"), -0.05, 0.2],
        "high": [float("nan"), 0.07, 0.4],
    },
    ("age",),
)


def test_missing_intervals_and_such_that_say_little_are_words() -> None:
    _, few, little, enough, _ = str(FEW).splitlines()
    assert few.split(maxsplit=2) == ["a", "0.2000", "not enough reports"]
    assert little.split(maxsplit=4) == ["b", "0.0100", "-0.0500", "0.0700", "says little"]
    assert enough.split() == ["c", "0.3000", "0.2000", "0.4000"]
    assert re.search(r'colspan="2"[^>]*><bdi>not enough reports', FEW._repr_html_())
    assert FEW._repr_html_().count("says little") == 1


def test_few_rows_of_many_are_shown_and_that_is_said() -> None:
    many = made({"age": [f"v{k}" for k in range(SHOWN + 7)], "proportion": [0.1] * (SHOWN + 7)}, ("age",))
    assert f"v{SHOWN - 1}" in str(many)
    assert f"v{SHOWN}" not in str(many)
    assert f"The first {SHOWN} of {SHOWN + 7} rows." in str(many)
    assert many._repr_html_().count("<tr>") == SHOWN + 1
    assert len(many.written().rows) == SHOWN + 7


def test_associations_show_the_intervals_of_a_list() -> None:
    table = TABLES["associations"]
    row, shown = table.to_pylist()[0], str(table).splitlines()
    assert table.about.kind is PAIRS
    cells = dict(zip(shown[0].split(), shown[1].replace("Cramer's V", "V").split(), strict=True))
    for end in ("listed_low", "listed_high"):  # under the names that the data have for them
        assert float(cells[end]) == pytest.approx(row[end], abs=5e-5)
    assert not {"low", "high"} & set(cells)  # which are of a pair chosen beforehand


class Tags(HTMLParser):
    """The tags and the text of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


EVIL = "<script>alert('x')</script> & \"q\""


def test_html_is_escaped_and_has_no_colours_of_its_own() -> None:
    schema = dn.Schema([dn.Flag(EVIL), dn.Choice("age", [EVIL, "y"])])
    plan = dn.Plan(schema, epsilon=6.0)
    counts = dn.simulate.counts(
        dn.simulate.truth(schema, {EVIL: 0.3, "age": [0.5, 0.5]}), plan, np.random.default_rng(1), n=2000
    )
    est = dn.estimate(counts, [EVIL, "age"])
    regression = dn.regress(counts, EVIL, on=["age"])
    things = [
        *(schema, plan, counts, est, est.table(), est.table().wide(EVIL), dn.associations(counts), regression),
        *(
            est.association(EVIL, "age"),
            est.independence(EVIL, "age"),
            est.cell({EVIL: True}),
            est.odds_ratio(EVIL, ("age", "y")),
        ),
        *(plan.expect(EVIL, n=1000), dn.simulate.reports(OF, PLAN, 3, np.random.default_rng(1))),
    ]
    for thing in things:
        page = thing._repr_html_()
        tags = Tags(page)
        assert not tags.open
        assert "script" not in tags.tags
        assert "color:" not in page.replace("color:inherit", "")
    for thing in (schema, plan, est, est.table(), dn.associations(counts)):
        assert EVIL[:20] in Tags(thing._repr_html_()).text  # a plan shortens names
    assert "<table" in est._repr_html_()
    assert "about the population" in Tags(est._repr_html_()).text


def test_an_estimate_that_has_no_table_still_renders() -> None:
    schema = dn.Schema([dn.Flag("low")])
    plan = dn.Plan(schema, epsilon=6.0)
    counts = dn.simulate.counts(dn.simulate.truth(schema, {"low": 0.3}), plan, np.random.default_rng(1), n=2000)
    assert Tags(dn.estimate(counts, ["low"])._repr_html_()).text.startswith("<Estimate (consistent) of low")


def test_single_results_render_as_they_print() -> None:
    for result in (EST.cell(smoker=True), EST.difference("smoker", between=("age", "18-29", "65+")), PLAN):
        assert Tags(result._repr_html_()).text == str(result)


# -- cross-tabulations -------------------------------------------------------------------------------------------------


def test_a_cross_tab_holds_every_cell_once() -> None:
    table = EST.table()
    by_age, by_smoker = (table.wide(name, values="proportion") for name in ("age", "smoker"))
    assert (by_age.column_names, by_age.keys) == (["smoker", "18-29", "30-44", "65+"], ("smoker",))
    assert (by_smoker.column_names, by_smoker.keys) == (["age", "no", "yes"], ("age",))
    for row in table:
        (own,) = [line for line in by_age if line["smoker"] is row["smoker"]]
        (other,) = [line for line in by_smoker if line["age"] == row["age"]]
        assert own[row["age"]] == other["yes" if row["smoker"] else "no"] == row["proportion"]


def test_cells_are_an_estimate_and_half_the_length_of_its_interval() -> None:
    table = EST.table()
    text = table.wide("age").to_pylist()
    for row in table:
        cell = text[int(row["smoker"])][row["age"]]
        value, half = map(float, cell.split(" ± "))
        assert value == pytest.approx(row["proportion"], abs=5e-4)
        assert half == pytest.approx((row["high"] - row["low"]) / 2, abs=5e-4)
    assert "Columns: age." in str(table.wide("age"))
    assert "About the population; 95% intervals; 5,000 reports." in str(table.wide("age"))


def test_cells_without_an_interval_or_a_row_say_so() -> None:
    table = made(
        {
            "a": ["x", "x", "y"],
            "b": ["p", "q", "p"],
            "proportion": [0.2, 0.01, 0.3],
            "low": [float("nan"), -0.05, 0.2],
            "high": [float("nan"), 0.07, 0.4],
        },
        ("a", "b"),
    )
    first, second = table.wide("b").to_pylist()
    assert first == {"a": "x", "p": "0.200 (not enough reports)", "q": "0.010 ± 0.060 (says little)"}
    assert second == {"a": "y", "p": "0.300 ± 0.100", "q": ""}
    assert table.wide("b", values="high").to_pylist()[1] == {"a": "y", "p": 0.4, "q": None}


def test_an_answer_called_as_another_feature_has_a_column_of_its_own() -> None:
    table = made({"a": ["x", "x"], "b": ["a", "q"], "proportion": [0.2, 0.8]}, ("a", "b"))
    assert table.wide("b", values="proportion").to_pylist() == [{"a": "x", "b: a": 0.2, "q": 0.8}]


def test_all_pairs_cross_tabulate() -> None:
    row = TABLES["associations"].wide("second", values="effect").to_pylist()[0]
    assert row == {"first": "smoker", "age": TABLES["associations"].to_pylist()[0]["effect"]}


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [("x", None, "one of 'smoker', 'age'.*found 'x'"), ("age", "mean", "one of 'proportion', 'stderr'.*found 'mean'")],
)
def test_what_cannot_be_crossed_is_refused(name: str, values: str | None, said: str) -> None:
    with pytest.raises(dn.EstimateError, match=said):
        EST.table().wide(name, values=values)


def test_one_feature_has_no_cross_tab() -> None:
    with pytest.raises(dn.EstimateError, match="two features or more"):
        EST.project("age").table().wide("age")
