"""The client on plans of blocks and arms: bytes, draws, what it reads of a record, privacy, and what it refuses."""

import doctest
import inspect
import json
import os
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client
from deniable.survey.privacy import BELIEF, Promise, in_one_sentence, of_report
from spec.make_vectors import ARMS_PATH, vectors_of_arms
from tests.support.client_law import law, records, worst_ratio
from tests.support.designs import DESIGNS, every_design
from tests.support.scripted import arm_draw, arm_source, some_draws, some_records, units
from tests.support.situations import PLANS, every_plan, values
from tests.support.slow_reports import drawn_arm, slow_report
from tests.support.wrong_clients import WRONG_ARMS

VECTORS = json.loads(ARMS_PATH.read_text(encoding="utf-8"))
ARMS = {title: plan for title, plan in DESIGNS.items() if plan.has_arms}
DRAWN = {title: plan for title, plan in ARMS.items() if not plan.assigned}
every_drawn = pytest.mark.parametrize("plan", DRAWN.values(), ids=DRAWN.keys())


# -- bytes -------------------------------------------------------------------------------------------------------------


def check_vectors() -> None:
    """Every vector's report, by the client and by the slow one, with every draw used."""
    for case in VECTORS:
        document, names = case["plan"], [arm["name"] for arm in case["plan"]["arms"]]
        for record in case["records"]:
            draw, arm = record.get("arm_draw"), record.get("arm")
            number = names.index(arm) if arm else 0 if draw is None else drawn_arm(document, draw)
            source = arm_source(document, number, record["draws"], draw)
            sent = client.report_from(source, record["answers"], document, arm)
            assert sent.hex() == record["report"]
            assert source.left == b""
            assert sent == slow_report(document, record["answers"], number, record["draws"])


def test_vectors_of_arms_are_what_the_client_gives() -> None:
    assert json.loads(json.dumps(vectors_of_arms())) == VECTORS, "run python -m spec.make_vectors"
    check_vectors()


def test_vectors_of_arms_hold_every_arm_and_every_protocol() -> None:
    for case in VECTORS:
        document = case["plan"]
        if len(document["arms"]) > 1 and "assigned" not in document:
            assert {drawn_arm(document, record["arm_draw"]) for record in case["records"]} == {
                *range(len(document["arms"]))
            }
    several = [
        block["protocol"]["name"]
        for case in VECTORS
        for arm in case["plan"]["arms"]
        for block in arm["blocks"]
        if len(block["features"]) > 1
    ]
    assert set(several) == set(client.CHOICES_ONLY)


@every_design
def test_the_bytes_are_those_of_a_second_client(plan: dn.Plan) -> None:
    rng = np.random.default_rng(3)
    document, checked = json.loads(plan.to_json()), client.read(plan.to_json())
    for record in some_records(plan, document, 40, rng):
        first = arm_draw(document, rng) if plan.has_arms else None
        number = 0 if first is None else drawn_arm(document, first)
        draws = [some_draws(unit, rng) for unit in units(document, number)]
        expected = slow_report(document, record, number, draws)
        name = plan.arm_names[number]
        assert client.report_from(arm_source(document, number, draws, None), record, checked, name) == expected
        if not plan.assigned:
            source = arm_source(document, number, draws, first)
            assert client.report_from(source, record, checked) == expected
            assert source.left == b""


def test_a_report_worked_out_by_hand() -> None:
    """Arm 1 of three, in two bits; town by GRR among 5 values, in three; smoker and age, 2 x 3, take three bits too."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", values(3)), dn.Choice("town", values(5))])
    protocols = {
        ("smoker", "age"): dn.GRR(epsilon=1.0),
        "town": dn.GRR(epsilon=1.0),
        "smoker": dn.RandomizedResponse(epsilon=1.0),
    }
    plan = dn.Plan(schema, protocols, arms={("smoker", "age"): 2, ("town",): 1, ("smoker",): 1})
    assert plan.shares == (32768, 16384, 16384)

    def sent(stream: str, record: dict[str, Any]) -> int:
        left = bytearray.fromhex(stream)
        made = client.report_from(lambda n: bytes(left.pop(0) for _ in range(n)), record, plan.to_json())
        assert len(made) == 1
        return made[0]

    assert sent("0080 0000 0000", {"town": "v4"}) == 0b000_100_01  # the first draw of arm 1; a coin that keeps
    assert sent("ff7f 0000 0000", {"smoker": True, "age": "v1"}) == 0b000_100_00  # the last of arm 0; code 1 * 3 + 1
    assert sent("ff7f 0000 0000", {"smoker": False, "age": "v2"}) == 0b000_010_00
    assert sent("00c0 0000", {"smoker": False}) == 0b0000_0_1_10  # below p: shown as true
    assert sent("ffff ffff", {"smoker": True}) == 0b0000_0_0_10


@every_plan
def test_a_plan_without_arms_has_one_arm_by_name(plan: dn.Plan) -> None:
    """Version 1: naming the only arm changes nothing, and takes no draw."""
    document = json.loads(plan.to_json())
    assert client.draw_arm(document) == plan.arm_names[0] == "everybody"
    assert [question["name"] for question in client.questions(document, "everybody")] == list(plan.schema.names)
    (record,) = some_records(plan, document, 1, np.random.default_rng(1))
    assert client.report_from(bytes, record, document, "everybody") == client.report_from(bytes, record, document)


# -- draws -------------------------------------------------------------------------------------------------------------


def check_shares(plan: dn.Plan) -> None:
    """Of all 65 536 first draws, each arm has exactly its share, in whole reports."""
    checked = client.read(plan.to_json())
    (record,) = some_records(plan, json.loads(plan.to_json()), 1, np.random.default_rng(1))
    mask = 2 ** (len(plan.arms) - 1).bit_length() - 1
    found: Counter[int] = Counter()
    for draw in range(65536):
        first = iter([struct.pack("<H", draw)])
        sent = client.report_from(lambda n, first=first: next(first, bytes(n)), record, checked)
        found[int.from_bytes(sent, "little") & mask] += 1
    assert tuple(found[number] for number in range(len(plan.arms))) == plan.shares


@pytest.mark.parametrize("title", ["two arms", "arms of unequal length", "one draw in 65 536"])
def test_all_draws_give_each_arm_exactly_its_share(title: str) -> None:
    check_shares(DESIGNS[title])


@pytest.mark.slow
@every_drawn
def test_all_draws_give_each_arm_of_every_design_exactly_its_share(plan: dn.Plan) -> None:
    check_shares(plan)


@every_design
def test_length_and_draws_are_the_same_for_every_answer(plan: dn.Plan) -> None:
    document, checked = json.loads(plan.to_json()), client.read(plan.to_json())
    rng = np.random.default_rng(2)
    lengths = set()
    for arm in plan.arm_names[:: max(1, len(plan.arms) // 20)]:
        seen = set()
        for record in some_records(plan, document, 10, rng):
            asked: list[int] = []

            def source(count: int, asked: list[int] = asked) -> bytes:
                asked.append(count)
                return bytes(count)

            lengths.add(len(client.report_from(source, record, checked, arm)))
            seen.add(tuple(asked))
        assert len(seen) == 1
    assert len(lengths) == 1


class Watched(Mapping[str, Any]):
    """A record that writes down which keys are touched, and lets nobody look at all of them."""

    def __init__(self, answers: dict[str, Any], seen: list[Any]) -> None:
        self.answers, self.seen = answers, seen

    def __getitem__(self, name: str) -> Any:
        self.seen.append(name)
        return self.answers[name]

    def __contains__(self, name: object) -> bool:
        self.seen.append(name)
        return name in self.answers

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all keys were looked at")

    def __len__(self) -> int:
        raise AssertionError("the keys were counted")


@every_design
def test_the_arm_is_drawn_first_and_only_what_it_asks_is_looked_at(plan: dn.Plan) -> None:
    document, checked = json.loads(plan.to_json()), client.read(plan.to_json())
    rng = np.random.default_rng(4)
    for answers in some_records(plan, document, 30, rng):
        seen: list[Any] = []

        def source(count: int, seen: list[Any] = seen) -> bytes:
            seen.append(count)
            return bytes(rng.integers(256, size=count, dtype=np.uint8))

        arm = str(rng.choice(plan.arm_names)) if plan.assigned else None
        sent = client.report_from(source, Watched(answers, seen), checked, arm)
        number = int.from_bytes(sent, "little") & (2 ** (len(plan.arms) - 1).bit_length() - 1)
        assert arm in (None, plan.arm_names[number])
        assert {name for name in seen if isinstance(name, str)} == set(plan.arms[number].schema.names)
        if plan.has_arms and not plan.assigned:
            assert seen[0] == 2  # bytes of the arm's draw, before any answer
        names = [place for place, one in enumerate(seen) if isinstance(one, str)]
        assert all(not isinstance(one, str) for one in seen[max(names) + 1 :])


def check_other_answers() -> None:
    """For the same draws, a report does not change with answers that its arm does not ask."""
    for plan in DRAWN.values():
        document, checked = json.loads(plan.to_json()), client.read(plan.to_json())
        rng = np.random.default_rng(5)
        one, other = some_records(plan, document, 2, rng)
        for _ in range(20):
            first = arm_draw(document, rng)
            number = drawn_arm(document, first)
            draws = [some_draws(unit, rng) for unit in units(document, number)]
            names = plan.arms[number].schema.names
            mixed = other | {name: one.get(name) for name in names}
            alone = {name: one[name] for name in names if name in one}
            sent = {
                client.report_from(arm_source(document, number, draws, first), r, checked) for r in (one, mixed, alone)
            }
            assert len(sent) == 1


def test_answers_that_the_arm_does_not_ask_change_nothing() -> None:
    check_other_answers()


# -- privacy -----------------------------------------------------------------------------------------------------------

TINY_SCHEMA = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", values(3))])
TINY = {
    "GRR, response, sets": dn.Plan(
        TINY_SCHEMA,
        {
            ("a", "b"): dn.GRR(epsilon=1.0),
            "a": dn.RandomizedResponse(p=0.1, q=0.8),
            "c": dn.SubsetSelection(epsilon=1.5, size=1),
        },
        arms={("a", "b"): 5, ("a",): 2, ("c",): 1},
        unequal=True,
    ),
    "unary and two blocks": dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Flag("b")]),
        {
            ("a", "b"): dn.UnaryEncoding(p=0.25, q=0.5),
            "a": dn.RandomizedResponse(p=0.3, q=0.6),
            "b": dn.RandomizedResponse(p=0.2, q=0.7),
        },
        arms={"together": (["a", "b"], 0.3), "apart": ([["a"], ["b"]], 0.7)},
        unequal=True,
    ),
    "missing answers": dn.Plan(
        dn.Schema([dn.Flag("a", missing="no answer"), dn.Choice("b", ["x"], missing="no answer")]),
        {"a": dn.SubsetSelection(epsilon=1.0, size=1), "b": dn.GRR(epsilon=0.5)},
        arms={("a",): 1, ("b",): 3},
        unequal=True,
    ),
}


def check_privacy(plan: dn.Plan) -> None:
    """No report is likelier by more than e^epsilon under another record, and some is by just that."""
    laws = [law(plan, record) for record in records(plan)]
    assert all(sum(one.values()) == 1 for one in laws)
    assert worst_ratio(laws) == plan.ratio
    assert client.log_up([worst_ratio(laws)]) <= client.read(plan.to_json()).epsilon
    mask = 2 ** (len(plan.arms) - 1).bit_length() - 1
    for one in laws:  # and the arm has its share, whatever the record
        shares: Counter[int] = Counter()
        for sent, chance in one.items():
            shares[int.from_bytes(sent, "little") & mask] += chance  # type: ignore[assignment]
        assert [shares[number] * 65536 for number in range(len(plan.arms))] == list(plan.shares)


@pytest.mark.slow
@pytest.mark.parametrize("plan", TINY.values(), ids=TINY.keys())
def test_epsilon_of_whole_reports_is_exact(plan: dn.Plan) -> None:
    check_privacy(plan)


@pytest.mark.slow
@pytest.mark.parametrize("plan", TINY.values(), ids=TINY.keys())
def test_one_answer_costs_at_most_its_block(plan: dn.Plan) -> None:
    laws = {tuple(record.items()): law(plan, record) for record in records(plan)}
    for name in plan.schema.names:
        block = max(block.protocol.ratio for block in plan.blocks if name in block.names)
        worst = Fraction(1)
        for one in laws:
            others = [two for two in laws if all(x == y for x, y in zip(one, two, strict=True) if x[0] != name)]
            worst = max(worst, worst_ratio([laws[two] for two in others]))
        assert worst == block


def test_an_understated_epsilon_would_be_found() -> None:
    """The control: against a plan with a smaller epsilon the same reports fail."""
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.1, q=0.8)})
    laws = [law(plan, record) for record in records(plan)]
    assert worst_ratio(laws) == plan.ratio
    assert worst_ratio(laws) > dn.Plan(plan.schema, {"a": dn.RandomizedResponse(p=0.11, q=0.8)}).ratio


CAUGHT_BY = {
    "arm drawn from the answer": [lambda: check_privacy(TINY["GRR, response, sets"]), check_vectors],
    "share off by one": [lambda: check_shares(DESIGNS["one draw in 65 536"]), check_vectors],
    "another arm's answer in the padding": [check_other_answers],
    "block code transposed": [check_vectors],
}


@pytest.mark.slow
@pytest.mark.parametrize("title", WRONG_ARMS)
def test_planted_bugs_of_arms_are_caught(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check finds what is wrong; the others may also stumble over it, as a device would."""
    WRONG_ARMS[title](monkeypatch)
    first, *others = CAUGHT_BY[title]
    with pytest.raises(AssertionError):
        first()
    for check in others:
        with pytest.raises((AssertionError, client.AnswerError)):
            check()


# -- reading a plan once -----------------------------------------------------------------------------------------------


@every_design
def test_a_plan_that_was_read_is_what_the_plan_says(plan: dn.Plan) -> None:
    checked = client.read(plan.to_json())
    assert client.read(checked) is checked
    assert client.read(json.loads(plan.to_json())) == client.read(plan.to_json().encode()) == checked
    assert (checked.fingerprint, checked.epsilon) == (plan.fingerprint, plan.epsilon)
    assert (checked.names, checked.assigned, checked.public) == (plan.arm_names, plan.assigned, plan.public)
    assert checked.bounds == tuple(np.cumsum(plan.shares).tolist())
    for blocks, arm in zip(checked.arms, plan.arms, strict=True):
        assert [block.ratio for block in blocks] == [protocol.ratio for protocol in arm.protocols]
        assert [tuple(f["name"] for f in block.features) for block in blocks] == [block.names for block in arm.blocks]


@every_plan
def test_a_plan_of_version_1_that_was_read_is_what_the_plan_says(plan: dn.Plan) -> None:
    test_a_plan_that_was_read_is_what_the_plan_says(plan)


def test_what_becomes_of_a_mapping_after_it_was_read_does_not_matter() -> None:
    plan = DESIGNS["public in every arm"]
    document = json.loads(plan.to_json())
    checked, untouched = client.read(document), client.read(plan.to_json())
    for arm in document["arms"]:
        arm["share"] = 1
        for block in arm["blocks"]:
            block["protocol"].clear()
            block["features"].clear()
    for feature in document["features"]:
        feature.clear()
    document.clear()
    assert checked == untouched
    with pytest.raises(TypeError):
        checked.arms[0][0].protocol["name"] = "public"
    with pytest.raises(TypeError):
        checked.arms[0][0].features[0]["values"] = ()
    with pytest.raises(AttributeError):
        checked.epsilon = 0.0
    asked = client.questions(checked, checked.names[0])
    asked[0]["values"].clear()
    asked[0]["name"] = "other"
    assert checked == untouched


class Liar(dict):  # type: ignore[type-arg]
    """A dict that holds one plan, and says another thing of itself whenever it is asked for a key."""

    def __getitem__(self, key: Any) -> Any:
        return {"fingerprint": "0" * 64, "epsilon": 0.1}.get(key, super().__getitem__(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return {"fingerprint": "0" * 64, "epsilon": 0.1}.get(key, super().get(key, default))


class Turncoat(Mapping[str, Any]):
    """A mapping that is one plan until every key was looked at, and another one from then on."""

    def __init__(self, first: dict[str, Any], then: dict[str, Any]) -> None:
        self.now, self.then, self.left = first, then, len(first)

    def __getitem__(self, key: str) -> Any:
        found = self.now[key]
        self.left -= 1
        self.now = self.then if self.left == 0 else self.now
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


HIGH = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=9.0)
LOW = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
SHOWN = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {"b": dn.Public()}, epsilon=1.0)


def test_expect_is_a_whole_fingerprint() -> None:
    plan = LOW.to_json()
    client.report({"a": True}, plan, expect=LOW.fingerprint)
    for wrong in (
        HIGH.fingerprint,
        LOW.fingerprint[:12],
        LOW.fingerprint[:-1],
        LOW.fingerprint.upper(),
        "",
    ):
        with pytest.raises(client.PlanError, match=f"whole fingerprint must be .*{LOW.fingerprint}"):
            client.report({"a": True}, plan, expect=wrong)
    for wrong in (b"", 0, False, {"a": "an answer"}):
        with pytest.raises(client.PlanError, match="expect must be a fingerprint, 64 characters; found '[a-z]*'$"):
            client.report({"a": True}, plan, expect=wrong)  # type: ignore[arg-type]


def test_expect_cannot_be_got_round() -> None:
    lying = Liar(json.loads(HIGH.to_json()))
    with pytest.raises(client.PlanError, match="fingerprint"):
        client.report({"a": True}, lying, expect="0" * 64, at_most=99)
    with pytest.raises(client.PlanError, match="must be at most 8.0"):
        client.report({"a": True}, lying)
    relabelled = json.loads(HIGH.to_json()) | {"fingerprint": LOW.fingerprint}
    with pytest.raises(client.PlanError, match="changed after it was made"):
        client.report({"a": True}, relabelled, expect=LOW.fingerprint, at_most=99)
    turned = Turncoat(json.loads(LOW.to_json()), json.loads(SHOWN.to_json()))
    assert client.report({"a": True, "b": True}, turned, expect=LOW.fingerprint) in (b"\0", b"\1")
    with pytest.raises(client.PlanError, match="whole fingerprint"):
        client.report({"a": True, "b": True}, turned, expect=LOW.fingerprint)
    assert client.report({"a": True}, MappingProxyType(json.loads(LOW.to_json())), expect=LOW.fingerprint)


def test_at_most_is_a_ceiling_on_the_whole_report() -> None:
    with pytest.raises(client.PlanError, match=r"must be at most 8.0; .*raise at_most .*; found 8.89"):
        client.report({"a": True}, HIGH.to_json())
    client.report({"a": True}, HIGH.to_json(), at_most=HIGH.epsilon)
    for low in (np.nextafter(HIGH.epsilon, 0), 1):
        with pytest.raises(client.PlanError, match="epsilon of a whole report must be at most"):
            client.report({"a": True}, HIGH.to_json(), at_most=low)
    for wrong in (0, -1, float("nan"), None, "9", True, {"a": "an answer"}):
        with pytest.raises(client.PlanError, match="at_most must be a number above 0; found '[A-Za-z]*'$"):
            client.report({"a": True}, HIGH.to_json(), at_most=wrong)  # type: ignore[arg-type]
    several = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(9)]), epsilon=9.0)  # each answer costs 1
    with pytest.raises(client.PlanError, match="must be at most 8.0"):
        client.report(dict.fromkeys(several.schema.names, True), several.to_json())
    unequal = DESIGNS["unequal epsilons"]
    with pytest.raises(client.PlanError, match="must be at most 2.5;"):  # also if a small arm would be drawn
        client.report({"town": "v1"}, unequal.to_json(), at_most=2.5, arm=unequal.arm_names[1])


def test_public_columns_must_be_agreed_to() -> None:
    record = {"a": True, "b": True}
    for wrong in ({"b": False}, record, None, True):
        with pytest.raises(client.PlanError, match="public must be a list of names; found '[A-Za-z]*'$"):
            client.report(record, SHOWN.to_json(), public=wrong)  # type: ignore[arg-type]
    for agreed in ((), ("a",), ["B"], "ab", "xbx"):
        with pytest.raises(client.PlanError, match=r"must stand in public=.*ask the respondent .*found \['b'\]"):
            client.report(record, SHOWN.to_json(), public=agreed)
    for agreed in (("b",), ["a", "b"], {"b"}, iter(["b"]), "b"):
        client.report(record, SHOWN.to_json(), public=agreed)
    plan = DESIGNS["public in every arm"]
    with pytest.raises(client.PlanError, match=r"found \['region', 'invited'\]"):
        client.report({}, plan.to_json())
    with pytest.raises(client.PlanError, match=r"found \['invited'\]"):
        client.report({}, plan.to_json(), public=("region",))


def test_plans_that_are_no_deal_are_refused_by_what_was_agreed_to() -> None:
    """What a plan's maker might try on a device that agreed to epsilon 2 and to show the region."""
    agreed: dict[str, Any] = {"at_most": 2.0, "public": ("region",)}
    bare = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=1 / 65536, q=65535 / 65536)})
    copies = dn.Plan(dn.Schema([dn.Flag(f"a{k}") for k in range(500)]), epsilon=500 * 0.1)
    shown = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.Public()))
    one_letter = dn.Plan(dn.Schema([dn.Flag("region\u200b"), dn.Flag("a")]), {"region\u200b": dn.Public()}, epsilon=1.0)
    arms = dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Flag("b")]),
        {"a": dn.RandomizedResponse(epsilon=0.1), "b": dn.RandomizedResponse(epsilon=9.0)},
        arms={("a",): 65535, ("b",): 1},
        unequal=True,
    )
    assert shown.epsilon == 0.0
    for plan, why in (
        (bare, "must be at most 2.0"),
        (copies, "must be at most 2.0"),
        (shown, r"must stand in public=.*found \['a', 'b'\]"),
        (one_letter, "must stand in public="),
        (arms, "must be at most 2.0"),
    ):
        document, record = json.loads(plan.to_json()), dict.fromkeys(plan.schema.names, True)
        for given in (plan.to_json(), plan.to_json().encode(), document, client.read(document)):
            for arm in (None, plan.arm_names[0]):
                with pytest.raises(client.PlanError, match=why):
                    client.report(record, given, arm=arm, **agreed)
        for lie in ({"epsilon": 0.1}, {"epsilon": -1}, {"epsilon": True}, {"epsilon": "0.1"}, {"epsilon": [0.1]}):
            with pytest.raises(client.PlanError, match="says its epsilon is|must stand in public="):
                client.report(record, document | lie, **agreed)
        for lie in ({"public": []}, {"at_most": 99}, {"expect": None}):
            with pytest.raises(client.PlanError, match="no other keys"):
                client.report(record, document | lie, **agreed)
    region = dn.Plan(dn.Schema([dn.Flag("region"), dn.Flag("a")]), {"region": dn.Public()}, epsilon=2.0)
    assert client.report({"region": True, "a": True}, region.to_json(), expect=region.fingerprint, **agreed)  # a deal


class Drifting(Mapping[str, Any]):
    """A mapping that is another plan each time a key is looked at."""

    def __init__(self, plans: list[dict[str, Any]]) -> None:
        self.plans, self.times = plans, 0

    def __getitem__(self, key: str) -> Any:
        self.times += 1
        return self.plans[self.times % len(self.plans)][key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plans[0])

    def __len__(self) -> int:
        return len(self.plans[0])


def test_a_mapping_that_changes_while_it_is_read_is_refused_or_one_of_its_plans() -> None:
    """Whatever is read is whole: a mixture has no fitting fingerprint, also where its inner mappings change."""
    low, high = json.loads(LOW.to_json()), json.loads(HIGH.to_json())
    with pytest.raises(client.PlanError, match="changed after it was made"):
        client.report({"a": True}, Drifting([low, high]), at_most=99)
    for plan in (LOW, HIGH):
        document = json.loads(plan.to_json())
        document["features"][0]["protocol"] = Drifting([one["features"][0]["protocol"] for one in (low, high)])
        with pytest.raises(client.PlanError, match="changed after it was made"):
            client.report({"a": True}, document, at_most=99)
    looked = Drifting([low])
    client.report({"a": True}, looked)
    assert looked.times == len(low)  # each key once: what is checked is what is used


def test_nothing_is_looked_at_or_drawn_before_a_plan_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_count: int) -> bytes:
        raise AssertionError("something was drawn")

    monkeypatch.setattr(os, "urandom", never)
    seen: list[Any] = []
    for plan, options in (
        (HIGH, {}),
        (SHOWN, {}),
        (LOW, {"expect": "0" * 64}),
        (DESIGNS["assigned"], {}),
        (DESIGNS["assigned"], {"arm": "panel C"}),
    ):
        with pytest.raises(client.PlanError):
            client.report(Watched({"a": True}, seen), plan.to_json(), **options)
    assert seen == []


def test_reports_from_a_source_refuse_nothing_of_that() -> None:
    assert client.report_from(bytes, {"a": True}, HIGH.to_json()) == b"\1"
    assert client.report_from(bytes, {"a": True, "b": True}, SHOWN.to_json()) == b"\3"


# -- arms by name ------------------------------------------------------------------------------------------------------


def test_an_assigned_arm_is_given_and_never_drawn() -> None:
    plan = DESIGNS["assigned"]
    text = plan.to_json()
    for draw in (
        lambda: client.draw_arm(text),
        lambda: client.report({}, text),
        lambda: client.report_from(bytes, {}, text),
    ):
        with pytest.raises(client.PlanError, match="must not draw an arm that is assigned; give its name, arm="):
            draw()
    sent = client.report({"age": "v1", "town": "v2"}, text, arm="panel B")
    assert sent[0] & 1 == 1
    for unknown in ("panel C", ""):
        with pytest.raises(client.PlanError, match="must be one of 'panel A', 'panel B'; found"):
            client.report({}, text, arm=unknown)
    with pytest.raises(client.PlanError, match=r"found 'pannel B'; did you mean 'panel B'\?$"):
        client.questions(text, "pannel B")
    for wrong in (1, ["panel B"], {"age": "an answer"}):
        with pytest.raises(client.PlanError, match="the arm must be given by its name; found '[a-z]*'$"):
            client.report({}, text, arm=wrong)  # type: ignore[arg-type]


@every_drawn
def test_an_arm_that_was_drawn_before_is_the_one_reported(plan: dn.Plan) -> None:
    text = client.read(plan.to_json())
    (record,) = some_records(plan, json.loads(plan.to_json()), 1, np.random.default_rng(6))
    arm = client.draw_arm(text)
    asked = {question["name"]: record[question["name"]] for question in client.questions(text, arm)}
    sent = client.report(asked, text, arm=arm, public=plan.public, expect=plan.fingerprint)
    number = int.from_bytes(sent, "little") & (2 ** (len(plan.arms) - 1).bit_length() - 1)
    assert plan.arm_names[number] == arm


def test_an_arm_is_drawn_by_the_systems_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = DESIGNS["one draw in 65 536"]
    for draw, name in ((0, "f0"), (65533, "f0"), (65534, "f1"), (65535, "f2")):
        monkeypatch.setattr(os, "urandom", lambda count, draw=draw: struct.pack("<H", draw)[:count])
        assert client.draw_arm(plan.to_json()) == name


def test_questions_are_those_of_the_arm_in_the_plans_order() -> None:
    plan = DESIGNS["public in every arm"]
    assert client.questions(plan.to_json(), "age x town") == [
        {"name": "region", "values": ["v0", "v1", "v2"], "public": True},
        {"name": "age", "values": ["v0", "v1", "v2"]},
        {"name": "town", "values": ["v0", "v1", "v2", "v3", "v4"]},
        {"name": "invited", "public": True},
    ]
    across = client.questions(DESIGNS["blocks beside questions alone"].to_json(), "everybody")
    assert [question["name"] for question in across] == ["smoker", "age", "town", "last"]  # not block by block
    ranges = client.questions(
        DESIGNS["multi-select and ranges in arms"].to_json(), "drinks: tea x drinks: beer x income"
    )
    assert ranges[0] == {"name": "drinks: tea", "question": "drinks"}
    assert ranges[2]["edges"] == ["0", "10", "20.5", "inf"]
    for unknown in ("nobody", None):
        with pytest.raises(
            client.PlanError, match="the arm must be one of 'smoker x age', 'age x town', 'town'; found"
        ):
            client.questions(plan.to_json(), unknown)  # type: ignore[arg-type]
    with pytest.raises(client.PlanError, match="the arm must be given by its name; found 'dict'"):
        client.questions(plan.to_json(), {"smoker": "an answer"})  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [client.report, client.draw_arm])
def test_examples_on_the_device_print_what_stands_below_them(function: Any) -> None:
    text, names = inspect.getdoc(function) or "", {"dn": dn} | vars(client)
    example = doctest.DocTestParser().get_doctest(text, names, function.__name__, None, None)
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
    assert example.examples


# -- what an error says ------------------------------------------------------------------------------------------------


def test_no_error_on_the_device_quotes_an_answer() -> None:
    """A secret as the answer to each question, in every form, and as a key that is not asked."""
    plan = dn.Plan(
        dn.Schema([dn.Flag("flag"), dn.Choice("choice", values(3)), dn.Choice.bins("number", [0, 5, 10])]), epsilon=1.0
    )
    good = {"flag": True, "choice": "v1", "number": 5}
    for name in good:
        for secret in ("secret", 31337, ["secret"], {"secret": 31337}, b"secret", 31337.5, complex(31337)):
            with pytest.raises(client.AnswerError) as refused:
                client.report(good | {name: secret}, plan.to_json())
            assert "secret" not in str(refused.value)
            assert "31337" not in str(refused.value)
            assert repr(name) in str(refused.value)
            assert refused.value.__cause__ is None
            assert refused.value.__context__ is None
    with pytest.raises(client.AnswerError, match="^column 'flag' is missing$"):
        client.report({"secret": True}, plan.to_json())
    with pytest.raises(client.AnswerError, match="found list$"):
        client.report([("flag", "secret")], plan.to_json())  # type: ignore[arg-type]


# -- the promise in words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [*DESIGNS.values(), *PLANS.values()], ids=[*DESIGNS, *PLANS])
def test_the_promise_says_the_bounds_and_names_what_is_public(plan: dn.Plan) -> None:
    words = client.promise(plan.to_json())
    assert "epsilon" not in words
    public = ", ".join(client.quoted({"name": name}) for name in plan.public)
    assert (f"Not protected at all, but sent as it is: {public}." in words) == bool(plan.public)
    if len(plan.public) == len(plan.schema):
        assert words.startswith("Nothing is protected here.\n")
        assert "at most" not in words
        return
    bound = _bound(of_report(plan))
    assert f"whole report can raise what somebody suspects from 1 in 10 to at most {bound} in 100." in words
    assert ("protects little" in words) == (bound > 95)
    alone = [line for line in words.splitlines() if line.startswith("One answer")]
    for name in set(plan.schema.names) - set(plan.public):
        worst = max(block.protocol.ratio for block in plan.blocks if name in block.names)
        (line,) = [line for line in alone if f"to at most {_bound(Promise(worst))} in 100 (" in line]
        assert client.quoted({"name": name, "label": plan.schema[name].title}) in line
    assert ("You are asked one of" in words) == plan.has_arms
    assert ("comes on top of what is sent unprotected" in words) == bool(plan.public)


def _bound(promise: Promise) -> int:
    """The smallest whole number of hundredths that is not below what a belief of 1 in 10 can become."""
    return next(k for k in range(101) if Fraction(k, 100) >= promise.most(BELIEF))


def test_a_label_cannot_pass_for_words_of_the_promise() -> None:
    labels = {"a": "nothing", "b": 'nothing". Every answer is protected', "c": None}
    schema = dn.Schema([dn.Flag("d"), *(dn.Flag(name, label=label) for name, label in labels.items())])
    plan = dn.Plan(schema, dict.fromkeys(labels, dn.Public()), epsilon=1.0)
    names = """"nothing" ("a"), "nothing'. Every answer is protected" ("b"), "c\""""
    assert client.promise(plan.to_json()).endswith(f"Not protected at all, but sent as it is: {names}.")
    assert f"NOT PROTECTED, shown as they are: {names}." in " ".join(str(plan).split())
    assert f"(beyond what {names} tells, which is not protected)" in in_one_sentence(plan)


def test_the_promise_says_who_draws() -> None:
    assert "one of 2 sets of questions. This device draws it before any answer" in client.promise(
        DESIGNS["two arms"].to_json()
    )
    words = client.promise(DESIGNS["assigned"].to_json())
    assert "Whoever invited you chose which, and must have done so by chance." in words
    assert "They may know which report is yours, if few people are asked the same set." in words
    assert "draws" not in words
