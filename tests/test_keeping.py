"""Kept answers: their law by enumeration, what an attacker learns from many reports, the store and the ledger."""

import doctest
import hmac
import inspect
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client, keeping
from spec import make_vectors
from tests.support.kept_plans import KEPT

SPEC = Path(__file__).parents[1] / "spec"
VECTORS = json.loads((SPEC / "vectors_of_kept.json").read_text(encoding="utf-8"))
SCALE = client.SCALE

# -- the law of one report and of several, in exact fractions ----------------------------------------------------------


def draws(*numbers: int) -> client.Source:
    return io.BytesIO(b"".join(number.to_bytes(2, "little") for number in numbers)).read


def permanent_law(plan: dn.Plan, record: dict[str, Any]) -> dict[bytes, Fraction]:
    """P(kept bytes | answers) of a plan with one block, over all 65 536 draws of the coin, and of the uniform value."""
    (block,) = client.read(plan.to_json()).arms[0]
    flag = block.m == 1
    uniforms = [(0, 1)] if flag else [(value * (SCALE // block.m), 1) for value in range(block.m)]
    law: dict[bytes, Fraction] = {}
    checked = client.read(plan.to_json())
    for uniform, _ in uniforms:
        for coin in range(SCALE):
            kept = client.report_from(draws(coin) if flag else draws(coin, uniform), record, checked)
            law[kept] = law.get(kept, Fraction(0)) + Fraction(1, SCALE * len(uniforms))
    return law


def fresh_law(plan: dn.Plan, kept: bytes) -> dict[bytes, Fraction]:
    """P(sent bytes | kept bytes), where only the coins beside the threshold are tried, with their weights."""
    checked = client.read(plan.to_json())
    (block,) = checked.arms[0]
    levels, law = max(block.m, 2), {}
    for coin, weight in ((checked.kept - 1, checked.kept), (checked.kept, SCALE - checked.kept)):
        for value in range(levels):
            sent = keeping.again_from(draws(coin, value * (SCALE // levels)), kept, checked)
            law[sent] = law.get(sent, Fraction(0)) + Fraction(weight, SCALE * levels)
    return law


ONE_BLOCK = {
    "flag": (KEPT["one flag, two rounds"], [{"smoker": False}, {"smoker": True}]),
    "leaning flag": (KEPT["a flag that leans, two rounds"], [{"smoker": False}, {"smoker": True}]),
    "choice": (
        dn.Plan(dn.Schema([dn.Choice("age", list("abc"))]), {"age": dn.GRR(epsilon=2.0)}, repeat="keep", epsilon_1=1.0),
        [{"age": value} for value in "abc"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "records"), ONE_BLOCK.values(), ids=ONE_BLOCK)
def test_epsilons_are_those_of_all_pairs_of_draws(plan: dn.Plan, records: list[dict[str, Any]]) -> None:
    """One report has exactly epsilon_1; several approach epsilon, which is exactly that of the kept bytes."""
    kept = [permanent_law(plan, record) for record in records]
    fresh = {one: fresh_law(plan, one) for law in kept for one in law}
    protocol = plan.blocks[0].protocol

    def most(waves: int) -> Fraction:
        """The largest ratio of the probabilities of what is sent in so many waves."""
        sent = sorted({bytes_ for law in fresh.values() for bytes_ in law})
        laws = [
            [
                sum((p * prod(fresh[one].get(s, Fraction(0)) for s in many) for one, p in law.items()), Fraction(0))
                for many in itertools.product(sent, repeat=waves)
            ]
            for law in kept
        ]
        assert all(sum(law) == 1 for law in laws)
        return max(a / b for one, other in itertools.permutations(laws, 2) for a, b in zip(one, other, strict=True))

    assert most(1) == protocol.ratio_1
    assert client.log_up([most(1)]) == plan.epsilon_1
    assert most(1) < most(2) < most(4) < protocol.ratio
    forever = max(a[one] / b[one] for a, b in itertools.permutations(kept, 2) for one in a)
    assert forever == protocol.ratio
    assert client.log_up([forever]) == plan.epsilon


@pytest.mark.slow
def test_the_fresh_coin_has_just_its_threshold() -> None:
    """All 65 536 coins: those below `fresh` leave the kept answer as it is, the others show the uniform one."""
    plan = client.read(KEPT["one flag, two rounds"].to_json())
    for kept, other in ((b"\0", 65535), (b"\1", 0)):
        stayed = [keeping.again_from(draws(coin, other), kept, plan) == kept for coin in range(SCALE)]
        assert stayed == [True] * plan.kept + [False] * (SCALE - plan.kept)


@pytest.mark.parametrize("title", [title for title in KEPT if "two rounds" in title])
def test_the_fresh_coin_is_the_largest_within_epsilon_1(title: str) -> None:
    plan = KEPT[title]
    asked = {"a flag that leans, two rounds": 0.5, "apart, two rounds": 2.0}.get(title, 1.0)
    assert plan.epsilon_1 <= asked
    more = [[client.ratio({"name": b.protocol.name, **b.protocol.integers}, b.protocol.columns, plan.kept + 1)
             for b in arm.blocks] for arm in plan.arms]  # fmt: skip
    assert max(map(client.log_up, more)) > asked
    assert plan.epsilon_1 < plan.epsilon


def test_bulk_has_the_probabilities_of_two_rounds() -> None:
    for plan in (KEPT["one flag, two rounds"], ONE_BLOCK["choice"][0]):
        (block,) = plan.blocks
        name, value = block.names[0], block.features[0].answers[-1]
        reports = dn.randomize({name: [value] * 40_000}, plan, rng=np.random.default_rng(1))
        counts = dn.count(reports, [name]).array(name)
        share = counts[-1] / 40_000
        assert abs(share - block.protocol.q) < 4 * (block.protocol.q * (1 - block.protocol.q) / 40_000) ** 0.5
        once = plan.blocks[0].protocol.with_fresh(SCALE).q  # control: one round alone is far from it
        assert abs(share - once) > 8 * (once * (1 - once) / 40_000) ** 0.5


# -- the averaging attack ----------------------------------------------------------------------------------------------

PEOPLE = 1_500


def guessed(reports: Iterator[list[bytes]], answers: list[bool]) -> float:
    """How often the majority of a person's reports of one flag is their answer."""
    pairs = zip(reports, answers, strict=True)
    return sum((sum(one[0] for one in many) * 2 > len(many)) == answer for many, answer in pairs) / len(answers)


@pytest.mark.slow
def test_an_average_identifies_fresh_reports_and_not_kept_ones() -> None:
    """A flag at epsilon 1: 31 fresh reports tell it in 99.7 % of cases; kept ones never tell more than the kept one."""
    answers = [bool(person % 2) for person in range(PEOPLE)]
    fresh = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json()
    rng = np.random.default_rng(31)
    checked = client.read(fresh)
    many = ([client.report_from(rng.bytes, {"smoker": one}, checked) for _ in range(31)] for one in answers)
    assert guessed(many, answers) > 0.99  # the control: fresh reports are identified
    for title, waves in (("one flag, sent again", 31), ("one flag, two rounds", 101)):
        plan = client.read(KEPT[title].to_json())
        kept = [client.report_from(rng.bytes, {"smoker": one}, plan) for one in answers]
        sent = ([keeping.again_from(rng.bytes, one, plan) for _ in range(waves)] for one in kept)
        most = np.exp(plan.epsilon) / (1 + np.exp(plan.epsilon))
        found = guessed(sent, answers)
        assert found < most + 4 * (most * (1 - most) / PEOPLE) ** 0.5
        assert found > 0.65  # the attack works as well as it can


# -- what follows from a secret ----------------------------------------------------------------------------------------


def test_the_vectors_are_those_that_are_written() -> None:
    assert make_vectors.vectors_of_kept() == VECTORS, "run python -m spec.make_vectors"


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["title"])
def test_the_client_gives_the_vectors(case: dict[str, Any]) -> None:
    for record in case["records"]:
        kept = keeping.derived(bytes.fromhex(record["secret"]), record["answers"], case["plan"], record.get("arm"))
        assert kept.hex() == record["kept"]
        numbers = [draw for steps in record["draws"] for step in steps for draw in step]
        assert keeping.again_from(draws(*numbers), kept, case["plan"]).hex() == record["report"]


def test_draws_are_those_of_the_documented_hmac() -> None:
    plan = KEPT["one flag, sent again"]
    for answer, code in ((False, 0), (True, 1)):
        text = f"{plan.fingerprint}/0/0/{code}/0".encode()
        draw = int.from_bytes(hmac.digest(bytes(32), text, "sha256")[:2], "little")
        bit = draw < plan.blocks[0].protocol.integers["q" if answer else "p"]
        assert keeping.derived(bytes(32), {"smoker": answer}, plan.to_json()) == bytes([bit])


def test_a_secret_gives_the_same_to_the_same_answers_and_the_plans_law_over_secrets() -> None:
    plan = KEPT["arms, two rounds"].to_json()
    record = {"smoker": True, "age": "65+", "drinker": False}
    checked, rng = client.read(plan), np.random.default_rng(2)
    kept = [keeping.derived(rng.bytes(32), record, checked) for _ in range(2_000)]
    again = keeping.derived(bytes(16), record, checked)
    assert again == keeping.derived(bytes(16), record, checked)
    arms = np.array([one[0] & 1 for one in kept])
    assert abs(arms.mean() - 0.5) < 4 * 0.5 / 2_000**0.5
    assert {keeping.derived_arm(bytes([k] * 16), plan) for k in range(9)} == set(checked.names)
    shown = np.array([one[0] >> 1 for one in kept if not one[0] & 1])
    q = float(KEPT["arms, two rounds"].arms[0].blocks[0].protocol.with_fresh(SCALE).channel.q)
    assert abs((shown == 5).mean() - q) < 4 * (q * (1 - q) / len(shown)) ** 0.5  # smoker true (1) x 65+ (2) is 5


@pytest.mark.parametrize("secret", [b"short", "0123456789abcdef0123456789abcdef", None])
def test_a_secret_is_of_enough_bytes(secret: Any) -> None:
    with pytest.raises(keeping.KeepingError, match="16 or more random bytes"):
        keeping.report({"smoker": True}, KEPT["one flag, sent again"].to_json(), secret=secret)


def test_a_secret_makes_reports_of_its_own_arm_alone() -> None:
    """Each arm would cost epsilon again, which is stated once for all reports together."""
    plan = KEPT["arms, two rounds"].to_json()
    record = {"smoker": True, "age": "65+", "drinker": False}
    own = keeping.derived_arm(bytes(32), plan)
    number = client.read(plan).names.index(own)
    for arm in (None, own):
        assert keeping.report(record, plan, secret=bytes(32), arm=arm)[0] & 1 == number
    (other,) = {*client.read(plan).names} - {own}
    with pytest.raises(keeping.KeepingError, match=f"keeps its arm, {own!r}, and can be asked no other"):
        keeping.report(record, plan, secret=bytes(32), arm=other)
    assigned = KEPT["assigned, two rounds"]
    for arm in (None, *assigned.arm_names):
        with pytest.raises(client.PlanError, match="assigned, and a secret does not remember"):
            keeping.report(record, assigned.to_json(), secret=bytes(32), arm=arm)


def test_what_was_not_agreed_to_is_refused() -> None:
    plan = KEPT["one flag, sent again"]
    with pytest.raises(client.PlanError, match="at most 0.5"):
        keeping.report({"smoker": True}, plan.to_json(), secret=bytes(32), at_most=0.5)
    with pytest.raises(client.PlanError, match="whole fingerprint must be"):
        keeping.report({"smoker": True}, plan.to_json(), secret=bytes(32), expect="0" * 64)
    with pytest.raises(client.PlanError, match="kept: make its reports by deniable.keeping"):
        client.report({"smoker": True}, plan.to_json())
    with pytest.raises(client.PlanError, match="not kept"):
        keeping.report({"smoker": True}, dn.Plan(plan.schema, epsilon=1.0).to_json(), secret=bytes(32))


# -- the store and the ledger ------------------------------------------------------------------------------------------

PLAN = KEPT["one flag, sent again"].to_json()
FRESH = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json()


def test_what_was_kept_is_sent_also_if_the_answer_changed(tmp_path: Path) -> None:
    for person in range(20):
        path = tmp_path / f"{person}.json"
        first = keeping.Keeper(path).report({"smoker": True}, PLAN)
        assert {keeping.Keeper(path).report({"smoker": False}, PLAN) for _ in range(5)} == {first}
        assert keeping.Keeper(path).report({}, PLAN) == first  # nothing is looked at any more


def test_two_rounds_keep_one_answer_and_send_others(tmp_path: Path) -> None:
    keeper, plan = keeping.Keeper(tmp_path / "kept.json"), KEPT["one flag, two rounds"]
    sent = [keeper.report({"smoker": True}, plan.to_json()) for _ in range(40)]
    assert {*sent} == {b"\0", b"\1"}
    assert keeper.spent == pytest.approx(plan.epsilon, abs=1e-9)
    assert keeper.spent >= plan.epsilon


def test_the_arm_is_kept_before_any_answer_and_whatever_it_is(tmp_path: Path) -> None:
    plan = KEPT["arms, two rounds"].to_json()
    keeper = keeping.Keeper(tmp_path / "kept.json")
    arm = keeper.arm(plan)
    assert {keeper.arm(plan) for _ in range(20)} == {arm}
    record = {"smoker": True, "age": "65+", "drinker": False}
    other = next(name for name in client.read(plan).names if name != arm)
    with pytest.raises(keeping.KeepingError, match="can be asked no other"):
        keeper.report(record, plan, arm=other)
    numbers = {keeper.report(record, plan)[0] & 1 for _ in range(10)}
    assert numbers == {client.read(plan).names.index(arm)}
    late = keeping.Keeper(tmp_path / "late.json")
    arms = set()
    for _ in range(10):
        with pytest.raises(client.AnswerError):
            late.report({"smoker": "?", "age": "?", "drinker": "?"}, plan)  # no other arm after a wrong answer
        arms.add(late.arm(plan))
    assert len(arms) == 1


def test_the_ledger_adds_up_and_stops_at_the_ceiling(tmp_path: Path) -> None:
    keeper = keeping.Keeper(tmp_path / "kept.json", ceiling=3.0)
    for _ in range(3):
        keeper.report({"smoker": True}, PLAN)  # spent once
    assert keeper.spent == pytest.approx(1.0, abs=1e-4)
    keeper.report({"smoker": True}, FRESH)
    keeper.report({"smoker": True}, FRESH)
    before = (tmp_path / "kept.json").read_bytes()
    with pytest.raises(keeping.KeepingError, match=r"would have spent epsilon 3\.9998.* ceiling is 3; no report"):
        keeper.report({"smoker": "not looked at"}, FRESH)
    assert (tmp_path / "kept.json").read_bytes() == before
    keeper.report({"smoker": True}, PLAN)  # what is kept costs nothing more
    exact = 2 * Fraction(client.read(FRESH).epsilon) + Fraction(client.read(PLAN).epsilon)
    assert 0 <= Fraction(keeper.spent) - exact < Fraction(3, 1 << 32)


def test_an_answer_that_does_not_fit_spends_nothing(tmp_path: Path) -> None:
    keeper = keeping.Keeper(tmp_path / "kept.json")
    for plan in (PLAN, FRESH):
        with pytest.raises(client.AnswerError):
            keeper.report({"smoker": "perhaps"}, plan)
    assert keeper.spent == 0


DAMAGE = {
    "cut off": lambda text: text[:-20],
    "empty": lambda _: b"",
    "one letter": lambda text: text.replace(b'"report": "0', b'"report": "1', 1),
    "another file": lambda _: b'{"name": "somebody\'s"}',
    "no object": lambda _: b"[1, 2]",
    "a later version": lambda text: text.replace(b'"deniable": 1', b'"deniable": 2'),
    "no text": lambda _: b"\xff\xfe",
    "nested deeply": lambda _: b"[" * 100_000,
    "half a character": lambda _: b'{"check": "x", "deniable": 1, "kept": "\\ud800"}',
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_or_foreign_file_is_refused_and_left_as_it_is(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    keeper = keeping.Keeper(path)
    keeper.report({"smoker": True}, PLAN)
    broken = damage(path.read_bytes())
    path.write_bytes(broken)
    for attempt in (lambda: keeping.Keeper(path), lambda: keeper.report({"smoker": True}, PLAN), lambda: keeper.spent):
        with pytest.raises(keeping.KeepingError, match="damaged, or no file of kept answers; it was left as it is"):
            attempt()
    assert path.read_bytes() == broken


def test_a_folder_that_is_not_there_and_a_huge_ceiling_are_no_accidents(tmp_path: Path) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    with pytest.raises(keeping.KeepingError, match="cannot be written, beside the kept answers: No such file"):
        keeping.Keeper(tmp_path / "no" / "where.json", ceiling=4).report({"smoker": True}, plan.to_json())
    assert len(client.report({"smoker": True}, plan.to_json(), at_most=10**400)) == 1


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_report_is_given_out_only_after_it_was_written_whole(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = keeping.Keeper(tmp_path / "kept.json")
    keeper.report({"smoker": True}, FRESH)
    before = (tmp_path / "kept.json").read_bytes()

    def fails(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="full"):
        keeper.report({"smoker": True}, PLAN)
    monkeypatch.undo()
    assert (tmp_path / "kept.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.json", "kept.json.lock"]


@pytest.mark.parametrize("kept", [b"", b"\0\0", b"\2", "00", b"\xff"])
def test_bytes_of_another_plan_are_refused(kept: Any) -> None:
    with pytest.raises(keeping.KeepingError, match="damaged, or of another plan"):
        keeping.again(kept, PLAN)


@pytest.mark.parametrize("documented", [keeping.report, keeping.Keeper])
def test_examples_print_what_stands_below_them(documented: Any) -> None:
    text, names = inspect.getdoc(documented) or "", {"dn": dn} | vars(keeping)
    example = doctest.DocTestParser().get_doctest(text, names, documented.__name__, None, None)
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
    assert example.examples


def test_both_files_work_where_they_are_copied_to(tmp_path: Path) -> None:
    """In a folder without the package, and without any other."""
    for module in (client, keeping):
        shutil.copy(str(module.__file__), tmp_path)
    (tmp_path / "plan.json").write_text(PLAN, encoding="utf-8")
    code = "import keeping; print(len(keeping.Keeper('kept.json').report({'smoker': True}, open('plan.json').read())))"
    command = [sys.executable, "-S", "-c", code]
    environment = {"PATH": "", "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", KEPT.values(), ids=KEPT)
def test_a_kept_plan_is_read_as_it_was_written(plan: dn.Plan) -> None:
    read = dn.Plan.from_json(plan.to_json())
    assert read == plan
    assert (read.repeat, read.kept, read.epsilon, read.epsilon_1) == ("keep", plan.kept, plan.epsilon, plan.epsilon_1)
    assert [arm.blocks for arm in read.arms] == [arm.blocks for arm in plan.arms]
    document = json.loads(plan.to_json())
    assert document["version"] == 2
    assert ("fresh" in document) == ("two rounds" in next(title for title, one in KEPT.items() if one is plan))


def test_keeping_changes_the_fingerprint_and_nothing_else_of_the_first_round() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("rich")]), epsilon=2.0)
    kept, twice = plan.keep(), plan.keep(1.0)
    assert len({plan.fingerprint, kept.fingerprint, twice.fingerprint}) == 3
    assert plan.epsilon == kept.epsilon == twice.epsilon == kept.epsilon_1
    assert [b.protocol.integers for b in plan.blocks] == [b.protocol.integers for b in twice.blocks]
    assert kept == dn.Plan(plan.schema, epsilon=2.0, repeat="keep")
    assert twice == dn.Plan(plan.schema, epsilon=2.0, repeat="keep", epsilon_1=1.0)
    assert kept.blocks == plan.blocks != twice.blocks


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another word": ({"repeat": "always"}, 'repeat is "keep"'),
    "one report without repeat": ({"epsilon_1": 1.0}, 'say repeat="keep"'),
    "one report above all": ({"repeat": "keep", "epsilon_1": 3.0}, "must be below epsilon"),
    "too small": ({"repeat": "keep", "epsilon_1": 1e-9}, "too small for probabilities"),
    "not a number": ({"repeat": "keep", "epsilon_1": -1}, "positive number"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dn.PlanError, match=message):
        dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0, **options)


def test_a_second_round_after_another_protocol_is_refused() -> None:
    schema = dn.Schema([dn.Choice("town", list("abcdefgh"))])
    with pytest.raises(dn.PlanError, match="a second round is for randomized response, GRR, public alone"):
        dn.Plan(schema, {"town": dn.LocalHashing(epsilon=2.0)}, repeat="keep", epsilon_1=1.0)
    chosen = dn.Plan(schema, epsilon=1.0)
    assert chosen["town"].name != "GRR"
    assert dn.Plan(schema, epsilon=1.0, repeat="keep", epsilon_1=0.5)["town"].name == "GRR"


@pytest.mark.parametrize("ceiling", [-1, 0, float("nan"), True, "8"], ids=str)
def test_a_ceiling_is_a_number_above_zero(ceiling: Any, tmp_path: Path) -> None:
    with pytest.raises(keeping.KeepingError, match="above 0; found"):
        keeping.Keeper(tmp_path / "kept.json", ceiling=ceiling)


def test_a_folder_is_no_file_of_kept_answers(tmp_path: Path) -> None:
    with pytest.raises(keeping.KeepingError, match="cannot be read as a file of kept answers"):
        keeping.Keeper(tmp_path).report({"smoker": True}, KEPT["one flag, sent again"].to_json())
