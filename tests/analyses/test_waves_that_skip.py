"""Two surveys of which one lets people skip a question: only those who answered can be compared."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main

NO = "no answer"
SKIPPED = dn.Plan(dn.Schema([dn.Flag("smoker", missing=NO), dn.Choice("age", ["young", "old", "older"])]), epsilon=6.0)
ASKED = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old or older"])]), epsilon=6.0)


@pytest.fixture(scope="module")
def waves() -> tuple[dn.Reports, dn.Reports]:
    """Thirty percent smoke in both waves; a third skips the question in the first."""
    rng, n = np.random.default_rng(1), 12_000
    smoker = rng.random(n) < 0.3
    first: dict[str, Any] = {"smoker": np.where(rng.random(n) < 0.3, None, smoker)}
    first["age"] = rng.choice(np.array(["young", "old", "older"]), n)
    second = {"smoker": rng.random(n) < 0.3, "age": rng.choice(np.array(["young", "old or older"]), n)}
    return dn.randomize(first, SKIPPED, rng=rng), dn.randomize(second, ASKED, rng=rng)


def test_a_trend_is_of_one_question(waves: tuple[dn.Reports, dn.Reports]) -> None:
    with pytest.raises(dn.EstimateError, match=r"survey 1 has 'no answer'.*est.among\('smoker', \[False, True\]\)"):
        dn.trend({"a": waves[0], "b": waves[1]}, "smoker")
    with pytest.raises(dn.EstimateError, match=r"survey 2 has 'old or older'.*est.merge\('age'"):
        dn.trend(waves, ("age", "young"))
    first, second = (dn.estimate(one, ["smoker"]) for one in waves)
    found = dn.trend([first.among("smoker", [False, True]), second], "smoker")
    assert found.p_value > 0.01
    assert found.results[0].value == pytest.approx(0.3, abs=0.03)
    merged = dn.estimate(waves[0], ["age"]).merge("age", {"old or older": ["old", "older"]})
    assert dn.trend([merged, dn.estimate(waves[1], ["age"])], ("age", "young")).p_value < 1e-9


def test_those_who_answered_are_compared(waves: tuple[dn.Reports, dn.Reports]) -> None:
    first, second = (dn.estimate(one, ["smoker"]) for one in waves)
    with pytest.raises(dn.EstimateError, match=r"'smoker' with different answers: survey 1 has 'no answer'.*among"):
        dn.compare(first, second)
    with pytest.raises(dn.EstimateError, match="two estimates"):
        dn.compare(first.among("smoker", [True, False]), 3)  # type: ignore[arg-type]
    answered = first.among("smoker", [True, False])
    table = dn.compare(answered, second)
    assert table.about.caption.startswith("Among those who answered smoker. ")
    for row in table.to_pylist():
        before, after = answered.cell(smoker=row["smoker"]), second.cell(smoker=row["smoker"])
        assert row["difference"] == pytest.approx(after.value - before.value)
        assert row["stderr"] == pytest.approx(np.hypot(before.stderr, after.stderr))
        assert row["low"] < 0 < row["high"]
        assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * row["stderr"], rel=0.02)
    back = dn.compare(second, answered).to_pylist()
    for row, other in zip(table.to_pylist(), back, strict=True):
        assert (row["low"], row["high"]) == pytest.approx((-other["high"], -other["low"]))


def test_intervals_of_a_difference_among_those_who_answered_hold() -> None:
    """Of two surveys of which half skip the question in the first, and nobody in the second."""
    rng, held = np.random.default_rng(2), []
    plan = dn.Plan(dn.Schema([dn.Flag("smoker", missing=NO)]), epsilon=2.0)
    truths = [dn.simulate.truth(plan.schema, {"smoker": shares}) for shares in ([0.35, 0.15, 0.5], [0.6, 0.4, 0.0])]
    for _ in range(300):
        each = [dn.estimate(dn.simulate.counts(of, plan, rng, n=1_500), ["smoker"]) for of in truths]
        _, row = dn.compare(*(est.among("smoker", [False, True]) for est in each)).to_pylist()
        held.append(row["low"] < 0.1 < row["high"])
    assert 0.92 < np.mean(held) < 0.98


def test_the_shell_compares_those_who_answered(
    waves: tuple[dn.Reports, dn.Reports], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for one, file in zip(waves, files, strict=True):
        one.save(file)
    assert main(["compare", *files, "smoker"]) == 1
    assert "--answered leaves missing answers out" in capsys.readouterr().err
    assert main(["compare", *files, "smoker", "--answered"]) == 0
    assert "Among those who answered smoker." in capsys.readouterr().out


def test_what_is_about_everybody_is_said_before_among(waves: tuple[dn.Reports, dn.Reports], tmp_path: Path) -> None:
    answered = dn.estimate(waves[0], ["smoker"]).among("smoker", [True, False])
    for name in ("about", "given", "merge", "poststratify"):
        with pytest.raises(dn.EstimateError, match=rf"call {name}\(...\) before among\(...\)"):
            getattr(answered, name)("smoker", {})
    answered.plot(path=tmp_path / "shares.png")
    assert (tmp_path / "shares.png").exists()
