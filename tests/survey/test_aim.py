"""What a plan was made for travels beside it, in its JSON too, and is no part of what it means."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable import client
from deniable.survey.aim import Aim
from tests.support.designs import DESIGNS, TRIO

ONE_BY_ONE = dn.Plan(TRIO, epsilon=2.0)  # version 1
WANTED = (("smoker", "age"), ("town",))
PLANS = {
    "version 1": ONE_BY_ONE,
    "blocks": dn.Plan(TRIO, epsilon=2.0, together=[["smoker", "age"]]),
    "arms": DESIGNS["arms of unequal length"],
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


@every_plan
@pytest.mark.parametrize("n", [None, 1, 50_000])
def test_it_is_written_and_read(plan: dn.Plan, n: int | None, tmp_path: Path) -> None:
    made = plan.for_aim(Aim(WANTED, n))
    document = json.loads(made.to_json())
    assert document["want"] == [["smoker", "age"], ["town"]]
    assert document.get("n") == n
    assert ("n" in document) == (n is not None)
    made.save(tmp_path / "plan.json")
    for read in (dn.Plan.from_json(made.to_json()), dn.Plan.load(tmp_path / "plan.json")):
        assert (read.want, read.n) == (WANTED, n)
        assert read.to_json() == made.to_json()


@every_plan
def test_it_is_no_part_of_what_a_plan_means(plan: dn.Plan) -> None:
    made = plan.for_aim(Aim(WANTED, 50_000))
    assert made == plan
    assert hash(made) == hash(plan)
    assert made.fingerprint == plan.fingerprint
    assert (plan.want, plan.n) == (None, None)  # the plan itself is as it was
    assert not {"want", "n"} & json.loads(plan.to_json()).keys()
    assert made.to_json() != plan.to_json()


def test_reports_of_both_are_of_one_survey() -> None:
    made = ONE_BY_ONE.for_aim(Aim(WANTED, 50_000))
    answers = {"smoker": [True], "age": ["v1"], "town": ["v4"]}
    reports = [dn.randomize(answers, plan) for plan in (ONE_BY_ONE, made)]
    assert sum(dn.count(own, order=1).n for own in reports) == 2
    assert (dn.count(reports[0], order=1) + dn.count(reports[1], order=1)).n == 2


@every_plan
def test_devices_read_plans_with_it(plan: dn.Plan) -> None:
    made = client.read(plan.for_aim(Aim(WANTED, 50_000)).to_json())
    assert made.fingerprint == plan.fingerprint


DAMAGED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "want a name": (lambda d: d.update(want="smoker"), "want must be a list of tables of its features; found 'smoker'"),
    "want a table": (lambda d: d.update(want=["smoker"]), r"want must be a list of tables .* found \['smoker'\]"),
    "want nothing": (lambda d: d.update(want=[]), r"want must be a list of tables .* found \[\]"),
    "want an empty table": (lambda d: d.update(want=[[]]), "want must be a list of tables"),
    "want an unknown one": (lambda d: d.update(want=[["smoker"], ["x"]]), "want must be a list of tables"),
    "want a number": (lambda d: d.update(want=[[1]]), "want must be a list of tables"),
    "want one twice": (lambda d: d.update(want=[["age", "age"]]), "want must be a list of tables"),
    "want null": (lambda d: d.update(want=None), "want must be a list of tables .* found None"),
    "n alone": (lambda d: d.pop("want"), "want must be a list of tables .* found None"),
    "design alone": (
        lambda d: (d.pop("want"), d.pop("n"), d.update(design={"goal": "mean"})),
        "want must be a list of tables",
    ),
    "design text": (lambda d: d.update(design="worst"), "design must be options of a design .*; found 'worst'"),
    "design unknown": (lambda d: d.update(design={"gaol": "mean"}), "design must be options"),
    "design goal": (lambda d: d.update(design={"goal": "best"}), "design must be options"),
    "design most": (lambda d: d.update(design={"goal": "mean", "most": 0}), "design must be options"),
    "design spare": (lambda d: d.update(design={"goal": "mean", "spare": 1}), "design must be options"),
    "design apart": (lambda d: d.update(design={"apart": [["smoker", "x"]]}), "design must be options"),
    "design together": (lambda d: d.update(design={"together": 5}), "design must be options"),
    "design weights": (lambda d: d.update(design={"weights": [[["smoker"], 0]]}), "design must be options"),
    "n zero": (lambda d: d.update(n=0), "n must be a number of respondents, a whole number above 0; found 0"),
    "n negative": (lambda d: d.update(n=-5), "n must be a number of respondents"),
    "n a fraction": (lambda d: d.update(n=5.0), "n must be a number of respondents .* found 5.0"),
    "n true": (lambda d: d.update(n=True), "n must be a number of respondents .* found True"),
    "n null": (lambda d: d.update(n=None), "n must be a number of respondents .* found None"),
    "n text": (lambda d: d.update(n="5"), "n must be a number of respondents .* found '5'"),
}


@every_plan
@pytest.mark.parametrize(("change", "words"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_ones_are_refused(plan: dn.Plan, change: Callable[[dict[str, Any]], Any], words: str) -> None:
    document = json.loads(plan.for_aim(Aim(WANTED, 50_000)).to_json())
    change(document)
    with pytest.raises(dn.PlanError, match=words.replace(" .* ", ".* ")):
        dn.Plan.from_json(json.dumps(document))
