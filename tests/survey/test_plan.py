import json
import math
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable import client
from tests.support.channels import Channel, channel, check_logarithm, codes, worst_ratio
from tests.support.refusals import TAMPERINGS, UNREADABLE, protocol_of, tampered
from tests.support.situations import PLANS, values

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", values(4)), dn.Flags("drugs", ["tea", "beer"])])


@st.composite
def small_plans(draw: st.DrawFn) -> dn.Plan:
    """Plans small enough to enumerate every report."""
    features: list[dn.Flag | dn.Choice] = []
    protocols: dict[str, Any] = {}
    epsilons = st.floats(0.01, 12)
    for place in range(draw(st.integers(1, 3))):
        name = f"f{place}"
        kind = draw(st.sampled_from(["RR", "RR by p and q", "GRR", "SUE", "OUE", "UE", "LH", "SS"]))
        choice = dn.Choice(name, values(draw(st.integers(2, 3))))
        features.append(dn.Flag(name) if "RR" in kind and kind != "GRR" else choice)
        p, q = draw(st.floats(0.001, 0.49)), draw(st.floats(0.5, 0.999))
        protocols[name] = {
            "RR": lambda: dn.RandomizedResponse(epsilon=draw(epsilons)),
            "RR by p and q": lambda: dn.RandomizedResponse(p=p, q=q),
            "GRR": lambda: dn.GRR(epsilon=draw(epsilons)),
            "SUE": lambda: dn.UnaryEncoding.symmetric(draw(epsilons)),
            "OUE": lambda: dn.UnaryEncoding.optimized(draw(epsilons)),
            "UE": lambda: dn.UnaryEncoding(p=p, q=q),
            "LH": lambda: dn.LocalHashing(epsilon=draw(epsilons), buckets=2),
            "SS": lambda: dn.SubsetSelection(epsilon=draw(epsilons), size=draw(st.integers(1, choice.levels - 1))),
        }[kind]()
    return dn.Plan(dn.Schema(features), protocols)


@given(small_plans())
@settings(max_examples=300, deadline=None)
def test_total_epsilon_is_that_of_the_enumerated_report(plan: dn.Plan) -> None:
    ratio = prod((worst_ratio([channel(p, x) for x in codes(p)]) for p in plan.protocols), start=Fraction(1))
    check_logarithm(plan.epsilon, ratio)


def test_epsilons_add_over_whole_records() -> None:
    """The worst ratio over every pair of whole records and every whole report is the product of the features'."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Choice("c", values(2))])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(p=0.1, q=0.8), "b": dn.GRR(epsilon=1), "c": dn.GRR(epsilon=0.3)})
    laws: list[Channel] = []
    for record in product(*(codes(protocol) for protocol in plan.protocols)):
        parts = [channel(protocol, x) for protocol, x in zip(plan.protocols, record, strict=True)]
        laws.append({sum(ys, ()): prod(law[y] for law, y in zip(parts, ys, strict=True)) for ys in product(*parts)})
    assert all(sum(law.values()) == 1 for law in laws)
    check_logarithm(plan.epsilon, worst_ratio(laws))


@given(st.floats(0.2, 20), st.integers(1, 7))
@settings(deadline=None)
def test_the_budget_is_split_evenly_and_never_exceeded(epsilon: float, flags: int) -> None:
    schema = dn.Schema([dn.Choice("age", values(4)), dn.Flags("drugs", values(flags))])
    plan = dn.Plan(schema, epsilon=epsilon)
    assert plan.epsilon <= epsilon
    assert plan["age"].epsilon <= epsilon / 2
    for flag in schema.questions["drugs"]:
        assert plan[flag.name].epsilon <= epsilon / 2 / flags
    if epsilon < 10:  # the grid is fine enough to spend nearly all of it
        assert plan.epsilon > epsilon * 0.98 - 0.001


def test_given_protocols_come_off_the_budget_first() -> None:
    plan = dn.Plan(SCHEMA, {"age": dn.Public(), "smoker": dn.RandomizedResponse(epsilon=0.5)}, epsilon=2.0)
    assert plan["age"].epsilon == 0
    assert plan["smoker"].epsilon == pytest.approx(0.5, abs=1e-3)
    assert plan["drugs: tea"].epsilon == pytest.approx(0.75, abs=1e-3)
    assert plan.epsilon <= 2.0


def test_a_group_of_flags_takes_one_protocol_for_all() -> None:
    rr = dn.RandomizedResponse(p=0.1, q=0.8)
    plan = dn.Plan(SCHEMA, {"smoker": rr, "age": dn.GRR(epsilon=1.0), "drugs": rr})
    assert plan["drugs: tea"] == plan["drugs: beer"] == rr
    with pytest.raises(dn.SchemaError, match="'drugs' is a group of flags; ask for one of its columns"):
        plan["drugs"]


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing given": (lambda: dn.Plan(SCHEMA), "no protocol for 'smoker', 'age', 'drugs: tea', 'drugs: beer'"),
    "one missing": (lambda: dn.Plan(SCHEMA, {"smoker": dn.Public(), "drugs": dn.Public()}), "no protocol for 'age'"),
    "unknown name": (lambda: dn.Plan(SCHEMA, {"sex": dn.Public()}, epsilon=1), "no feature 'sex'"),
    "not a protocol": (lambda: dn.Plan(SCHEMA, {"age": 1.0}), "needs a protocol such as"),
    "not a schema": (lambda: dn.Plan("age", epsilon=1), "made for a Schema; found 'age'"),
    "negative": (lambda: dn.Plan(SCHEMA, epsilon=-1), "positive number; found -1"),
    "a number for protocols": (
        lambda: dn.Plan(SCHEMA, 2.0),
        "a mapping from names; found 2.0. For a budget, say epsilon",
    ),
    "too small": (lambda: dn.Plan(SCHEMA, epsilon=1e-5), "feature 'smoker': epsilon 3.3.*too small"),
    "all given, and epsilon": (
        lambda: dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.Public()}, epsilon=1),
        "has its protocol already",
    ),
    "spent already": (
        lambda: dn.Plan(SCHEMA, {"age": dn.GRR(epsilon=2)}, epsilon=1),
        "spend all of epsilon 1; nothing is left for smoker",
    ),
    "given twice": (
        lambda: dn.Plan(SCHEMA, {"drugs": dn.Public(), "drugs: tea": dn.Public()}, epsilon=1),
        "'drugs: tea' is given two protocols",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_json_brings_the_same_plan_back(plan: dn.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")
    again = dn.Plan.load(tmp_path / "plan.json")
    assert again == plan
    assert (again.epsilon, again.fingerprint) == (plan.epsilon, plan.fingerprint)
    assert list(tmp_path.iterdir()) == [tmp_path / "plan.json"]
    for feature in json.loads(plan.to_json())["features"]:
        assert all(type(number) is int for key, number in feature["protocol"].items() if key != "name")


@given(small_plans())
@settings(max_examples=50, deadline=None)
def test_json_brings_small_plans_back(plan: dn.Plan) -> None:
    assert dn.Plan.from_json(plan.to_json()) == plan


def test_fingerprint_changes_with_any_change_of_meaning() -> None:
    def fingerprint(*features: Any, epsilon: float = 1.0) -> str:
        return dn.Plan(dn.Schema(features), epsilon=epsilon).fingerprint

    a, b = dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])
    different = [
        fingerprint(a, b),
        fingerprint(b, a),
        fingerprint(a, dn.Choice("b", ["x", "z", "y"])),
        fingerprint(a, dn.Choice("b", ["x", "y", "Z"])),
        fingerprint(dn.Flag("A"), b),
        fingerprint(a, b, epsilon=1.001),
        fingerprint(a),
        fingerprint(dn.Choice.bins("b", [0, 1, 2])),
        fingerprint(dn.Choice("b", ["0 to under 1", "1 to 2"])),
        fingerprint(dn.Flags("a", ["b", "c"])),
    ]
    assert len(set(different)) == len(different)
    assert fingerprint(a, b) == fingerprint(dn.Flag("a"), dn.Choice("b", ("x", "y", "z")))


@pytest.mark.parametrize(("change", "message"), TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_a_tampered_plan_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    seal = message not in ("found None", "reads plans of version 1")  # nothing to seal without them
    (tmp_path / "plan.json").write_text(tampered(change, sealed=seal))
    with pytest.raises(dn.PlanError, match=f"plan.json: .*{message}"):
        dn.Plan.load(tmp_path / "plan.json")
    with pytest.raises(dn.PlanError, match=message):  # and by the device, before it looks at any answer
        client.report({}, (tmp_path / "plan.json").read_text())


ONLY_A_SCHEMA_REFUSES = {
    "a question that does not fit": lambda d: d["features"][0].update(question="other"),
    "edges by other digits": lambda d: d["features"][6].update(
        edges=["0.0", "1", "2", "3"], values=["0.0 to under 1", "1 to under 2", "2 to 3"]
    ),
}


@pytest.mark.parametrize("change", ONLY_A_SCHEMA_REFUSES.values(), ids=ONLY_A_SCHEMA_REFUSES.keys())
def test_a_plan_whose_schema_cannot_be_is_refused(change: Any) -> None:
    with pytest.raises(dn.PlanError, match="the plan's schema cannot be used"):
        dn.Plan.from_json(tampered(change, sealed=True))


def test_a_broken_seal_is_refused_by_plan_and_client() -> None:
    text = tampered(lambda d: protocol_of(d, 0).update(q=40001), sealed=False)
    with pytest.raises(dn.PlanError, match="changed after it was made"):
        dn.Plan.from_json(text)
    with pytest.raises(dn.PlanError, match="changed after it was made"):
        client.report({}, text)
    with pytest.raises(dn.PlanError, match="changed after it was made"):
        client.report({}, tampered(lambda d: d.pop("fingerprint"), sealed=False))


def test_not_json_and_not_there(tmp_path: Path) -> None:
    for text, message in {
        **dict(UNREADABLE.values()),
        "[" * 100_000: "not JSON",
        b"\xff\xfe": "not JSON",
        None: "must be JSON text, as plan.to_json",
        PLANS["one flag"]: "must be JSON text, as plan.to_json",
    }.items():
        with pytest.raises(dn.PlanError, match=message):
            dn.Plan.from_json(text)
        with pytest.raises(dn.PlanError, match=message):
            client.report({}, text)
    with pytest.raises(dn.PlanError, match=r"none.json: cannot be read: No such file"):
        dn.Plan.load(tmp_path / "none.json")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")

    def half(self: Path, text: str, encoding: str) -> None:
        self.write_bytes(text.encode(encoding)[:10])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="disk full"):
        PLANS["one flag"].save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_print_is_a_table_for_a_privacy_officer() -> None:
    plan = PLANS["everything mixed"]
    text = str(plan)
    for name in plan.schema.names:
        assert name in text
    assert 'NOT PROTECTED, shown as they are: "arm", "wave two".' in text
    assert plan.fingerprint in text
    shown = float(text.split("Total epsilon ")[1].split(":")[0])
    assert plan.epsilon <= shown < plan.epsilon + 1e-4
    assert max(map(len, text.splitlines())) <= 100
    assert "Total" not in str(PLANS["public alone"])
    assert "age" in dn.Plan(SCHEMA, epsilon=1.0)
    assert "sex" not in plan


def test_printed_odds_are_not_understated() -> None:
    text = str(dn.Plan(SCHEMA, epsilon=1.0))
    odds = float(text.split("by at most ")[1].split(" times")[0])
    assert odds >= math.exp(dn.Plan(SCHEMA, epsilon=1.0).epsilon)
    many = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(100)]), epsilon=900.0)
    assert f"by at most e^{math.ceil(many.epsilon * 1e4) / 1e4:.4f} times" in str(many)


@pytest.mark.parametrize("epsilon", [10**400, Fraction(10**400)])
def test_epsilon_beyond_all_floats_is_as_much_as_the_grid_gives(epsilon: Any) -> None:
    assert dn.Plan(SCHEMA, epsilon=epsilon).epsilon == dn.Plan(SCHEMA, epsilon=1e9).epsilon


def test_an_even_split_is_exact() -> None:
    """A third of this budget, as a float, is more than a third: three such shares would exceed it."""
    epsilon = next(e for e in (k / 64 for k in range(1, 64)) if Fraction(e / 3) * 3 > Fraction(e))
    schema = dn.Schema([dn.Flag(name) for name in "abc"])
    assert dn.Plan(schema, epsilon=epsilon).epsilon <= epsilon


def test_a_total_is_shared_out_before_it_is_limited() -> None:
    """132 is 11 for each of twelve flags, which the grid nearly has."""
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{k}") for k in range(12)]), epsilon=132.0)
    assert 10 < plan.epsilon / 12 <= 11


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.int32, np.int8, np.uint8, np.float32, int, Fraction])
def test_numbers_of_numpy_are_numbers(kind: Any) -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    assert dn.Plan(schema, epsilon=kind(3)) == dn.Plan(schema, epsilon=3.0)
    assert dn.Plan(schema, {"b": dn.GRR(epsilon=kind(2))}, epsilon=kind(3)).epsilon <= 3
    with pytest.raises(dn.PlanError, match="spend all of epsilon 1"):
        dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=1.5)}, epsilon=kind(1))


def test_plans_are_equal_if_they_mean_the_same_however_they_were_made() -> None:
    one = dn.Plan(SCHEMA, epsilon=1.0)
    again = dn.Plan(SCHEMA, {name: one[name] for name in SCHEMA.names})
    assert (one.asked, again.asked) == (1, None)
    assert one == again
    assert hash(one) == hash(again)
    assert {one: "found"}[again] == "found"
    assert one != dn.Plan(SCHEMA, epsilon=1.001)
    assert one != one.fingerprint
    assert one in [again]


def test_what_a_plan_says_of_itself_is_made_once() -> None:
    plan = dn.Plan(SCHEMA, epsilon=1.0, together=[["smoker", "age"]])
    for name in ("fingerprint", "ratio", "epsilon", "units", "public"):
        assert getattr(plan, name) is getattr(plan, name)
    assert plan.blocks[0].unit is plan.blocks[0].unit


def test_the_best_protocol_depends_on_the_number_of_answers_alone() -> None:
    """It is remembered, and must not be that of another feature."""
    for epsilon in (0.5, 1.0, 3.0):
        for m in (2, 3, 5, 30):
            features = [dn.Choice("a", values(m)), dn.Choice("b", [f"other {k}" for k in range(m)]), dn.Flag("c")]
            plan = dn.Plan(dn.Schema(features), epsilon=3 * epsilon)
            assert plan["a"] == plan["b"]
            assert plan["a"].columns == m
            assert plan["c"].columns == 1


def test_a_plan_cannot_be_changed() -> None:
    plan = dn.Plan(SCHEMA, epsilon=1.0, arms=[["smoker", "age"], ["drugs"]])
    for name in ("shares", "blocks", "arm_names", "schema", "assigned"):
        with pytest.raises(AttributeError):
            setattr(plan, name, ())


def test_a_plan_that_no_device_would_take_is_not_written() -> None:
    schema = dn.Schema([dn.Flag("smoker", help="é" * (1 << 21))])
    with pytest.raises(dn.PlanError, match=r"at most 4,194,304 bytes as JSON.* found 4,194,\d+: ask less"):
        dn.Plan(schema, epsilon=1.0).to_json()
