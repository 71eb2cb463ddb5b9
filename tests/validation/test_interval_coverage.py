"""The grid of intervals as printed: what is tallied, that it can fail, and that it goes on where it was stopped."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.validation import coverage_results, coverage_survey, interval_coverage, run
from deniable.validation.coverage_survey import Setting
from deniable.validation.interval_coverage import Held


def test_the_error_of_a_share_is_that_of_its_surveys() -> None:
    rng = np.random.default_rng(1)
    held = (rng.random(400) < 0.9).astype(float)
    value, error = interval_coverage._ratio(held, np.ones(400))
    assert value == held.mean()
    assert error == pytest.approx(np.sqrt(value * (1 - value) / 400))
    value, error = interval_coverage._ratio(10 * held, np.full(400, 10.0))  # ten cells that all do the same are one
    assert error == pytest.approx(np.sqrt(value * (1 - value) / 400))
    assert np.isnan(interval_coverage._ratio(np.zeros(3), np.zeros(3))).all()
    assert interval_coverage._ratio(np.ones(8), np.ones(8)) == pytest.approx(
        (1, np.sqrt(0.95 * 0.05 / 8))
    )  # not without error


@pytest.fixture(scope="module")
def found() -> list[Held]:
    return interval_coverage.measure(Setting("flags", 4.0, 10_000, 2), 40)


@pytest.fixture(scope="module")
def choices() -> list[Held]:
    return interval_coverage.measure(Setting("GRR", 4.0, 10_000, 2), 40)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["found", pytest.param("choices", marks=pytest.mark.nightly)])
def test_every_question_is_asked_and_its_intervals_hold_the_truth(rows: str, request: pytest.FixtureRequest) -> None:
    measured = request.getfixturevalue(rows)
    setting = measured[0].setting
    assert [one.question for one in measured] == coverage_survey.questions(setting)
    for one in measured:
        if not one.question.startswith("error of"):
            assert one.judged
            assert one.value > 0.8, one.question


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flags", pytest.param("GRR", marks=pytest.mark.nightly)])
def test_intervals_about_others_do_not(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a population, and respondents, whose answers are the other way round."""
    draw, shares = coverage_survey.survey, coverage_survey.shares_for
    monkeypatch.setattr(coverage_survey, "survey", lambda *of: (np.flip((drawn := draw(*of))[0]), drawn[1]))
    turned = {one.question: one.value for one in interval_coverage.measure(Setting(kind, 4.0, 10_000, 2), 5)}
    assert all(turned[method] < 0.6 for method in coverage_survey.METHODS)
    assert turned["whole table"] == 0
    monkeypatch.setattr(coverage_survey, "survey", draw)
    true = coverage_survey.shares_for([2, 2] if kind == "flags" else [3, 3])

    def others(levels: list[int]) -> np.ndarray:
        """Surveys are of the population; what they are compared with is another one."""
        return true if inspect.stack()[1].function == "survey" else np.flip(shares(levels), axis=0)

    monkeypatch.setattr(coverage_survey, "shares_for", others)
    wrong = {one.question: one.value for one in interval_coverage.measure(Setting(kind, 4.0, 10_000, 2), 5)}
    untouched = {"two surveys", "Cramer's V", "mutual information"}  # the same for both populations
    for question in ("population", *coverage_survey.JOINT):
        if question in wrong and question not in untouched:
            assert wrong[question] < 0.6, question


def test_intervals_of_a_whole_table_are_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    right = dn.Estimate.table

    def table(self: dn.Estimate, **options: Any) -> Any:
        asked.append(options)
        return right(self, **options)

    monkeypatch.setattr(dn.Estimate, "table", table)
    interval_coverage.measure(Setting("flags", 4.0, 1_000, 1), 1)
    assert sum(options == {"simultaneous": True} for options in asked) == 1


@pytest.mark.slow
def test_tables_are_as_far_from_the_truth_as_it_is_said(found: list[Held]) -> None:
    setting = Setting("flags", 4.0, 10_000, 2)
    errors = {one.question: one.value for one in found if one.question.startswith("error of")}
    ratios = coverage_results.accuracies(found)
    assert ratios[setting, "feasible"] == errors["error of feasible"] / errors["error of maximum likelihood"]
    plan = coverage_survey.plan_for("flags", 4.0, 2)
    own, reports = coverage_survey.survey(plan, 1_000_000, np.random.default_rng(1))
    est = dn.estimate(dn.count(reports, ["f0", "f1"]), ["f0", "f1"], about="respondents")
    stderr = est.table()["stderr"].to_numpy()
    expected = np.sqrt(np.mean(stderr**2) * 100)  # of 10 000 respondents
    assert errors["error of consistent"] == pytest.approx(expected, rel=0.2)
    np.testing.assert_allclose(own, coverage_survey.shares_for([2, 2]), atol=0.003)


def made_up(setting: Setting, surveys: int) -> list[Held]:
    return [
        interval_coverage._held(setting, question, surveys, 10, 10, 0.9, 0.01)
        for question in coverage_survey.questions(setting)
    ]


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Setting] = []

    def fake(setting: Setting, surveys: int) -> list[Held]:
        done.append(setting)
        if len(done) == 4:
            raise KeyboardInterrupt
        return made_up(setting, surveys)

    monkeypatch.setattr(interval_coverage, "measure", fake)
    path = tmp_path / "coverage.csv"
    with pytest.raises(KeyboardInterrupt):
        interval_coverage.measured(path, quick=True)
    first = done[:3]
    whole = interval_coverage.measured(path, quick=True)
    todo = interval_coverage.settings(quick=True)
    assert list(dict.fromkeys(one.setting for one in whole)) == todo
    assert not set(first) & set(done[4:])
    assert interval_coverage.measured(path, quick=True) == whole
    count = len(done)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")  # the last setting is not whole
    assert interval_coverage.measured(path, quick=True) == whole
    assert len(done) == count + 1
    monkeypatch.setattr(interval_coverage, "QUICK", interval_coverage.QUICK + 1)
    interval_coverage.measured(path, quick=True)
    assert len(done) == count + 1 + len(todo)
    monkeypatch.setattr(interval_coverage, "_version", lambda: "another")
    interval_coverage.measured(path, quick=True)
    assert len(done) == count + 1 + 2 * len(todo)


def test_a_change_in_any_room_changes_the_key_of_what_was_measured(tmp_path: Path) -> None:
    package = Path(dn.__file__).parent
    copy = tmp_path / "deniable"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    key = interval_coverage.code_hash(copy)
    assert interval_coverage._version() == f"{dn.__version__} {interval_coverage.code_hash(package)}"
    assert key == interval_coverage.code_hash(package)
    rooms = [copy, *(folder for folder in copy.rglob("*") if folder.is_dir())]
    assert {"survey", "protocols", "inference", "estimates", "validation"} <= {room.name for room in rooms}
    seen = {key}
    for room in rooms:
        with (room / "__init__.py").open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        seen.add(interval_coverage.code_hash(copy))
    (copy / "survey/schema.py").rename(copy / "survey/scheme.py")
    seen.add(interval_coverage.code_hash(copy))
    assert len(seen) == 2 + len(rooms)


@pytest.mark.parametrize("text", ["kind,epsilon\nflags,much\n", "kind\n" + "x" * 200_000])
def test_a_damaged_file_of_an_earlier_run_is_told_before_anything_is_done(tmp_path: Path, text: str) -> None:
    (tmp_path / "coverage.csv").write_text(text, encoding="utf-8")
    with pytest.raises(dn.EstimateError, match="coverage.csv: is not of an earlier run; remove it"):
        interval_coverage.check(tmp_path / "coverage.csv")


def test_a_quick_run_leaves_the_numbers_of_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(run.paper_figures, "simulated", lambda **_: [])
    monkeypatch.setattr(run.interval_coverage, "check", lambda path: seen.append(path.name))
    for quick in (True, False):
        with pytest.raises((StopIteration, ValueError)):
            run.run(tmp_path, quick=quick)
    assert seen == ["coverage-quick.csv", "coverage.csv"]


def test_pooled_numbers_are_plain_averages_of_what_is_judged() -> None:
    def held(n: int, given: int, value: float, error: float) -> Held:
        return Held("GRR", 1.0, n, 2, "", "ratio", 100, 100, given, value, error)

    rows = [held(1, 100, 0.96, 0.003), held(2, 60, 0.90, 0.004), held(3, 40, 0.1, 0.001), held(4, 0, np.nan, np.nan)]
    (one,) = coverage_results.pooled(rows)
    assert (one.settings, one.judged, one.given, one.low) == (4, 2, 0.8, 1)
    assert one.value == pytest.approx(0.93)
    assert one.error == pytest.approx(0.0025)
    assert one.least == rows[1]
    assert (
        "    2 of   4    80%   93.0% +- 0.2%    1   90.0% +- 0.4% (GRR, epsilon 1, N = 2"
        in coverage_results.verdict(rows)
    )
    assert "ratio                never enough reports" in coverage_results.verdict(rows[3:])


@pytest.mark.slow
def test_the_verdict_has_a_line_for_each_question(found: list[Held]) -> None:
    questions = len(coverage_survey.TABLES) + len(coverage_survey.JOINT)
    assert len(coverage_results.verdict(found).splitlines()) == 3 + questions
    assert f"{questions - 1} kinds of 95 % intervals" in coverage_results.summary(found)
