"""Counts, estimates and files of a plan that keeps answers are added with a warning: they may be of the same people."""

from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.errors import DeniableWarning


def test_adding_what_may_be_waves_of_the_same_people_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0, repeat="keep")
    answers, files = {"smoker": [True, False] * 300}, []
    for seed in (1, 2):
        files.append(str(tmp_path / f"{seed}.parquet"))
        dn.randomize(answers, plan, rng=seed).save(files[-1])
    counts = [dn.count(file) for file in files]
    ests = [dn.estimate(one, ["smoker"]) for one in counts]
    for add in (lambda: counts[0] + counts[1], lambda: ests[0] + ests[1], lambda: sum(ests), lambda: dn.count(files)):
        with pytest.warns(DeniableWarning, match="of a plan that keeps answers, and are added as those of different"):
            add()
    narrow = dn.estimate(counts, ["smoker"])  # waves of the same people, without a warning
    assert narrow.n == 600
    other = [dn.count(dn.randomize(answers, dn.Plan(plan.schema, epsilon=2.0), rng=seed)) for seed in (1, 2)]
    assert (other[0] + other[1]).n == 1_200  # as everywhere here, a warning would be an error
    assert main(["count", *files, "-o", str(tmp_path / "c.npz")]) == 0
    assert capsys.readouterr().err.count("deniable: warning: these files are of a plan that keeps answers") == 1
    assert main(["table", *files, "smoker"]) == 0
    err = capsys.readouterr().err
    assert "They are taken as waves of the same people" in err
    assert "None" not in err
