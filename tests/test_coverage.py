"""The grid of intervals as printed: what is tallied, that it can fail, and that it goes on where it was stopped."""

from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable import coverage
from deniable.coverage import Held, Setting


def test_the_error_of_a_share_is_that_of_its_surveys() -> None:
    rng = np.random.default_rng(1)
    held = (rng.random(400) < 0.9).astype(float)
    value, error = coverage._ratio(held, np.ones(400))
    assert value == held.mean()
    assert error == pytest.approx(np.sqrt(value * (1 - value) / 400))
    value, error = coverage._ratio(10 * held, np.full(400, 10.0))  # ten cells that all do the same are one
    assert error == pytest.approx(np.sqrt(value * (1 - value) / 400))
    assert np.isnan(coverage._ratio(np.zeros(3), np.zeros(3))).all()


@pytest.fixture(scope="module")
def found() -> list[Held]:
    return coverage.measure(Setting("flags", 4.0, 10_000, 2), 40)


def test_every_question_is_asked_and_its_intervals_hold_the_truth(found: list[Held]) -> None:
    questions = {one.question: one for one in found}
    assert questions.keys() == {
        *coverage.TABLES, *coverage.JOINT, *(f"error of {method}" for method in coverage.METHODS)
    }  # fmt: skip
    for question in (*coverage.TABLES, *coverage.JOINT):
        assert questions[question].judged
        assert questions[question].value > 0.8, question


def test_intervals_about_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: respondents whose answers are the other way round."""
    right = coverage.survey

    def turned(*of: object) -> tuple[np.ndarray, dn.Reports]:
        own, reports = right(*of)  # type: ignore[arg-type]
        return np.flip(own), reports

    monkeypatch.setattr(coverage, "survey", turned)
    wrong = {one.question: one.value for one in coverage.measure(Setting("flags", 4.0, 10_000, 2), 5)}
    assert all(wrong[method] < 0.6 for method in coverage.METHODS)
    assert wrong["whole table"] == 0


def test_tables_are_as_far_from_the_truth_as_it_is_said(found: list[Held]) -> None:
    setting = Setting("flags", 4.0, 10_000, 2)
    errors = {one.question: one.value for one in found if one.question.startswith("error of")}
    ratios = coverage.accuracies(found)
    assert ratios[setting, "feasible"] == errors["error of feasible"] / errors["error of maximum likelihood"]
    plan = coverage.plan_for("flags", 4.0, 2)
    own, reports = coverage.survey(plan, 1_000_000, np.random.default_rng(1))
    stderr = dn.estimate(dn.count(reports, ["f0", "f1"]), ["f0", "f1"]).table()["stderr"].to_numpy()
    expected = np.sqrt(np.mean(stderr**2) * 100)  # of 10 000 respondents
    assert errors["error of consistent"] == pytest.approx(expected, rel=0.2)
    np.testing.assert_allclose(own, coverage.shares_for([2, 2]), atol=0.003)


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Setting] = []

    def fake(setting: Setting, surveys: int) -> list[Held]:
        done.append(setting)
        if len(done) == 4:
            raise KeyboardInterrupt
        return [coverage._held(setting, "unbiased", surveys, 10, 10, 0.9, 0.01)]

    monkeypatch.setattr(coverage, "measure", fake)
    path = tmp_path / "coverage.csv"
    with pytest.raises(KeyboardInterrupt):
        coverage.measured(path, quick=True)
    first = done[:3]
    whole = coverage.measured(path, quick=True)
    assert [one.setting for one in whole] == coverage.settings(quick=True)
    assert not set(first) & set(done[4:])
    assert coverage.measured(path, quick=True) == whole
    count = len(done)
    monkeypatch.setattr(coverage, "__version__", "another")
    coverage.measured(path, quick=True)
    assert len(done) == count + len(whole)


def test_a_damaged_file_of_an_earlier_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "coverage.csv").write_text("kind,epsilon\nflags,much\n", encoding="utf-8")
    with pytest.raises(dn.EstimateError, match="coverage.csv: is not of an earlier run; remove it"):
        coverage.measured(tmp_path / "coverage.csv", quick=True)


def test_the_verdict_names_what_is_least(found: list[Held]) -> None:
    assert coverage.pooled(found)["consistent"][0] == next(one.value for one in found if one.question == "consistent")
    lines = coverage.verdict(found).splitlines()
    assert len(lines) == 1 + len(coverage.TABLES) + len(coverage.JOINT)
    assert "1 of   1 settings" in lines[1]
    assert "15 kinds of 95 % intervals" in coverage.summary(found)
