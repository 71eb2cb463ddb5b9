"""Reports of plans with arms as tables, bytes and files: arms' own columns, the wide table, and what is refused."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.reports import arm_row_groups, wide_table
from deniable.reports.arm_columns import ArmColumns, arm_columns
from deniable.reports.arm_row_groups import arm_batches
from deniable.reports.fields import columns_of, report_bytes
from deniable.reports.parquet import PLAN_KEY, open_parquet, write
from tests.support.arms_in_bulk import PLANS, every_plan, rows_by_arm, some_reports
from tests.support.memory import needs_proc, peak_kilobytes

ARMS = {title: plan for title, plan in PLANS.items() if plan.has_arms}
every_arms = pytest.mark.parametrize("plan", ARMS.values(), ids=ARMS.keys())
FULL = PLANS["arms of every protocol"]


@every_plan
@pytest.mark.parametrize("count", [0, 1, 100])
def test_files_bytes_and_tables_bring_the_same_reports_back(plan: dn.Plan, count: int, tmp_path: Path) -> None:
    reports = some_reports(plan, count)
    assert len(reports) == count == sum(len(part) for part in reports.arms)
    assert tuple(part.plan for part in reports.arms) == plan.arms
    assert f"{count} respondent{'s' * (count != 1)}," in repr(reports)
    reports.save(tmp_path / "r.parquet")
    assert dn.Reports.load(tmp_path / "r.parquet") == reports
    raw = reports.to_bytes()
    assert {len(report) for report in raw} <= {report_bytes(plan)}
    assert dn.Reports.from_bytes(raw, plan) == reports
    assert dn.Reports(plan, reports) == reports
    for again in (copy.copy(reports), copy.deepcopy(reports), pickle.loads(pickle.dumps(reports))):
        assert again == reports
    assert dn.Reports.of_arms(plan, reports.arms) == reports
    if count > 1:
        assert dn.Reports.from_bytes(raw[1:], plan) != reports


@every_arms
def test_rows_in_any_order_are_sorted_into_arms(plan: dn.Plan, tmp_path: Path) -> None:
    reports = some_reports(plan, 200)
    order = np.random.default_rng(1).permutation(200)
    mixed = dn.Reports(plan, reports.table.take(pa.array(order)))
    assert [len(part) for part in mixed.arms] == [len(part) for part in reports.arms]
    for number, name in enumerate(plan.arm_names):
        start = sum(len(part) for part in reports.arms[:number])
        own = order[(order >= start) & (order < start + len(reports.arms[number]))] - start
        assert mixed.arms[number].table.equals(reports.arms[number].table.take(pa.array(own))), name
    raw = reports.to_bytes()
    assert dn.Reports.from_bytes([raw[row] for row in order], plan) == mixed
    shuffled = reports.table.take(pa.array(order)).replace_schema_metadata({PLAN_KEY: plan.to_json()})
    pq.write_table(shuffled, tmp_path / "r.parquet", row_group_size=70)
    assert dn.Reports.load(tmp_path / "r.parquet") == mixed


# -- the wide table ----------------------------------------------------------------------------------------------------


def check_wide(reports: dn.Reports, names: list[dict[str, str]], arm: str = "arm") -> None:
    """Each row of the wide table shows its own arm's columns, and nothing else."""
    for row, (number, own) in zip(reports.table.to_pylist(), rows_by_arm(reports), strict=True):
        assert row.pop(arm) == reports.plan.arm_names[number]
        assert {name: value for name, value in row.items() if value is not None} == {
            names[number][name]: value for name, value in own.items()
        }


def names_by_hand(plan: dn.Plan) -> list[dict[str, str]]:
    """The wide name of each own column of each arm: a number is behind what another block has taken."""
    taken: dict[str, list[Any]] = {}
    wide: list[dict[str, str]] = []
    for own in plan.arms:
        wide.append({})
        for block in own.blocks:
            for column in columns_of(dn.Plan._of_blocks(own.schema, (block,), None)):
                blocks = taken.setdefault(column.name, [])
                if block not in blocks:
                    blocks.append(block)
                place = blocks.index(block)
                wide[-1][column.name] = f"{column.name} ({place + 1})" if place else column.name
    return wide


@every_arms
def test_wide_tables_show_each_report_in_its_own_columns(plan: dn.Plan) -> None:
    check_wide(some_reports(plan), names_by_hand(plan), "arm (2)" if "arm" in plan.schema else "arm")


def test_names_that_are_taken_get_a_number() -> None:
    plan = PLANS["the same blocks in several arms"]
    names = some_reports(plan).table.column_names
    shown = [name for name in names if not name.startswith(("c", "b x c"))]
    assert shown == ["arm", "a", "b", "a (2)"]
    wide = arm_columns(plan)
    assert wide.names[0] == ("a", "b")
    assert wide.names[2][0] == "a"  # the same block as in the first arm
    assert wide.names[3] == ("a (2)",)  # alone, with all of epsilon
    called = PLANS["a question called arm"]
    assert arm_columns(called).arm == "arm (2)"
    reports = some_reports(called)
    assert reports.table.column_names == ["arm (2)", "arm", "x"]
    assert reports.table["arm (2)"].to_pylist() == ["x"] * len(reports.arms[0]) + ["arm"] * len(reports.arms[1])
    assert reports.table["arm"].to_pylist()[: len(reports.arms[0])] == reports.arms[0].table["arm"].to_pylist()


def test_a_number_that_is_taken_too_is_passed_over() -> None:
    a, other = dn.Flag("a"), dn.Flag("a (2)")
    one, two = (dn.Plan(dn.Schema([a]), epsilon=epsilon) for epsilon in (1.0, 1.01))
    three = dn.Plan(dn.Schema([other]), epsilon=1.0)
    plan = dn.Plan(dn.Schema([a, other]), arms={"x": three, "y": one, "z": two}, unequal=True)
    assert arm_columns(plan).names == (("a (2)",), ("a",), ("a (3)",))


def rotated(self: ArmColumns) -> Any:
    """Another arm's columns are filled."""
    names = [tuple(name for field in own for name in field.names) for own in self.fields]
    return tuple(names[1:] + names[:1])


def test_a_wide_table_that_fills_another_arms_columns_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["every pair of 9 flags"]
    reports = some_reports(plan)
    arm_columns.cache_clear()
    monkeypatch.setattr(ArmColumns, "names", property(rotated))
    with pytest.raises(AssertionError):
        check_wide(reports, names_by_hand(plan))


def test_public_columns_are_one_for_all_arms() -> None:
    reports = some_reports(FULL)
    for name in ("region", "wave two"):
        assert reports.table[name].null_count == 0
    assert reports.table["smoker"].null_count == 100 - len(reports.arms[2])  # asked alone in one arm


def test_wide_tables_are_ordinary_columns(tmp_path: Path) -> None:
    reports = some_reports(FULL)
    reports.save(tmp_path / "r.parquet")
    frame = pd.read_parquet(tmp_path / "r.parquet")
    assert list(frame["arm"]) == reports.table["arm"].to_pylist()
    assert list(frame["smoker x age"].dropna()) == reports.arms[0].table["smoker x age"].to_pylist()
    assert pl.read_parquet(tmp_path / "r.parquet")["region"].to_list() == reports.table["region"].to_pylist()
    assert pl.DataFrame(reports).height == pa.table(reports).num_rows == 100
    assert pa.table(reports).schema.metadata[PLAN_KEY] == FULL.to_json().encode()
    assert reports.arms[0].table.schema.metadata[PLAN_KEY] == FULL.arms[0].to_json().encode()


@pytest.mark.parametrize("rewrite", ["polars", "pandas", "plain strings", "reordered", "without empty columns"])
def test_a_file_rewritten_by_another_program_is_read(rewrite: str, tmp_path: Path) -> None:
    reports = some_reports(FULL)
    table = reports.table
    match rewrite:
        case "polars":
            table = pl.from_arrow(table).to_arrow()
        case "pandas":
            table = pa.Table.from_pandas(table.to_pandas())
            assert table.schema.field(next(n for n in table.column_names if n.endswith("bucket"))).type == pa.float64()
        case "plain strings":
            table = table.set_column(0, "arm", table["arm"].cast(pa.large_string()))
        case "reordered":
            table = table.select(list(reversed(table.column_names))).append_column("extra", [range(100)])
        case "without empty columns":
            table = table.filter(pa.compute.not_equal(table["arm"].cast(pa.string()), "by hash"))
            table = table.select([name for name in table.column_names if table[name].null_count < len(table)])
            reports = dn.Reports.of_arms(
                FULL, [part if k != 3 else dn.Reports(part.plan, part.table[:0]) for k, part in enumerate(reports.arms)]
            )
    assert dn.Reports(FULL, table) == reports
    table = table.replace_schema_metadata({PLAN_KEY: FULL.to_json()})
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=30)
    assert dn.Reports.load(tmp_path / "r.parquet") == reports


def test_wide_tables_take_little_more_memory_than_their_arms() -> None:
    """All nulls of one type are the same bytes, of which there are no more than reports."""
    plan = PLANS["every pair of 9 flags"]
    rng = np.random.default_rng(1)
    reports = dn.randomize({name: rng.random(100_000) < 0.5 for name in plan.schema.names}, plan, rng=rng)
    before = pa.total_allocated_bytes()
    table = reports.table
    assert pa.total_allocated_bytes() - before < 3_000_000  # 36 columns of 2 bytes for each would take 7 200 000
    assert table.num_columns == 37


# -- what is refused ---------------------------------------------------------------------------------------------------

TABLE = some_reports(FULL, 20).table
FIRST = {name: TABLE["arm"].to_pylist().index(name) for name in FULL.arm_names}


def changed(name: str, row: int, value: Any) -> dn.Reports:
    """The reports with another value in one place."""
    column = TABLE[name].to_pylist()
    column[row] = value
    kind = TABLE.schema.field(name).type
    array = pa.array(column) if pa.types.is_dictionary(kind) else pa.array(column, kind)
    return dn.Reports(FULL, TABLE.set_column(TABLE.column_names.index(name), name, array))


RAW = some_reports(FULL, 20).to_bytes()
PAD = bytes([*RAW[0][:-1], RAW[0][-1] | 128])
PAIR = some_reports(PLANS["two flags"], 3)
REFUSED: dict[str, tuple[Any, str]] = {
    "unknown arm": (
        lambda: changed("arm", 4, "by chance"),
        r"report 4 \(counted from 0\), column 'arm': 'by chance' is no arm.*arms are 'by value', 'by set'",
    ),
    "no arm": (
        lambda: changed("arm", 7, None),
        r"report 7 \(counted from 0\), column 'arm': null; every report has an arm",
    ),
    "arms as numbers": (
        lambda: dn.Reports(FULL, TABLE.set_column(0, "arm", [range(20)])),
        "'arm' of the reports must be text, the names of arms; found int64",
    ),
    "arms missing": (lambda: dn.Reports(FULL, TABLE.drop("arm")), "column 'arm' is missing"),
    "column missing": (
        lambda: dn.Reports(FULL, TABLE.drop("smoker x age")),
        "'smoker x age' is missing from the reports, and arm 'by value', which .* asks it",
    ),
    "null where asked": (
        lambda: changed("smoker x age", FIRST["by value"] + 1, None),
        rf"report {FIRST['by value'] + 1} \(counted from 0\), column 'smoker x age': null, but it is asked in arm",
    ),
    "null in public": (lambda: changed("region", 3, None), r"report 3 \(counted from 0\), column 'region': null"),
    "value where not asked": (
        lambda: changed("smoker x age", FIRST["by hash"], "True x old"),
        rf"report {FIRST['by hash']} .*column 'smoker x age': not asked in arm 'by hash', but there is a value",
    ),
    "both": (lambda: _moved("smoker x age"), r"column 'smoker x age': (not asked in arm|null)"),
    "unknown value": (
        lambda: changed("smoker x age", FIRST["by value"], "True x odd"),
        rf"report {FIRST['by value']} .*'True x odd' is not one of its values",
    ),
    "a name with a number": (lambda: changed("smoker (2)", FIRST["by one bit"], None), r"column 'smoker \(2\)': null"),
    "a bucket and a half": (lambda: _float_bucket(), "a bucket is a whole number"),
    "column twice": (lambda: dn.Reports(FULL, TABLE.append_column("arm", TABLE["arm"])), "two columns of one name"),
    "arm too high": (
        lambda: dn.Reports.from_bytes([RAW[0], bytes([RAW[1][0] | 7, *RAW[1][1:]])], FULL),
        r"report 1 \(counted from 0\) is of arm 7 \(counted from 0\); this plan has 5",
    ),
    "padding": (lambda: dn.Reports.from_bytes([RAW[-1], PAD], FULL), r"report 1 \(counted from 0\) has bits after"),
    "padding of the last byte": (
        lambda: dn.Reports.from_bytes([b"\3", b"\4"], PLANS["two flags"]),
        "report 1 .*bits after",
    ),
    "too long": (
        lambda: dn.Reports.from_bytes([b"\0\0"], PLANS["two flags"]),
        "report 0 .*has 2 bytes; this plan's have 1",
    ),
    "parts of another plan": (lambda: dn.Reports.of_arms(FULL, PAIR.arms), "has 5 arms.*found 2 parts"),
    "parts in another order": (lambda: dn.Reports.of_arms(PAIR.plan, PAIR.arms[::-1]), "in order; found 2 parts"),
    "parts that are none": (lambda: dn.Reports.of_arms(PAIR.plan, [1, 2]), "found 2 parts"),
    "parts without a plan": (lambda: dn.Reports.of_arms(None, []), "need the plan they were made by; found None"),
    "another plan": (lambda: write("never.parquet", FULL, [PAIR]), f"are of plan {PAIR.plan.fingerprint}, not"),
}


def _moved(name: str) -> dn.Reports:
    """As many values as before, but one is another arm's."""
    column = TABLE[name].to_pylist()
    column[FIRST["by value"]], column[FIRST["by hash"]] = None, "True x old"
    return dn.Reports(FULL, TABLE.set_column(TABLE.column_names.index(name), name, pa.array(column)))


def _float_bucket() -> dn.Reports:
    name = next(name for name in TABLE.column_names if name.endswith(": bucket"))
    column = [None if value is None else value + 0.5 for value in TABLE[name].to_pylist()]
    return dn.Reports(FULL, TABLE.set_column(TABLE.column_names.index(name), name, pa.array(column)))


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dn.ReportError, match=message):
        make()
    assert not list(tmp_path.iterdir())


def test_errors_name_the_report_in_the_order_given() -> None:
    """Also in reports that are sorted into arms only then."""
    order = np.random.default_rng(2).permutation(20)
    column = TABLE["smoker x age"].to_pylist()
    column[FIRST["by value"] + 2] = "True x odd"
    table = TABLE.set_column(TABLE.column_names.index("smoker x age"), "smoker x age", pa.array(column))
    row = order.tolist().index(FIRST["by value"] + 2)
    with pytest.raises(dn.ReportError, match=rf"report {row} \(counted from 0\), column 'smoker x age'"):
        dn.Reports(FULL, table.take(pa.array(order)))
    raw = [RAW[place] for place in order]
    bad = next(place for place, report in enumerate(raw) if report[0] & 7 == 1)
    raw[bad] = bytes([1, *[0] * (len(RAW[0]) - 1)])  # an empty set
    with pytest.raises(dn.ReportError, match=rf"report {bad} \(counted from 0\): 0 of the columns"):
        dn.Reports.from_bytes(raw, FULL)


# -- files -------------------------------------------------------------------------------------------------------------


def all_columns(plan: dn.Plan) -> list[list[str]]:
    return [[column.name for column in columns_of(own)] for own in plan.arms]


def arms_of_groups(path: Path) -> list[set[str]]:
    source = pq.ParquetFile(path)
    return [set(source.read_row_group(k, columns=["arm"])["arm"].to_pylist()) for k in range(source.num_row_groups)]


def test_large_arms_have_row_groups_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["unequal shares"]
    monkeypatch.setattr(arm_row_groups, "OWN_GROUP", 200)
    reports = some_reports(plan, 1000)
    reports.save(tmp_path / "r.parquet")
    assert arms_of_groups(tmp_path / "r.parquet")[0] == {"smoker x age"}
    assert len(arms_of_groups(tmp_path / "r.parquet")) == 2
    assert dn.Reports.load(tmp_path / "r.parquet") == reports


def test_reports_in_parts_stand_arm_by_arm_in_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["every pair of 9 flags"]
    monkeypatch.setattr(arm_row_groups, "OWN_GROUP", 40)
    monkeypatch.setattr(arm_row_groups, "MIXED_GROUP", 100)
    monkeypatch.setattr(arm_row_groups, "MOST_HELD", 36 * 15 * arm_row_groups.TABLE_BYTES)
    parts = [some_reports(plan, 100 + k) for k in range(40)]
    total = sum(map(len, parts))
    assert write(tmp_path / "r.parquet", plan, parts) == total
    groups = arms_of_groups(tmp_path / "r.parquet")
    assert len(groups) < 110
    assert sum(len(arms) == 1 for arms in groups) > 36
    loaded = dn.Reports.load(tmp_path / "r.parquet")
    for number, part in enumerate(loaded.arms):
        assert part.table.equals(pa.concat_tables([one.arms[number].table for one in parts]))


def test_batches_are_of_one_arm_with_what_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any size, of own and mixed row groups; an arm of which nothing is wanted still says how many there are."""
    reports = some_reports(FULL, 200)
    monkeypatch.setattr(arm_row_groups, "OWN_GROUP", sorted(map(len, reports.arms))[2])
    reports.save(tmp_path / "r.parquet")
    assert [len(arms) for arms in arms_of_groups(tmp_path / "r.parquet")] == [1, 1, 1, 2]
    wanted = [["smoker x age"], [], ["smoker", "region"], ["region"], ["smoker"]]
    for rows in (7, 1000):
        tables: list[list[Any]] = [[] for _ in FULL.arms]
        found = [0] * len(FULL.arms)
        for batch in arm_batches(open_parquet(tmp_path / "r.parquet"), FULL, wanted, rows):
            assert batch.table.column_names == wanted[batch.arm]
            assert len(batch) == batch.reports
            found[batch.arm] += batch.reports
            tables[batch.arm].append(batch.table)
        assert found == [len(part) for part in reports.arms]
        for own, names, part in zip(tables, wanted, reports.arms, strict=True):
            if names:
                joined = pa.concat_tables(own)
                assert joined.to_pylist() == part.table.select(names).to_pylist()
                assert all(table.num_rows <= rows for table in own)


def test_only_columns_of_the_arms_that_are_there_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["every pair of 9 flags"]
    monkeypatch.setattr(arm_row_groups, "OWN_GROUP", 30)
    monkeypatch.setattr(arm_row_groups, "MIXED_GROUP", 60)
    reports = some_reports(plan, 1000)
    reports.save(tmp_path / "r.parquet")
    read: list[str] = []
    right = arm_row_groups._File.read

    def watched(self: Any, group: int, first: int, rows: int, names: Any) -> Any:
        read.extend(names)
        return right(self, group, first, rows, names)

    monkeypatch.setattr(arm_row_groups._File, "read", watched)
    assert dn.Reports.load(tmp_path / "r.parquet") == reports
    assert sorted(name for name in read if name != "arm") == sorted(arm_columns(plan).columns)  # once each


def test_what_is_wrong_in_a_file_is_told_by_report(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"

    def saved(table: Any, size: int = 8) -> Any:
        pq.write_table(table.replace_schema_metadata({PLAN_KEY: FULL.to_json()}), path, row_group_size=size)
        return path

    place = TABLE.column_names.index("smoker x age")
    column = TABLE["smoker x age"].to_pylist()
    null, value = list(column), list(column)
    null[FIRST["by value"] + 1], value[-1] = None, "True x old"
    bad = {
        "null": (
            TABLE.set_column(place, "smoker x age", pa.array(null)),
            rf"report {FIRST['by value'] + 1} .*null, but",
        ),
        "value": (TABLE.set_column(place, "smoker x age", pa.array(value)), "report 19 .*not asked in arm"),
        "no arms": (TABLE.drop("arm"), "column 'arm' is missing"),
        "missing": (TABLE.drop("smoker x age"), "'smoker x age' is missing from the reports, and arm 'by value'"),
        "unknown": (TABLE.set_column(0, "arm", [["by chance"] * 20]), "report 0 .*'by chance' is no arm"),
        "twice": (TABLE.append_column("arm", TABLE["arm"]), "column 'arm' occurs twice"),
    }
    for table, message in bad.values():
        with pytest.raises(dn.ReportError, match=f"r.parquet: {message}" if message[:6] == "column" else message):
            dn.Reports.load(saved(table, 20))
    for table, message in (bad["null"], bad["missing"], bad["unknown"]):  # also in row groups of one arm
        with pytest.raises(dn.ReportError, match=message):
            dn.Reports.load(saved(table, 1))


def test_a_row_group_of_one_arm_is_told_by_its_statistics(tmp_path: Path) -> None:
    """Without statistics all are read as if they were mixed, with the same result."""
    reports = some_reports(FULL, 60)
    table = reports.table
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=1, write_statistics=False)
    assert dn.Reports.load(tmp_path / "r.parquet") == reports


def test_hundreds_of_arms_of_few_reports(tmp_path: Path) -> None:
    names = [f"f{k}" for k in range(16)]
    triples = [[a, b, c] for i, a in enumerate(names) for j, b in enumerate(names[:i]) for c in names[:j]]
    plan = dn.Plan(dn.Schema(map(dn.Flag, names)), epsilon=1.0, arms=triples)
    reports = some_reports(plan, 300)
    assert len(plan.arms) == 560
    assert dn.Reports.from_bytes(reports.to_bytes(), plan) == reports
    reports.save(tmp_path / "r.parquet")
    assert pq.ParquetFile(tmp_path / "r.parquet").num_row_groups == 1
    assert dn.Reports.load(tmp_path / "r.parquet") == reports


@pytest.mark.slow
@needs_proc
def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    """Four times as many records take hardly more memory from files to a file, and much more if they are kept."""
    protocols = {name: dn.LocalHashing(epsilon=1.0) for name in "abc"}
    schema = dn.Schema([dn.Choice(name, ["x", "y"]) for name in "abc"])
    (tmp_path / "plan.json").write_text(dn.Plan(schema, protocols, arms=[["a"], ["b"], ["c"]]).to_json())
    for files in (8, 32):
        (tmp_path / str(files)).mkdir()
        for part in range(files):
            table = pa.table({name: np.random.default_rng(part).choice(["x", "y"], 250_000) for name in "abc"})
            pq.write_table(table, tmp_path / f"{files}/{part}.parquet")
    code = f"os.chdir({str(tmp_path)!r}); plan = dn.Plan.load('plan.json'); "
    written = [peak_kilobytes(f"{code}dn.randomize('{files}', plan, output='r.parquet')") for files in (8, 32)]
    kept = [peak_kilobytes(f"{code}dn.randomize('{files}', plan)") for files in (8, 32)]
    assert kept[1] - kept[0] > 90_000
    assert written[1] - written[0] < (kept[1] - kept[0]) / 5


def test_nulls_are_shared() -> None:
    made = wide_table._Nulls(10)
    first, second = (made.of(arm_columns(FULL).columns["smoker x age"], n) for n in (3, 10))
    assert first.null_count == 3
    assert first.indices.buffers()[1].address == second.indices.buffers()[1].address
