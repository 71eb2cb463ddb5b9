"""The page and `deniable show` say whether reports fit their plan, and how far forged ones could move a share."""

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.page.fit import checked
from deniable.page.page import page
from tests.support.misfits import plan, read_as, surveys


def misfit() -> dn.Counts:
    (counts,) = surveys("mixed", plan(3.0, "GRR"), 1, 5_000, seed=7)
    return read_as(counts, plan(1.0, "GRR"))


def test_what_fits_and_what_does_not() -> None:
    (good,) = surveys("mixed", plan(3.0, "GRR"), 1, 5_000, seed=7)
    fit, misfitting = checked(good), checked(misfit())
    assert fit.fits
    assert not misfitting.fits
    assert {row[1] for row in fit.tests.rows} == {"fits"}
    wrong = [row[:2] for row in misfitting.tests.rows if row[1] != "fits"]
    assert [kind for kind, _ in wrong] == ["cells of pairs"]
    assert "would have a share of -" in str(wrong[0][1])
    smoker = misfitting.influence.rows[0]
    assert smoker == ("smoker", f"{1 / (plan(1.0, 'GRR')['smoker'].q - plan(1.0, 'GRR')['smoker'].p):.1f} points")


@pytest.mark.filterwarnings("ignore::deniable.FitWarning")
def test_the_page_says_it_loudly() -> None:
    text = page(misfit())
    assert "hardly come from devices that followed the plan" in text
    assert "DOES NOT FIT: smoker x age" in text
    assert "How far forged reports could move a share" in text
    numbers = json.loads(text.split('id="numbers">')[1].split("</script>")[0])
    tables = {table["name"]: table["rows"] for table in numbers["tables"]}
    assert tables["fit"][0][:2] == ["counts of one answer", "fits"]
    assert len(tables["influence"]) == 3


def test_show_runs_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    misfit().save(tmp_path / "counts.npz")
    assert main(["show", str(tmp_path / "counts.npz")]) == 0
    assert "- Check of fit, cells of pairs (3 tests): does not fit: smoker x age" in (told := capsys.readouterr().out)
    assert "- If 1% of the reports were forged, a share could move by up to: smoker 2.2 points, age " in told
