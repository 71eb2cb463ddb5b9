"""The plan in words and tables: what is shown, that it fits, and that no digit promises too much."""

import math
import re
import time
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

import deniable as dn
from deniable.survey.aim import Aim
from deniable.survey.describe import ARM_HEAD, HEAD, arm_rows, describe, epsilon_in_words, protocol_rows, who_draws
from deniable.survey.half_widths import HalfWidths
from deniable.survey.planning.hardly_known import people_in_words
from deniable.survey.privacy import of_report, of_weakest_question
from deniable.text.width import width
from tests.support.random_plans import random_plan
from tests.support.situations import PLANS, values

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", values(4)),
        dn.Choice("income", values(3)),
        dn.Choice("region", values(2)),
        dn.Flags("drinks", ["tea", "beer", "wine"]),
    ]
)
SHOWN = {"region": dn.Public()}
ARMS = [["smoker", "age"], ["smoker", "income"], [["drinks"], ["age"]]]
LONG = dn.Schema([dn.Flag(f"have you ever done thing number {k:02}") for k in range(16)])
WIDE = dn.Schema([dn.Choice("本" * 60, ["あ", "い"]), dn.Flag("a" * 200), dn.Flag("b " * 90)])
DESIGNS = {
    "blocks": dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"], ["drinks"]]),
    "one block": dn.Plan(SCHEMA, epsilon=2.0, together=[SCHEMA.names]),
    "arms": dn.Plan(SCHEMA, SHOWN, epsilon=2.0, arms=ARMS),
    "named arms": dn.Plan(SCHEMA, SHOWN, epsilon=2.0, arms=dict(zip("abc", ARMS, strict=True))),
    "arms of long names": dn.Plan(SCHEMA, SHOWN, epsilon=2.0, arms={f"{k} " * 40: arm for k, arm in enumerate(ARMS)}),
    "assigned": dn.Plan(SCHEMA, SHOWN, epsilon=2.0, arms=ARMS, assigned=True),
    "many arms": dn.Plan(LONG, epsilon=1.0, arms=[list(names) for names in combinations(LONG.names, 3)]),
    "many questions in a block": dn.Plan(LONG, epsilon=4.0, together=[LONG.names[:8], LONG.names[8:]]),
    "wide letters": dn.Plan(WIDE, epsilon=2.0, together=[WIDE.names]),
    "wide letters in arms": dn.Plan(WIDE, epsilon=2.0, arms=[WIDE.names, WIDE.names[1:]]),
}


def lines(plan: dn.Plan) -> list[str]:
    return str(plan).splitlines()


def prose(plan: dn.Plan) -> str:
    """What is said, without the breaks of lines."""
    return " ".join(str(plan).split())


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [*DESIGNS.values(), *PLANS.values()], ids=[*DESIGNS, *PLANS])
def test_it_fits_a_terminal(plan: dn.Plan) -> None:
    assert max(map(width, lines(plan))) <= 100
    assert describe(plan) == str(plan)
    assert re.sub(r"\033\[[\d;]*m", "", describe(plan, colour=True)) == str(plan)


def test_a_row_for_each_block_says_how_it_is_randomized() -> None:
    plan = DESIGNS["blocks"]
    rows = protocol_rows(plan)
    assert [row[0] for row in rows] == [block.name for block in plan.blocks]
    assert [row[1] for row in rows] == ["one of 8", "one of 3", "one of 2", "one of 8"]
    assert all(len(row) == len(HEAD) for row in rows)
    for row, protocol in zip(rows, plan.protocols, strict=True):
        assert row[2:] == (protocol.name, epsilon_in_words(protocol.epsilon), f"{protocol.q:.2%}", f"{protocol.p:.2%}")


def test_a_row_for_each_block_of_each_arm() -> None:
    plan = DESIGNS["named arms"]
    rows = arm_rows(plan)
    assert all(len(row) == len(ARM_HEAD) for row in rows)
    assert [row[:3] for row in rows] == [
        ("a", "33.33%", "smoker x age"),
        ("b", "33.33%", "smoker x income"),
        ("c", "33.33%", "age"),
        ("", "", "drinks: tea x drinks: beer x drinks: wine"),
    ]
    assert [float(row[5]) for row in rows] == pytest.approx([2, 2, 1, 1], abs=0.01)
    alone = dn.Plan(SCHEMA, epsilon=2.0)
    assert [row[2:] for row in arm_rows(alone)] == [row[:4] for row in protocol_rows(alone)]
    assert arm_rows(alone)[0][:2] == ("everybody", "100.00%")


def test_names_that_say_again_what_is_asked_are_left_out() -> None:
    assert lines(DESIGNS["arms"])[0].split() == ["share", "asked", "together", "answers", "protocol", "epsilon"]
    assert lines(DESIGNS["named arms"])[0].startswith("arm")
    twice = dn.Plan(SCHEMA, epsilon=2.0, arms=[SCHEMA.names[:2], SCHEMA.names[:2], SCHEMA.names[2:]])
    assert not lines(twice)[0].startswith("arm")


def test_many_names_are_folded_and_none_is_lost() -> None:
    for name in ("blocks", "arms", "many questions in a block"):
        plan = DESIGNS[name]
        for feature in plan.schema.names:
            assert feature in str(plan)
    table = lines(DESIGNS["many questions in a block"])[2:18]
    assert sum(line.startswith("x have you") for line in table) == 14
    assert sum("local hashing" in line for line in table) == 2


def test_of_many_arms_whole_ones_are_shown_and_the_rest_is_counted() -> None:
    text = lines(DESIGNS["many arms"])
    shown = sum("0.18%" in line for line in text)
    cut = next(k for k, line in enumerate(text) if line.startswith("..."))
    assert text[cut] == f"... and {560 - shown} more arms"
    assert cut - 2 <= 24
    assert cut - 2 == 3 * shown  # three lines each
    schema = dn.Schema([dn.Flag(f"f{k}") for k in range(25)])
    assert "... and one more arm\n" in str(dn.Plan(schema, epsilon=1.0, arms=[[name] for name in schema.names]))
    few = dn.Plan(dn.Schema(schema.features[:24]), epsilon=1.0, arms=[[name] for name in schema.names[:24]])
    assert "more arm" not in str(few)


def test_one_arm_too_long_is_shown_whole() -> None:
    schema = dn.Schema([dn.Flag(f"f{k}") for k in range(40)])
    plan = dn.Plan(schema, epsilon=30.0, arms=[[[name] for name in schema.names], ["f0", "f1"]], unequal=True)
    assert all(name in str(plan) for name in schema.names)
    assert "... and one more arm" in str(plan)


# -- what it will tell -------------------------------------------------------------------------------------------------

WANT = [("smoker", "age"), ("smoker", "income"), "region", "drinks"]


def told(plan: dn.Plan) -> dict[str, list[float]]:
    """The table of half-widths as it is printed: by what is wanted, the numbers in its columns."""
    rows = re.findall(r"^(.*?)  +(?=\+-|over)(.*points)$", str(plan), re.M)
    return {name: [float(number) for number in re.findall(r"(?:\+-|over) ([\d.]+)", rest)] for name, rest in rows}


def test_half_widths_of_wanted_tables_beside_those_of_asking_everybody_everything() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, want=WANT, n=20_000)
    everybody = dn.Plan(SCHEMA, epsilon=2.0)
    found = told(plan)
    assert list(found) == [" x ".join(names) for names in plan.want or ()]
    for names in plan.want or ():
        expected = [one.expect(*names, n=20_000).half_width for one in (plan, everybody)]
        assert found[" x ".join(names)] == [pytest.approx(100 * width, rel=0.051) for width in expected]
    assert "with 20,000 people  if everybody were asked everything" in str(plan)
    assert "Four times" not in str(plan)


def test_without_a_number_of_people_it_is_said_for_ten_thousand() -> None:
    for plan in (dn.design(SCHEMA, epsilon=2.0, want=WANT), DESIGNS["arms"], DESIGNS["blocks"]):
        assert "with 10,000 people" in str(plan)
        assert "Four times as many people halve them." in prose(plan)
        for name, (half, *_) in told(plan).items():
            expected = plan.expect(*name.split(" x "), n=10_000).half_width
            assert half == pytest.approx(100 * expected, rel=0.051)
    assert list(told(DESIGNS["arms"])) == [block.name for block in DESIGNS["arms"].blocks if block.protocol.protects]


def test_of_many_tables_the_rest_has_a_range() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, n=20_000)
    assert plan.want
    widths = sorted(plan.expect(*names).half_width for names in plan.want[12:])
    assert len(told(plan)) == 12
    said = re.search(r"^\.\.\. and (\d+) more: \+- ([\d.]+) points to \+- ([\d.]+) points$", str(plan), re.M)
    assert said
    assert int(said[1]) == len(plan.want) - 12
    assert float(said[2]) == pytest.approx(100 * widths[0], rel=0.051)
    assert float(said[3]) == pytest.approx(100 * widths[-1], rel=0.051)


@pytest.mark.parametrize("n", [300, 3_000_000])
def test_too_few_people_are_said_loudly(n: int) -> None:
    plan = dn.design(SCHEMA, epsilon=1.0, n=n)
    said = re.search(r"TOO FEW PEOPLE: with 300, (\d+) of (\d+) tables .* take about ([\d,]+) people", prose(plan))
    assert bool(said) == (n == 300)
    if not said:
        return
    assert plan.want
    assert int(said[2]) == len(plan.want)
    assert int(said[1]) > len(plan.want) / 2
    people = int(said[3].replace(",", ""))
    found = [
        plan.expect(*names, n=people).half_width * math.prod(SCHEMA[name].levels for name in names)
        for names in plan.want
    ]
    assert max(found) == pytest.approx(0.5, rel=0.05)
    assert "\033[1;33mTOO FEW PEOPLE" in describe(plan, colour=True)


def test_more_people_than_there_are() -> None:
    assert people_in_words(9e9) == "more people than live on earth"
    assert people_in_words(123_456) == "about 120,000 people"
    plan = dn.design(dn.Schema([dn.Choice("a", values(40)), dn.Choice("b", values(40))]), epsilon=0.01, n=1_000)
    assert "take more people than live on earth" in prose(plan)


def test_half_of_the_tables_are_not_most() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(6)), dn.Choice("c", values(6))])
    plan = dn.design(schema, epsilon=1.0, want=["a", ("b", "c")], n=3_000)
    assert [plan.expect(*names).half_width * HalfWidths(plan).cells(names) > 1 for names in plan.want or ()] == [
        False,
        True,
    ]
    assert "TOO FEW" not in prose(plan)
    assert "With 3,000 people, 1 of 2 tables would hardly be known" in prose(plan)
    assert "--want" in prose(plan)
    assert "hardly be known" not in prose(dn.design(schema, epsilon=1.0, want=["a", ("b", "c")], n=300_000))
    less = dn.design(schema, epsilon=1.0, want=["a", ("b", "c"), ("a", "b", "c")], n=3_000)
    assert "TOO FEW PEOPLE: with 3,000, 2 of 3 tables" in prose(less)


def test_tables_without_enough_reports_are_as_good_as_unknown() -> None:
    """With little noise and few people intervals are narrower than the shares, but there is no trusting them."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.design(schema, epsilon=9.0, want=["a", "b"], n=9)
    assert all(plan.expect(name).half_width < 1 / 2 for name in "ab")
    assert not plan.expect("a").estimate.cell(a=True).enough
    assert "TOO FEW PEOPLE: with 9, 2 of 2 tables" in prose(plan)
    assert "TOO FEW" not in prose(dn.design(schema, epsilon=9.0, want=["a", "b"], n=9_000))


def test_a_plan_without_a_design_says_what_one_would_gain() -> None:
    flags = dn.Schema([dn.Flag(f"q{k}") for k in range(8)])
    assert "this takes about 58 times as many people as a design" in prose(dn.Plan(flags, epsilon=2.0))
    assert "fewer people" not in prose(dn.Plan(dn.Schema([dn.Flag("q")]), epsilon=2.0))
    assert "fewer people" not in prose(dn.design(flags, epsilon=2.0))
    assert "fewer people" not in prose(DESIGNS["blocks"])
    little = dn.Plan(dn.Schema(flags.features[:2]), epsilon=9.0)  # where it would gain next to nothing
    assert "fewer people" not in prose(little)


@pytest.mark.parametrize("kind", ["560 arms", "50 questions apart", "50 questions, every pair"])
def test_it_is_quick_however_much_is_asked(kind: str) -> None:
    fifty = dn.Schema([dn.Flag(f"q{k}") for k in range(50)])
    pairs = [list(names) for names in combinations(fifty.names, 2)]
    plan = {
        "560 arms": DESIGNS["many arms"],
        "50 questions apart": dn.Plan(fifty, epsilon=2.0),
        "50 questions, every pair": dn.Plan(fifty, epsilon=2.0, arms=pairs).for_aim(
            Aim(tuple(map(tuple, pairs)), 10**6)
        ),
    }[kind]
    str(dn.design(fifty, epsilon=2.0, want=list(fifty.names), n=1_000))  # everything is imported
    start = time.process_time()
    str(plan)
    assert time.process_time() - start < 0.5


def test_tables_fit_a_narrower_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is not printed to one is made for a wide one."""
    plan = dn.design(dn.Schema([dn.Flag(f"a rather long question {k}") for k in range(6)]), epsilon=4.0, order=3, n=900)
    wide = max(map(width, str(plan).splitlines()[:-1]))
    monkeypatch.setattr("deniable.survey.describe.is_terminal", lambda _: True)
    for columns, least, most in (("80", 60, 80), ("50", 60, 76), ("300", wide, wide)):
        monkeypatch.setenv("COLUMNS", columns)
        assert least <= max(map(width, str(plan).splitlines()[:-1])) <= most
    assert 80 < wide <= 100


def test_one_question_is_compared_with_nothing() -> None:
    plan = dn.design(dn.Schema([dn.Flag("a")]), epsilon=1.0, n=1)
    assert "if everybody were asked everything" not in prose(plan)
    assert "with 1 person" in prose(plan)
    assert repr(plan).startswith("<Plan of 1 feature,")


# -- promises ----------------------------------------------------------------------------------------------------------


def check_words(plan: dn.Plan) -> None:
    """No printed number promises too much, and none is far too large."""
    text, whole, one = prose(plan), of_report(plan), of_weakest_question(plan)
    if one is None:
        assert "epsilon 0" not in text
        assert "Total" not in text
        return
    epsilon = re.search(r"Total epsilon ([\d.]+):", text)
    assert epsilon
    assert plan.epsilon <= float(epsilon[1]) < plan.epsilon + 1.1e-4
    promised = text[epsilon.start() :]
    said = [Fraction(number.replace(",", "")) for number in re.findall(r"([\d,.]+) times", promised)]
    for number, promise in zip(said, (whole, one), strict=False):
        assert promise.ratio <= number < promise.ratio + Fraction(1, 10)
    told = [Fraction(int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in
            re.findall(r"becomes at most ([\d,]+) in ([\d,]+\d)", text)]  # fmt: skip
    for belief, promise in zip(told, (whole, one), strict=False):
        assert belief >= promise.most(Fraction(1, 10)) > belief * Fraction(9, 10)


@pytest.mark.parametrize("plan", [*DESIGNS.values(), *PLANS.values()], ids=[*DESIGNS, *PLANS])
def test_words_promise_neither_too_much_nor_much_too_little(plan: dn.Plan) -> None:
    check_words(plan)


def test_words_of_random_plans() -> None:
    rng = Random(7)
    for _ in range(100):
        check_words(random_plan(rng, 10**9))


def test_both_promises_are_said_and_when_the_second_one_holds() -> None:
    text = prose(DESIGNS["blocks"])
    assert "one whole report changes the odds" in text
    assert "One answer alone, if all others are known: the odds of the least protected one" in text
    assert "Answers that are asked together each have all of their block's epsilon." in text
    text = prose(DESIGNS["one block"])
    assert "The same holds for one answer alone, if all others are known. Answers that are asked together" in text
    text = prose(dn.Plan(SCHEMA, epsilon=2.0))
    assert "One answer alone, if all others are known" in text
    assert "asked together" not in text
    single = dn.Plan(dn.Schema([SCHEMA["smoker"], SCHEMA["region"]]), SHOWN, epsilon=1.0)
    assert "alone" not in prose(single)  # it is the only answer there is


def test_who_draws_the_arm_is_said() -> None:
    assert "Their device draws it, publicly, before any answer is looked at" in prose(DESIGNS["arms"])
    assert "one of these 560 arms" in prose(DESIGNS["many arms"])
    assert "The device does not draw it" in prose(DESIGNS["assigned"])
    assert "must do so at random" in who_draws(DESIGNS["assigned"])
    assert "arm" not in prose(DESIGNS["blocks"])


def test_unequal_arms_are_said_to_be_unequal() -> None:
    first, second = dn.Schema(SCHEMA.features[:2]), dn.Schema(SCHEMA.features[2:])
    arms = [dn.Plan(first, epsilon=1.0), dn.Plan(second, epsilon=3.0)]
    assert "times in the least protected arm" in prose(dn.Plan(SCHEMA, arms=arms, unequal=True))
    assert "least protected arm" not in prose(DESIGNS["arms"])


def test_public_columns_are_said_loudly_and_set_apart() -> None:
    text = prose(DESIGNS["arms"])
    assert 'NOT PROTECTED, shown as they are in every arm: "region".' in text
    assert "beyond what the columns tell that are not protected" in text
    assert "beyond" not in prose(DESIGNS["blocks"])


OPEN = {
    "alone": dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public())),
    "in arms": dn.Plan(SCHEMA, arms=[dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))] * 2),
}


@pytest.mark.parametrize("plan", OPEN.values(), ids=OPEN.keys())
def test_a_plan_in_which_everything_is_public_never_speaks_of_an_epsilon_of_nothing(plan: dn.Plan) -> None:
    for text in (str(plan), repr(plan)):
        assert not re.search(r"epsilon\W*0", text)
        assert "0.0000" not in text
    assert "NOT PROTECTED" in str(plan)
    assert "none of them protected" in repr(plan)
    assert max(map(width, lines(plan))) <= 100


@pytest.mark.parametrize("epsilon", [1.0, 1.00001, 2.99995, math.nextafter(0.5, 1), 1e-9, 0.1 + 0.2])
def test_epsilon_is_rounded_up_in_print(epsilon: float) -> None:
    said = Fraction(epsilon_in_words(epsilon))
    assert Fraction(epsilon) <= said < Fraction(epsilon) + Fraction(1, 10_000)


# -- warnings ----------------------------------------------------------------------------------------------------------


def warned(plan: dn.Plan) -> str:
    """What a plan says after its promises, on one line."""
    return " ".join(str(plan).split())


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_a_usual_epsilon_is_no_warning(epsilon: float) -> None:
    text = warned(dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=epsilon))
    assert "PROTECTS LITTLE" not in text
    assert "CAPPED" not in text


def test_a_large_epsilon_is_said_as_loudly_as_what_is_public() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("c")]), {"c": dn.Public()}, epsilon=6.0)
    loud = [line for line in describe(plan, colour=True).splitlines() if line.startswith("\033[1;33m")]
    assert loud[0].startswith(f"\033[1;33mPROTECTS LITTLE: epsilon {epsilon_in_words(plan.epsilon)} is above 5.")
    assert loud[-1].startswith('\033[1;33mNOT PROTECTED, shown as they are: "c".')
    assert "1 in 10 can become 98 in 100 sure by one report." in warned(plan)  # 403 / (403 + 9) = 0.978
    assert "CAPPED" not in warned(plan)
    arms = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=6.0, arms=[["a"], ["b"]])
    assert "PROTECTS LITTLE: epsilon 5.99" in warned(arms)
    assert "PROTECTS LITTLE" not in warned(dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.Public()}))  # nothing at all


def test_an_epsilon_that_cannot_be_reached_is_said_to_be_capped() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    text = warned(dn.Plan(schema, epsilon=40.0))
    assert "CAPPED: epsilon 40 was asked for." in text
    assert "and these have the largest already: 'a', 'b'." in text
    assert "can become practically certain by one report" in text  # 9 / e^23.5 is less than one in 1e9
    some = dn.Plan(schema, {"b": dn.GRR(epsilon=1.0)}, epsilon=30.0)
    assert "have the largest already: 'a'." in warned(some)
    given = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=1 / 65536, q=65535 / 65536)})
    assert "CAPPED" not in warned(given)  # nobody asked for more
    assert "PROTECTS LITTLE" in warned(given)
