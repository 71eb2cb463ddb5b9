"""Estimates from reports are those from the reports' counts."""

from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.counts.as_counts import as_counts
from deniable.errors import CountError


@pytest.mark.parametrize("method", ["consistent", "feasible"])
@pytest.mark.parametrize("names", [["a"], ["b", "a"]])
def test_reports_give_what_their_counts_give(names: list[str], method: str, tmp_path: Path) -> None:
    """An estimate from reports, or from their file, is that from `count(reports)`: other blocks tell of it, too."""
    schema = dn.Schema([dn.Choice(name, ["0", "1", "2"]) for name in "abcde"])
    plan = dn.design(schema, epsilon=2.0, n=20_000)
    rng = np.random.default_rng(3)
    answers = {name: rng.choice(["0", "1", "2"], 20_000).tolist() for name in "abcde"}
    reports = dn.randomize(answers, plan, rng=rng)
    reports.save(tmp_path / "reports.parquet")
    expected = dn.estimate(dn.count(reports), names, method=method)
    assert dn.estimate(reports, names, method=method) == expected
    assert np.array_equal(dn.estimate(tmp_path / "reports.parquet", names, method=method).mean, expected.mean)
    alone = dn.estimate(dn.count(reports, names), names, method=method)
    assert not np.array_equal(alone.mean, expected.mean)  # so that the test can fail


def test_reports_are_counted_for_a_table_that_whole_arms_do_not_hold() -> None:
    """Where the table of all that an arm asks is too large to be counted, the named one is."""
    many = [str(k) for k in range(60)]
    schema = dn.Schema([*(dn.Choice(name, many) for name in "abc"), dn.Flag("d")])
    plan = dn.Plan(schema, epsilon=6.0, arms=[[["a"], ["b"], ["c"]], ["d"]])
    rng = np.random.default_rng(4)
    answers = {name: rng.choice(many, 100).tolist() for name in "abc"} | {"d": [True] * 100}
    reports = dn.randomize(answers, plan, rng=rng)
    assert not dn.count(reports).holds("a", "b", "c")
    assert as_counts(reports, ["a", "b", "c"]).holds("a", "b", "c")
    with pytest.raises(CountError, match="no arm asks"):
        dn.estimate(reports, ["a", "d"])
