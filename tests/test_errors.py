"""What error messages show of values: in full if it is short, and never a whole frame."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import MOST_SHOWN, abbreviated, listed, meant, shortened


@pytest.mark.parametrize("value", [1, None, "a  b", "a\nb", True, ["a", 1], b"\0", np.arange(3)])
def test_short_values_are_shown_as_they_are(value: object) -> None:
    assert abbreviated(value) == repr(value)


@pytest.mark.parametrize(
    "value", ["x" * 70_000, b"x" * 70_000, list(range(70_000)), {"a": [1] * 70_000}, "'\n" * 60, np.arange(400)]
)
def test_long_values_are_shortened(value: object) -> None:
    assert len(abbreviated(value)) <= MOST_SHOWN
    assert "\n" not in abbreviated(value)
    assert abbreviated(value).endswith("...") or abbreviated(value) == f"an object of type {type(value).__name__}"


def test_of_an_answer_the_beginning_is_shown_at_most() -> None:
    assert shortened("odd") == "'odd'"
    assert shortened(3) == "3"
    assert shortened("a patient called John") == "'a patient ca'..."
    assert shortened({"smoker": True}) == "an object of type dict"


def test_frames_are_named_by_their_type() -> None:
    frame = {"answer": ["secret"] * 3}
    for value in (
        frame,
        [frame],
        [["secret"], ["secret"]],
        pd.DataFrame(frame),
        pl.DataFrame(frame),
        pa.table(frame),
        pd.Series(["secret"]),
    ):
        assert abbreviated(value) == f"an object of type {type(value).__name__}"


def test_lists_of_names_say_how_many_more_there_are() -> None:
    asked = ["Do you smoke?", "Do you drink?", "age"]
    assert meant("Smoke", asked) == "; did you mean 'Do you smoke?'?"
    assert meant("you ", asked) == meant("yo", ["Do you smoke?"]) == ""  # it is in two of them, or too short
    assert meant("Smokr", ["drinker", "smoker"]) == meant("SMOKER", ["smoker"]) == "; did you mean 'smoker'?"
    assert meant("gr\u00f6\u00dfe", ["gro\u0308\u00dfe"]).endswith(
        "looks the same but has other characters (blanks, or NFD): rename it"
    )
    assert meant("age", ["drinker", "smoker"]) == meant("age", []) == ""
    assert listed([]) == ""
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(["x" * 1000]) == abbreviated("x" * 1000)
    many = listed(f"column {k}" for k in range(1500))
    assert many.startswith("'column 0', 'column 1', ")
    assert many.endswith("'column 7', and 1,492 more")
    assert len(many) < MOST_SHOWN + 20


def test_a_list_of_long_names_shows_several() -> None:
    names = [f"How content are you, all in all, with the work of your {one} in the last month?" for one in "abcdefgh"]
    told = listed(["age", *names])
    assert told == (
        "'age', 'How content are you, all ... ast month?', 'How content are you, all ... ast month?', and 6 more"
    )
    assert listed(names[:1]) == repr(names[0])
    assert listed(["a" * 40, "b"]) == f"{'a' * 40!r}, 'b'"


def test_survey_weights_are_refused_by_name() -> None:
    """Wherever somebody may give them: a bare TypeError would not say what there is instead."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0)
    answers = {"a": [True, False], "b": [True, True]}
    counts = dn.count(dn.randomize(answers, plan))
    for asked in (
        lambda: dn.randomize(answers, plan, weights=[1, 2]),
        lambda: dn.count(dn.randomize(answers, plan), weights=[1, 2]),
        lambda: dn.regress(counts, "a", on=["b"], weights=[1, 2]),
        lambda: dn.estimate(counts, ["a"], weights=[1, 2]),
    ):
        with pytest.raises(dn.DeniableError, match=r"no survey weights for each respondent, .*est\.poststratify"):
            asked()


def test_mistakes_are_answered_with_what_there_is(tmp_path: Path) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0)
    est = dn.estimate(dn.count(dn.randomize({"a": [True, False], "b": [True, True]}, plan)), ["a", "b"])
    for read in (lambda: est.table()["zz"], lambda: est.table().column("zz")):
        with pytest.raises(KeyError, match="no column 'zz'; there are 'a', 'b', 'proportion'"):
            read()
    for name in ("linear", "covariance", "summary", "posterior"):
        with pytest.raises(dn.EstimateError, match=rf"there is no {name}\(...\) among some respondents"):
            getattr(est.among("a", [True]), name)()
    with pytest.raises(dn.PlanError, match=r"'a' needs a protocol such as RandomizedResponse\(epsilon=1.0\); found 5"):
        dn.Plan(plan.schema, {"a": 5})
    plan.save(tmp_path / "plan.json")
    with pytest.raises(dn.SchemaError, match="plan.json: this is a plan; Plan.load reads it"):
        dn.Schema.load(tmp_path / "plan.json")
