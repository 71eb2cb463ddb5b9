"""Counting inside a database: every cell as `count` has it, in duckdb and in PostgreSQL."""

import re
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from psycopg.rows import dict_row

import deniable as dn
from tests.collect.conftest import database, postgres  # noqa: F401 - fixtures
from tests.support.databases import TABLES, in_duckdb, in_postgres
from tests.support.designs import DESIGNS
from tests.support.engines import EDGES, TWO_FLAGS
from tests.support.random_plans import random_plan
from tests.support.situations import MIXED, PLANS, values
from tests.support.surveys import some_reports

EVERY = {**PLANS, **DESIGNS}
for left_out in ("8 flags in threes", "16 flags in threes", "assigned"):  # many arms, and arms that are not drawn
    del EVERY[left_out]
MOST_SETS = 3


def some_sets(plan: dn.Plan) -> list[list[str]]:
    """Some tables of a plan, those of two and three questions among them."""
    names = plan.schema.names
    sets = [
        list(one)
        for size in (1, 2, 3)
        for one in combinations(names, size)
        if any(set(one) <= set(arm.schema.names) for arm in plan.arms)
    ]
    return Random(len(names)).sample(sets, min(MOST_SETS, len(sets)))


@pytest.mark.parametrize("plan", EVERY.values(), ids=EVERY.keys())
def test_duckdb_counts_every_cell_as_count_does(plan: dn.Plan) -> None:
    reports = some_reports(plan, 40)
    run = in_duckdb(reports, reports.to_bytes())
    for names in some_sets(plan):
        expected = dn.count(reports, names)
        for where in TABLES:
            assert dn.count_patterns(plan, run(dn.sql(plan, names, **where))) == expected


@pytest.mark.parametrize("where", TABLES, ids=["columns", "bytes"])
@pytest.mark.slow
def test_postgres_counts_every_cell_as_count_does(where: dict[str, str], database: str) -> None:  # noqa: F811
    connection = psycopg.connect(database, autocommit=True, row_factory=dict_row)
    for name in (
        "everything mixed", "subsets", "odd names", "multi-select and ranges", "40 values, unary",
        "blocks of every protocol", "arms of unequal length", "two arms",
    ):  # fmt: skip
        plan = EVERY[name]
        reports = some_reports(plan, 300)
        run = in_postgres(connection, reports, reports.to_bytes())
        for names in some_sets(plan)[:3]:
            rows = run(dn.sql(plan, names, dialect="postgres", **where))
            assert dn.count_patterns(plan, rows) == dn.count(reports, names), (name, names)
    connection.close()


def test_plans_drawn_at_random_are_counted_alike() -> None:
    rng = Random(5)
    for _ in range(12):
        plan = random_plan(rng, most=10**9)
        reports = some_reports(plan, 50)
        run = in_duckdb(reports, reports.to_bytes())
        for where in TABLES:
            names = rng.choice(some_sets(plan))
            assert dn.count_patterns(plan, run(dn.sql(plan, names, **where))) == dn.count(reports, names)


@pytest.mark.parametrize("name", ["everything mixed", "arms of unequal length", "blocks beside questions alone"])
def test_every_pair_is_counted_in_one_query(name: str) -> None:
    plan = EVERY[name]
    reports = some_reports(plan, 60)
    run = in_duckdb(reports, reports.to_bytes())
    expected = dn.count(reports, order=2)
    for where in TABLES:
        found = dn.count_patterns(plan, run(dn.sql(plan, order=2, **where)))
        assert found.n == expected.n
        for mine, theirs in zip(found.arms, expected.arms, strict=True):
            for size in (1, 2):
                for units in combinations(mine.plan.units.schema.names, size):
                    assert np.array_equal(mine.evidence(*units), theirs.evidence(*units))


UNARY = dn.UnaryEncoding.symmetric(1.0)
ONE_LARGE = dn.Plan(  # of which every pair is counted by one table of all three
    dn.Schema([dn.Choice("town", values(60)), dn.Flag("a"), dn.Flag("b")]),
    {"town": dn.GRR(epsilon=4.0), "a": dn.RandomizedResponse(epsilon=1.0), "b": dn.RandomizedResponse(epsilon=1.0)},
)
MANY_ALONE = dn.Plan(
    dn.Schema([dn.Choice("x", values(20)), dn.Choice("y", values(3)), dn.Flag("a")]),
    {"x": UNARY, "y": UNARY, "a": dn.RandomizedResponse(epsilon=1.0)},
)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "plan",
    [MIXED, EVERY["arms of unequal length"], EVERY["blocks beside questions alone"], ONE_LARGE, MANY_ALONE],
    ids=["mixed", "arms", "blocks", "one large", "patterns too many"],
)
def test_a_day_of_a_database_adds_to_a_day_of_files(plan: dn.Plan, order: int) -> None:
    """Files are counted as moments of every pair, or as one table of all, and queries group by tables."""
    first, second = some_reports(plan, 30), some_reports(plan, 20)
    ours = dn.count_patterns(plan, in_duckdb(first, [])(dn.sql(plan, order=order)))
    theirs = dn.count(second, order=order)
    expected = dn.count(first, order=order) + theirs
    for found in (ours + theirs, theirs + ours):
        assert found.n == 50
        assert len(found.sources) == 2
        for mine, right in zip(found.arms, expected.arms, strict=True):
            names = mine.plan.units.schema.names
            for units in combinations(names, min(order, len(names))):
                assert np.array_equal(mine.evidence(*units), right.evidence(*units))


def test_some_pairs_do_not_add_to_every_pair() -> None:
    some = dn.count(some_reports(MIXED, 9), [["flag", "grr"], ["flag", "sue"]])
    with pytest.raises(dn.CountError, match="counts of different tables do not add"):
        _ = some + dn.count(some_reports(MIXED, 9), order=2)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [UNARY, dn.SubsetSelection(epsilon=2.0)], ids=["unary", "subsets"])
def test_a_thousand_values_are_not_nested_too_deeply(protocol: Any) -> None:
    """To a depth of 1 000 duckdb takes expressions."""
    plan = dn.Plan(dn.Schema([dn.Choice("c", values(1100))]), {"c": protocol})
    reports = some_reports(plan, 5)
    run = in_duckdb(reports, reports.to_bytes())
    for where in TABLES:
        assert dn.count_patterns(plan, run(dn.sql(plan, ["c"], **where))) == dn.count(reports, ["c"])


def test_several_tables_and_no_reports() -> None:
    for plan in (MIXED, EVERY["two arms"]):
        names = [list(pair) for pair in combinations(plan.schema.names[:3], 2)] if plan is MIXED else [["f0"], ["f1"]]
        none = some_reports(plan, 5).table.slice(0, 0)
        found = dn.count_patterns(plan, in_duckdb(none, [])(dn.sql(plan, names)))
        assert found.n == 0
        later = some_reports(plan, 30)
        more = dn.count_patterns(plan, in_duckdb(later, [])(dn.sql(plan, names)))
        assert found + more == more


def refused(plan: dn.Plan, names: list[str], table: pa.Table, sent: list[bytes], match: str, where: int) -> None:
    with pytest.raises(dn.CountError, match=match):
        dn.count_patterns(plan, in_duckdb(table, sent)(dn.sql(plan, names, **TABLES[where])))


SPOILT = {
    "a null flag": ("flag", None),
    "a null bit": ("oue: v3", None),
    "a null value": ("grr", None),
    "another value": ("grr", "v9"),
    "a bucket too many": ("hash: bucket", 7),
    "a short seed": ("hash: seed", b"short"),
    "a coefficient beyond the prime": ("hash: seed", b"\xff" * 16),
}


@pytest.mark.parametrize(("column", "value"), SPOILT.values(), ids=SPOILT.keys())
def test_a_report_that_cannot_be_comes_back_and_is_refused(column: str, value: object) -> None:
    table = some_reports(MIXED, 20).table
    own = table[column].to_pylist()
    kind = pa.binary() if "seed" in column else pa.string() if column == "grr" else table[column].type
    spoilt = table.set_column(table.column_names.index(column), column, pa.array([value, *own[1:]], kind))
    unit = column.partition(":")[0]
    for names in ([unit], [unit, "sue"], ["oue", "hash", "grr", "flag"]):  # the last has too many patterns to keep
        refused(MIXED, names, spoilt, [], r"1 reports show of '|\d+ reports show of '", 0)


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "unit"), [(MIXED, "oue"), (MANY_ALONE, "x")], ids=["patterns", "places"])
def test_a_report_that_cannot_be_is_refused_in_postgres_too(plan: dn.Plan, unit: str, database: str) -> None:  # noqa: F811
    """Where patterns are too many to be kept, a report is joined with the bits that it shows."""
    reports = some_reports(plan, 20)
    column = f"{unit}: v3"
    own = reports.table[column].to_pylist()
    bits = pa.array([None, *own[1:]], pa.bool_())
    spoilt = reports.table.set_column(reports.table.column_names.index(column), column, bits)
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as connection:
        query = dn.sql(plan, [unit], dialect="postgres")
        assert ("JOIN LATERAL" in query) == (plan is MANY_ALONE)  # whose time does not grow with the square of values
        with pytest.raises(dn.CountError, match=f"reports show of '{unit}' what no report"):
            dn.count_patterns(plan, in_postgres(connection, spoilt, [])(query))
        rows = in_postgres(connection, reports, [])(query)
        assert dn.count_patterns(plan, rows) == dn.count(reports, [unit])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bucket", [1.5, 0.4, -0.4, float("nan"), float("inf")])
def test_a_bucket_that_is_not_whole_is_refused(bucket: float) -> None:
    """Databases round it, to that of another report."""
    table = some_reports(MIXED, 20).table
    place = table.column_names.index("hash: bucket")
    floats = table.set_column(place, "hash: bucket", table["hash: bucket"].cast(pa.float64()))
    run = in_duckdb(floats, [])
    assert dn.count_patterns(MIXED, run(dn.sql(MIXED, ["hash"]))) == dn.count(dn.Reports(MIXED, table), ["hash"])
    spoilt = table.set_column(place, "hash: bucket", pa.array([bucket, *table["hash: bucket"].to_pylist()[1:]]))
    refused(MIXED, ["hash"], spoilt, [], "1 reports show of 'hash'", 0)
    with pytest.raises(dn.ReportError, match="a bucket is a whole number from 0|buckets, and it shows a higher one"):
        dn.count(dn.Reports(MIXED, spoilt), ["hash"])


def test_bytes_that_cannot_be_are_refused() -> None:
    plan = EVERY["arms of unequal length"]
    names = [plan.schema.names[0]]
    sent = some_reports(plan, 20).to_bytes()
    short = next(report for report in sent if report[-1] == 0)
    for spoilt in (sent[0][:-1], sent[0] + b"\0", short[:-1] + b"\x80", bytes([short[0] | 3, *short[1:]])):
        refused(plan, names, some_reports(plan, 1).table, [*sent, spoilt], "1 reports are of no arm", 1)
    mixed = some_reports(MIXED, 9).to_bytes()
    for spoilt in (mixed[0][:-1], b"", mixed[0][:-1] + bytes([mixed[0][-1] | 0x80])):
        refused(MIXED, ["flag"], some_reports(MIXED, 1).table, [*mixed, spoilt], "1 reports show of 'flag'", 1)


def test_an_unknown_arm_is_refused() -> None:
    plan = EVERY["two arms"]
    table = some_reports(plan, 9).table
    for arm in (None, "f7"):
        arms = pa.array([arm, *table["arm"].to_pylist()[1:]], pa.string())
        refused(plan, ["f0"], table.set_column(0, "arm", arms), [], "1 reports are of no arm", 0)


# -- the rows ----------------------------------------------------------------------------------------------------------

TWO = dn.Plan(
    dn.Schema([dn.Flag("n"), dn.Choice("age", ["young", "old"])]),
    {"n": dn.RandomizedResponse(epsilon=1.0), "age": dn.GRR(epsilon=1.0)},
)


def test_rows_by_hand_may_show_truth_and_values() -> None:
    rows = [{"unit 0": True, "age": "old", "n": 3}, {"unit 0": False, "age": "old", "n": 4}]
    counts = dn.count_patterns(TWO, [*rows, rows[0]])
    assert counts.array("n", "age").tolist() == [[10, 0, 10], [6, 0, 6]]
    assert dn.count_patterns(TWO, pa.Table.from_pylist(rows)).n == 7


BAD_ROWS = {
    "no numbers": ([{"age": "old"}], "column 'n', how many reports"),
    "negative": ([{"age": "old", "n": -1}], "whole numbers of reports"),
    "halves": ([{"age": "old", "n": 1.5}], "whole numbers of reports"),
    "null": ([{"age": "old", "n": None}], "whole numbers of reports"),
    "another column": ([{"aeg": "old", "n": 1}], "'aeg' is no unit of this plan"),
    "another value": ([{"age": "olds", "n": 1}], "1 reports show of 'age'"),
    "another code": ([{"age": 2, "n": 5}], "5 reports show of 'age'"),
    "text for a flag": ([{"unit 0": "yes", "n": 5}], "must be numbers"),
    "a column that only a later row has": ([{"unit 0": 1, "n": 5}, {"unit 0": 1, "age": "olds", "n": 5}], "of 'age'"),
    "the code that stands for none": ([{"unit 0": -2, "age": "old", "n": 5}], "5 reports show of 'n'"),
    "more than 64 bits": ([{"age": "old", "n": 2**64}], "column 'n' cannot be read"),
    "text beside numbers": ([{"age": "old", "n": 1}, {"age": 1, "n": 1}], "column 'age' cannot be read"),
    "two columns of a name": (
        pa.Table.from_arrays([pa.array([one]) for one in (1, 0, 3)], names=["age", "age", "n"]),
        "have the same name",
    ),
    "nothing beside something": (
        [{"unit 0": 1, "age": 0, "n": 5}, {"unit 0": None, "age": None, "n": 7}],
        "rows of 7 reports show nothing, beside tables of 5 reports",
    ),
    "nothing, as often": ([{"age": 0, "n": 5}, {"age": None, "n": 5}], "rows of 5 reports show nothing"),
    "rounded": (pa.table({"age": [0], "n": pa.array([2.0**53])}), r"of 2\^53 and more, which are rounded"),
    "no number": (pa.table({"age": [0], "n": pa.array([float("nan")])}), "whole numbers of reports"),
    "dates": (pa.table({"age": [0], "n": pa.array([0], pa.date32())}), "whole numbers of reports"),
    "lists": (pa.table({"age": [0], "n": [[1]]}), "whole numbers of reports"),
    "structs": (pa.table({"age": [0], "n": [{"x": 1}]}), "whole numbers of reports"),
    "no rows": ([], "rows are a list of mappings"),
    "no table": (7, "speaks Arrow"),
}


@pytest.mark.parametrize(("rows", "match"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_rows_that_cannot_be_are_refused(rows: object, match: str) -> None:
    with pytest.raises(dn.CountError, match=match):
        dn.count_patterns(TWO, rows)


def test_what_a_row_does_not_have_is_of_another_table() -> None:
    counts = dn.count_patterns(TWO, [{"unit 0": 1, "n": 5}, {"age": "old", "n": 5}])
    assert counts.array("n").tolist() == [5, 5]
    assert counts.array("age").tolist() == [5, 0, 5]


def test_floats_are_taken_while_they_are_exact() -> None:
    rows = pa.table({"age": [0, 1], "n": pa.array([2.0**53 - 1, 0.0])})
    assert dn.count_patterns(TWO, rows).n == 2**53 - 1


TWO_ARMS = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y"])]), epsilon=4.0, arms=[["a"], ["b"]])


@pytest.mark.parametrize("b", [1, "y"])
def test_what_an_arm_does_not_ask_is_refused(b: object) -> None:
    with pytest.raises(dn.CountError, match=r"5 reports of an arm show 'b', which that arm does not ask: it asks 'a'"):
        dn.count_patterns(TWO_ARMS, [{"arm": 0, "a": 1, "b": b, "n": 5}, {"arm": 1, "b": b, "n": 7}])
    found = dn.count_patterns(TWO_ARMS, [{"arm": 0, "a": 1, "n": 5}, {"arm": 1, "b": b, "n": 7}])
    assert [arm.n for arm in found.arms] == [5, 7]


def test_rows_of_two_queries_are_taken_together() -> None:
    """The second says of the arm that it does not ask how many reports there are."""
    reports = some_reports(TWO_ARMS, 40)
    run = in_duckdb(reports, [])
    rows = [row for name in "ab" for row in run(dn.sql(TWO_ARMS, [name])).to_pylist()]
    assert dn.count_patterns(TWO_ARMS, rows) == dn.count(reports, [["a"], ["b"]])
    with pytest.raises(dn.CountError, match="show nothing, beside tables of"):
        dn.count_patterns(TWO_ARMS, [*rows, {"arm": 0, "n": 1}])


@pytest.mark.parametrize("n", [2**31, 2**53 + 1, 2**63 - 1])
def test_billions_are_exact(n: int) -> None:
    counts = dn.count_patterns(TWO, [{"age": "old", "n": n - 1}, {"age": "young", "n": 1}])
    assert counts.array("age").tolist() == [n, 1, n - 1]
    assert dn.count_patterns(MIXED, [{"sue": 5, "n": n - 1}, {"sue": 5, "n": 1}]).array("sue")[0] == n


@pytest.mark.slow
def test_billions_are_exact_as_databases_send_them(database: str) -> None:  # noqa: F811
    in_duck = in_duckdb(some_reports(TWO_FLAGS, 1), [])
    with psycopg.connect(database, row_factory=dict_row) as connection:
        for n in EDGES:
            query = f"SELECT CAST(1 AS BIGINT) AS a, sum(k) AS n FROM (VALUES ({n - 10}), (1), (9)) AS v(k)"
            for rows in (in_duck(query), connection.execute(query).fetchall()):
                assert dn.count_patterns(TWO_FLAGS, rows).array("a").tolist() == [n, n]


def test_more_than_64_bits_is_an_error_and_never_wraps() -> None:
    rows = [{"age": "old", "n": 2**63 - 1}, {"age": "young", "n": 1}]
    for more in (rows, [rows[0], rows[0]], [rows[0], *rows[1:] * 3]):
        with pytest.raises(dn.CountError, match="more than 64-bit integers"):
            dn.count_patterns(TWO, more)
    with pytest.raises(dn.CountError, match="more than 64-bit integers"):
        dn.count_patterns(MIXED, [{"sue": 5, "n": 2**63 - 1}, {"sue": 5, "n": 1}])


def test_arms_that_are_too_many_together_are_an_error() -> None:
    with pytest.raises(dn.CountError, match="^9223372036854775808 reports are more than 64-bit integers can count"):
        dn.count_patterns(TWO_ARMS, [{"arm": 0, "a": 1, "n": 2**62}, {"arm": 1, "b": 1, "n": 2**62}])


@pytest.mark.parametrize("asked", [["grr"], ["grr", "sue"], ["grr", "many"]], ids=["values", "patterns", "places"])
def test_sums_that_would_wrap_to_a_positive_number_are_an_error(asked: list[str]) -> None:
    """Four times 6.16e18 is 6.19e18 in 64 bits, which is more than any of the four, as a sum should be."""
    schema = dn.Schema([dn.Choice("grr", values(4)), dn.Choice("sue", values(3)), dn.Choice("many", values(40))])
    unary = dn.UnaryEncoding.symmetric(1.0)
    plan = dn.Plan(schema, {"grr": dn.GRR(epsilon=1.0), "sue": unary, "many": unary})
    rows = [{**dict.fromkeys(asked, 0), "grr": k, "n": 616 * 10**16} for k in range(4)]
    assert sum(row["n"] for row in rows) % 2**64 > 616 * 10**16
    with pytest.raises(dn.CountError, match="24640000000000000000 reports are more than 64-bit integers"):
        dn.count_patterns(plan, rows)
    assert dn.count_patterns(plan, [row | {"n": 2**61 - (k == 0)} for k, row in enumerate(rows)]).n == 2**63 - 1


# -- what a query is asked for -----------------------------------------------------------------------------------------


def test_a_query_says_what_it_cannot_do() -> None:
    many = dn.Plan(dn.Schema([dn.Flag(f"f{k}") for k in range(70)]), epsilon=5.0)
    for call, match in (
        (lambda: dn.sql(MIXED), "give one of them"),
        (lambda: dn.sql(MIXED, ["flag"], order=2), "give one of them"),
        (lambda: dn.sql(MIXED, ["flag"], dialect="postgre"), "did you mean 'postgres'"),
        (lambda: dn.sql(MIXED, ["flags"]), "flags"),
        (lambda: dn.sql("plan.json", ["flag"]), "needs a Plan"),
        (lambda: dn.sql(many, order=2), "2,415 groupings"),
        (lambda: dn.sql(MIXED, ["flag"], packed=""), "packed= takes a name, as it stands in the database; found ''"),
        (lambda: dn.sql(MIXED, ["flag"], table=None), "table= takes a name"),
    ):
        with pytest.raises(dn.DeniableError, match=re.escape(match)):
            call()


def test_long_names_and_names_of_one_spelling_are_told_apart() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("A"), dn.Choice("a", ["x", "y"]), dn.Flag("f" * 70)]), epsilon=3.0)
    reports = some_reports(plan, 30)
    run = in_duckdb(pa.table({"x": [1]}), reports.to_bytes())
    names = list(plan.schema.names)
    rows = run(dn.sql(plan, names, **TABLES[1]))
    assert rows.column_names == ["A", "unit 1", "unit 2", "n"]
    assert dn.count_patterns(plan, rows) == dn.count(reports, names)


AWKWARD = [
    ["unit 1", "arm", "Unit 0", "n"],  # each could be the place that another is called by
    ["u0", "r", "x0", "counted", "place", "z0", "packed"],  # names that the query has of its own
    ["select", 'a"b', "c'd", "tick`s", "back\\slash", "{of}", "%s", "$1", "${env:HOME}", "-- x", "/* x"],
    ["\u00e4", "\u00c4", "\u00df", "SS", " lead", "\U0001f6ac", "\u05d0", "f" * 70, "\u00e9" * 40],
]


def awkward(names: list[str]) -> dn.Reports:
    """Reports of flags of these names; the last question has the same words as its answers."""
    words = [name for name in names if name.strip() == name]
    schema = dn.Schema([*map(dn.Flag, names), dn.Choice("words", words)])
    plan = dn.Plan(schema, dict.fromkeys(names, dn.RandomizedResponse(epsilon=2.0)) | {"words": dn.GRR(epsilon=2.0)})
    answers = {name: [row % (place + 2) == 0 for row in range(60)] for place, name in enumerate(names)}
    return dn.randomize(answers | {"words": [words[row % len(words)] for row in range(60)]}, plan, rng=1)


def check_awkward(reports: dn.Reports, run: Any, dialect: str) -> None:
    names = list(reports.plan.schema.names)
    asked = [names[:2], names[-2:], names[1:2], ["words"]]
    for where in TABLES:
        rows = run(dn.sql(reports.plan, asked, dialect=dialect, **where))
        assert dn.count_patterns(reports.plan, rows) == dn.count(reports, asked)


@pytest.mark.parametrize("names", AWKWARD, ids=["places", "own", "signs", "letters"])
def test_awkward_names_are_told_apart(names: list[str]) -> None:
    reports = awkward(names)
    check_awkward(reports, in_duckdb(reports, reports.to_bytes()), "duckdb")


@pytest.mark.slow
def test_awkward_names_are_told_apart_in_postgres(database: str) -> None:  # noqa: F811
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as connection:
        for names in AWKWARD:
            reports = awkward(names)
            check_awkward(reports, in_postgres(connection, reports, reports.to_bytes()), "postgres")


CASES = {
    "questions": dn.Plan(dn.Schema([dn.Flag("A"), dn.Flag("a"), dn.Flag("b")]), epsilon=3.0),
    "values": dn.Plan(
        dn.Schema([dn.Choice("x", ["A", "a"]), dn.Flag("b")]),
        {"x": dn.UnaryEncoding.symmetric(2.0), "b": dn.RandomizedResponse(epsilon=1.0)},
    ),
    "the arm": dn.Plan(dn.Schema([dn.Flag("ARM"), dn.Flag("b")]), epsilon=3.0, arms=[["ARM"], ["b"]]),
}


@pytest.mark.parametrize("plan", CASES.values(), ids=CASES.keys())
def test_columns_that_duckdb_takes_for_one_are_refused_there(plan: dn.Plan) -> None:
    """It calls the second `a_1`, and reads the first where `a` is asked for; PostgreSQL looks at the case."""
    names = [plan.schema.names[0]]
    with pytest.raises(dn.CountError, match="differs from it in case alone"):
        dn.sql(plan, names)
    assert dn.sql(plan, names, dialect="postgres")
    assert dn.sql(plan, names, packed="report")
    if not plan.has_arms:
        reports = some_reports(plan, 50)
        assert dn.count_patterns(plan, in_duckdb(reports, [])(dn.sql(plan, ["b"]))) == dn.count(reports, ["b"])
