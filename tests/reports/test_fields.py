"""What reports show of a feature: columns and back, evidence by brute force, and what is refused."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.reports.fields import (
    BitField,
    HashField,
    _packed,
    arm_bits,
    boolean_array,
    columns_by_name,
    columns_of,
    distinct,
    fields,
    report_bytes,
)
from tests.support.situations import values
from tests.support.surveys import some_reports, supports

KINDS = {
    "rr": dn.RandomizedResponse(epsilon=1.0),
    "open flag": dn.Public(),
    "grr": dn.GRR(epsilon=1.0),
    "open": dn.Public(),
    "two bits": dn.UnaryEncoding.symmetric(1.0),
    "ue": dn.UnaryEncoding.optimized(1.0),
    "ss": dn.SubsetSelection(epsilon=1.0, size=2),
    "lh": dn.LocalHashing(epsilon=1.0, buckets=3),
}
SIZES = {"rr": 1, "open flag": 1, "grr": 3, "open": 3, "two bits": 2, "ue": 5, "ss": 5, "lh": 5}
PLAN = dn.Plan(dn.Schema([dn.Flag(name) if m == 1 else dn.Choice(name, values(m)) for name, m in SIZES.items()]), KINDS)
REPORTS = some_reports(PLAN, 203)
FOUND = columns_by_name(REPORTS.table.combine_chunks())
every_field = pytest.mark.parametrize("name", KINDS)


def arrays_of(name: str) -> list[Any]:
    return fields(PLAN)[name].conform(FOUND)


def evidence_of(name: str) -> np.ndarray:
    """By brute force, one report at a time: shape (reports, columns)."""
    return supports(PLAN, REPORTS.table, name)[:, 1:]


@every_field
def test_columns_of_what_is_shown_are_the_columns_again(name: str) -> None:
    field, arrays = fields(PLAN)[name], arrays_of(name)
    assert field.arrays(field.shown(arrays), 203) == arrays
    assert field.names == [column for column in REPORTS.table.column_names if column.split(": ")[0] == name]
    assert field.size == SIZES[name]


@every_field
def test_marks_and_patterns_are_the_evidence(name: str) -> None:
    field, bits = fields(PLAN)[name], evidence_of(name)
    shown = field.shown(arrays_of(name))
    np.testing.assert_array_equal(np.array(list(field.marks(shown, 203))).T, bits)
    codes, patterns = field.patterns(shown, 203)
    assert codes.dtype == patterns.dtype == np.int64
    np.testing.assert_array_equal(patterns[codes], bits)
    assert len(np.unique(patterns, axis=0)) == len(patterns)


@every_field
def test_marks_of_groups_of_values_are_summed(name: str) -> None:
    field, bits = fields(PLAN)[name], evidence_of(name)
    shown, groups = field.shown(arrays_of(name)), np.arange(SIZES[name]) % 2
    expected = np.array([[bits[row, groups == group].sum() for group in range(2)] for row in range(203)])
    np.testing.assert_array_equal(field.marked(shown, 203, groups, 2), expected)
    for wrong in (groups[1:], np.append(groups, 0)):
        with pytest.raises(ValueError, match="zip"):
            field.marked(shown, 203, wrong, 2)


def test_only_bits_stand_in_reports_as_evidence() -> None:
    shows = {name: field.shows_bits for name, field in fields(PLAN).items()}
    assert shows == {name: name in ("rr", "open flag", "two bits", "ue", "ss") for name in KINDS}


def test_only_hashes_cost_time_and_seeds_most_memory() -> None:
    """A million hashes of 5 values: 5 * (0.05 s + 0.1 ms). In memory: bits, 128 for a value, 128 + 16 for a hash."""
    of = fields(PLAN)
    assert of["lh"].plain_seconds(1_000_000) == pytest.approx(0.2505)
    assert of["lh"].plain_seconds(0) == pytest.approx(5e-4)
    assert {name for name, field in of.items() if field.plain_seconds(1_000_000) == 0.0} == {*KINDS} - {"lh"}
    assert [of[name].held for name in ("rr", "ue", "grr", "lh")] == [1, 5, 128, 144]


def test_a_hash_shows_a_seed_and_a_bucket_and_nothing_else() -> None:
    field = fields(PLAN)["lh"]
    assert isinstance(field, HashField)
    assert field.buckets == 3
    seeds, buckets = field.shown(arrays_of("lh"))
    for wrong in ((seeds,), (seeds, buckets, buckets)):
        with pytest.raises(ValueError, match="zip"):
            field.arrays(wrong, 203)


@pytest.mark.parametrize(("first", "number"), [((), 2), ((40,), 42), ((np.array([5, 3, 8, 1]),), 8)])
def test_a_report_that_marks_another_number_of_values_is_named(first: tuple[Any, ...], number: int) -> None:
    """Each report of size 2 has two marks; the third has one, the fourth three."""
    field = fields(PLAN)["ss"]
    marks = [[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0], [1, 1, 1, 0, 0]]
    columns = {name: pa.array([bool(row[at]) for row in marks]) for at, name in enumerate(field.names)}
    said = rf"^report {number} \(counted from 0\): 1 of the columns 'ss: v0' to 'ss: v4' are true, .* has 2$"
    with pytest.raises(dn.ReportError, match=said):
        field.conform(columns, *first)
    right = {name: array.slice(0, 2) for name, array in columns.items()}
    assert field.conform(right, *first) == list(right.values())
    free = fields(PLAN)["ue"]
    assert isinstance(free, BitField)
    assert free.always_marked is None
    assert len(free.conform({f"ue: v{at}": array for at, array in enumerate(columns.values())})) == 5


def test_a_null_is_named_by_its_report() -> None:
    found = {"rr": pa.array([True, None]), "grr": pa.array(["v0", None])}
    for name in found:
        for first, number in (((), 1), ((7,), 8)):
            with pytest.raises(dn.ReportError, match=f"^report {number} "):
                fields(PLAN)[name].conform(found, *first)


def test_each_arm_has_fields_of_its_own() -> None:
    arms = dn.Plan(PLAN.schema, epsilon=1.0, arms=[["rr", "grr"], ["open flag", "open", "two bits", "ue", "ss", "lh"]])
    with pytest.raises(dn.ReportError, match=r"plan\.arms"):
        fields(arms)
    assert [column.name for column in columns_of(PLAN)] == REPORTS.table.column_names


@pytest.mark.parametrize(("arms", "bits"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_the_arms_number_takes_the_bits_of_the_highest(arms: int, bits: int) -> None:
    names = [f"f{at}" for at in range(arms)]
    alone = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=1.0, arms=[[name] for name in names])
    assert arm_bits(alone) == bits
    assert report_bytes(alone) == 1


@pytest.mark.parametrize(("flags", "size"), [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_a_report_has_as_many_bytes_as_its_bits_need(flags: int, size: int) -> None:
    schema = dn.Schema([dn.Flag(f"f{at}") for at in range(flags)])
    assert report_bytes(dn.Plan(schema, epsilon=5.0)) == size


def test_a_report_is_as_long_as_that_of_the_longest_arm() -> None:
    """Two bits for the number of three arms, and 7 of the longest: 9 bits; of 6 they are 8."""
    names = [f"f{at}" for at in range(7)]
    schema = dn.Schema([dn.Flag(name) for name in names])
    arms = [[[name] for name in part] for part in (names[:1], names, names[:3])]
    assert report_bytes(dn.Plan(schema, epsilon=5.0, arms=arms)) == 2
    fewer = [[[name] for name in part] for part in (names[:6], names[6:], names[:3])]
    assert report_bytes(dn.Plan(schema, epsilon=5.0, arms=fewer)) == 1


# -- bits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9, 17])
def test_distinct_columns_of_bits(rows: int) -> None:
    bits = (np.random.default_rng(rows).random((rows, 60)) < 0.5).astype(np.uint8)
    bits[:, 30:] = bits[:, :30]
    codes, patterns = distinct(bits)
    np.testing.assert_array_equal(patterns[codes], bits.T)
    assert len(patterns) == len({tuple(column) for column in bits.T.tolist()})


def test_a_single_row_of_bits_has_both_patterns_whatever_is_in_it() -> None:
    for bit in (0, 1):
        codes, patterns = distinct(np.full((1, 3), bit, np.uint8))
        assert (codes.tolist(), patterns.tolist()) == ([bit] * 3, [[0], [1]])


@pytest.mark.parametrize("offset", [0, 1, 7, 8, 9, 16, 63, 64])
def test_bits_of_a_column_are_copied_only_if_it_starts_inside_a_byte(offset: int) -> None:
    bits = np.random.default_rng(1).random(200) < 0.5
    whole = boolean_array(np.packbits(bits, bitorder="little"), 200)
    assert whole.to_pylist() == bits.tolist()
    part = whole.slice(offset, 70)
    packed = _packed(part)
    np.testing.assert_array_equal(np.unpackbits(packed, count=70, bitorder="little"), bits[offset : offset + 70])
    own = np.frombuffer(whole.buffers()[1], np.uint8)
    assert np.shares_memory(packed, own) == (offset in (0, 8, 16, 64))
