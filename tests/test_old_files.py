"""Files that version 0.1.0 wrote are read for ever: plan, reports, counts; the numbers are those it computed."""

import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn

OLD = Path(__file__).parent / "data" / "0.1.0"
EXPECTED = json.loads((OLD / "expected.json").read_text())


def test_the_plan_keeps_its_meaning_and_its_bytes() -> None:
    plan = dn.Plan.load(OLD / "plan.json")
    assert (plan.fingerprint, plan.epsilon) == (EXPECTED["fingerprint"], EXPECTED["epsilon"])
    assert plan.to_json().encode() == (OLD / "plan.json").read_bytes()


def test_reports_are_read_and_have_the_same_bytes() -> None:
    reports = dn.Reports.load(OLD / "reports.parquet")
    assert [report.hex() for report in reports.to_bytes()[:20]] == EXPECTED["bytes"]
    assert dn.count(OLD / "reports.parquet", order=2) == dn.Counts.load(OLD / "pairs.npz")
    tables = [["flag", "oue"], ["grr", "region", "hash"]]
    assert dn.count(reports, tables) == dn.Counts.load(OLD / "tables.npz")


@pytest.mark.parametrize(("file", "names", "key"), [
    ("tables.npz", ("flag", "oue"), "flag,oue"),
    ("tables.npz", ("hash",), "hash"),
    ("pairs.npz", ("drinks: tea", "income"), "pair"),
])  # fmt: skip
def test_counts_are_read(file: str, names: tuple[str, ...], key: str) -> None:
    counts = dn.Counts.load(OLD / file)
    assert counts.n == 300
    assert counts.array(*names).tolist() == EXPECTED["counts"][key]


def test_estimates_are_the_same() -> None:
    est = dn.estimate(dn.Counts.load(OLD / "tables.npz"), ["flag", "oue"], method="centred").about("respondents")
    assert np.allclose(est.mean, EXPECTED["mean"], rtol=1e-12, atol=1e-9)
    assert np.allclose(np.sqrt(est.variance), EXPECTED["stderr"], rtol=1e-9, atol=1e-9)
