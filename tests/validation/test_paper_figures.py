"""The paper's figures: every formula inside the simulation's band, and formulas that are wrong outside of it."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable import paper, simulate
from deniable.cli.cli import main
from deniable.validation import interval_coverage as coverage
from deniable.validation import paper_claims as claims
from deniable.validation import paper_figures as validate
from deniable.validation import posterior_calibration as calibration
from deniable.validation import skewness as corrections

RUNS = 4_000


@pytest.fixture(scope="module")
def found() -> list[validate.Point]:
    sizes = (10, 200, 5_000)
    many = [validate.surveys(n, RUNS, np.random.default_rng(n)) for n in sizes]
    return [point for one in many for point in validate.points(one)]


def test_every_panel_has_its_points(found: list[validate.Point]) -> None:
    panels = {(point.figure, point.panel) for point in found}
    letters = {1: "abcdefghi", 2: "abcdef", 3: "abcgh"}  # the others of figure 3 are histograms
    assert panels == {(figure, letter) for figure, panel in letters.items() for letter in panel}


def test_formulas_are_inside_the_simulations_band(found: list[validate.Point]) -> None:
    judged = [abs(point.z) for point in found if np.isfinite(point.z)]
    assert len(judged) > 80
    assert max(judged) < 5
    assert "DOES NOT HOLD" not in validate.verdict(found)


def test_wrong_formulas_are_outside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many = validate.surveys(5_000, RUNS, np.random.default_rng(1))
    for name, wrong in (
        ("expected_counts", lambda t, n, d, p, q: paper.mean_matrix(d, p, q - 0.01) @ t + paper.background(d, p) * n),
        ("count_covariance", lambda *of, right=paper.count_covariance: 1.3 * right(*of)),
        ("estimate_covariance", lambda *of, right=paper.estimate_covariance: 1.3 * right(*of)),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(paper, name, wrong)
            assert "DOES NOT HOLD" in validate.verdict(list(validate.points(many)))


def test_a_law_that_is_elsewhere_is_outside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many, right = validate.surveys(200, RUNS, np.random.default_rng(1)), validate.exact_law
    monkeypatch.setattr(validate, "exact_law", lambda *of: (right(*of)[0], right(*of)[1] + 3))
    wrong = [point for point in validate.points(many) if point.what.startswith("1 - mean") and abs(point.z) > 5]
    assert wrong


def test_a_file_is_no_folder_and_that_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert main(["validate", "-o", str(tmp_path / "taken")]) == 1
    assert "is a file, and the figures need a folder" in capsys.readouterr().err


def test_the_exact_law_of_a_count_is_that_of_its_simulation() -> None:
    many = validate.surveys(50, 20_000, np.random.default_rng(1))
    for columns in validate.SETS:
        law, first = validate.exact_law(many, columns)
        assert law.sum() == pytest.approx(1)
        counts = many.counts[:, validate.place(columns)].astype(int)
        seen = np.bincount(counts - first, minlength=len(law))[: len(law)] / len(counts)
        assert np.abs(seen - law).max() < 5 * np.sqrt(0.25 / len(counts))


def test_respondents_are_whole_and_typical() -> None:
    expected = np.array([[0.4, 0.4], [0.7, 8.5]])
    assert validate._typical(expected).tolist() == [[0, 0], [1, 9]]
    assert validate.surveys(10, 2, np.random.default_rng(1)).truth[0] == 5  # half of them have the first


def test_figures_are_written_with_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validate, "QUICK", 500)
    monkeypatch.setattr(validate, "SIZES", (10, 200, 1_000))
    monkeypatch.setattr(calibration, "QUICK", 5)
    monkeypatch.setattr(coverage, "QUICK", 2)
    assert main(["validate", "-o", str(tmp_path / "figures"), "--quick"]) == 0
    out = capsys.readouterr().out
    assert "points with a formula" in out
    assert out.count("\n  holds ") + out.count("\n  DOES NOT HOLD ") == 7
    assert len(out.splitlines()) < 30  # one screen
    assert all((tmp_path / f"figures/figure-{number}.png").stat().st_size > 20_000 for number in range(4, 9))
    assert {file.name for file in (tmp_path / "figures").glob("*.csv")} == {
        *(f"figure-{number}.csv" for number in (1, 2, 3, 4, 5, 6, 8)), "coverage-quick.csv"
    }  # fmt: skip
    verdict = (tmp_path / "figures/verdict.txt").read_text(encoding="utf-8")
    assert out.rstrip() in verdict
    assert "hold the truth" in verdict
    assert (tmp_path / "figures/figure-6.csv").read_text(encoding="utf-8").startswith("cell,p_value,tenth 1")
    assert (tmp_path / "figures/figure-5.csv").read_text(encoding="utf-8").startswith("sets,n,formula,simulated")
    for number in (1, 2, 3):
        assert (tmp_path / f"figures/figure-{number}.png").stat().st_size > 20_000
        lines = (tmp_path / f"figures/figure-{number}.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "figure,panel,what,sets,n,simulated,error,formula,z"
        assert len(lines) > 15


# -- claims -----------------------------------------------------------------------------------------------------------


def test_conditional_laws_are_those_of_brute_force() -> None:
    for n, x, y in ((6, 2, 3), (9, 4, 5)):
        rows = list(itertools.product(range(2), repeat=2 * n))
        table = np.array(rows).reshape(-1, n, 2)
        chances = np.prod(np.where(table == 1, (0.5, 0.3), (0.5, 0.7)), axis=(1, 2))
        kept = (table.sum(axis=1) == (x, y)).all(axis=1)
        both = table.prod(axis=2).sum(axis=1)
        mean = chances[kept] @ both[kept] / chances[kept].sum()
        variance = chances[kept] @ (both[kept] - mean) ** 2 / chances[kept].sum()
        assert claims.hypergeometric(n, x, y) == pytest.approx((mean, variance))
        assert claims.conditional([(n, (0.5, 0.3))], x, y) == pytest.approx((mean, variance))
    mixed = claims.conditional([(1, (0.9, 0.9)), (1, (0.1, 0.1))], 1, 1)
    first, second, apart = (
        0.9**4,
        0.1**4,
        2 * (0.9 * 0.1) ** 2,
    )  # both in the first row, both in the second, one in each
    assert mixed[0] == pytest.approx((first + second) / (first + second + apart))


def test_claims_hold_as_measured_and_wrong_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [validate.surveys(n, RUNS, np.random.default_rng(n)) for n in (10, 200, 1_000, 5_000)]
    found = [point for one in many for point in validate.points(one)]
    holds = {claim.says: claim.holds for claim in claims.claims(found, many)}
    assert [says for says, yes in holds.items() if not yes] == [
        "the same for rows of several kinds, which the paper does not set apart"
    ]
    monkeypatch.setattr(claims, "KINDS", ((8, (0.3, 0.6)),))  # of one kind it does hold
    monkeypatch.setattr(claims, "hypergeometric", lambda n, x, y: (x * y / n, x * y * (n - x) * (n - y) / n**3))
    law = validate.exact_law
    monkeypatch.setattr(
        validate, "exact_law", lambda one, columns: (np.roll(law(one, columns)[0], 1), law(one, columns)[1])
    )
    wrong = [claim.says for claim in claims.claims(found, many) if not claim.holds]
    assert any("is hypergeometric" in says for says in wrong)
    assert any("exact law" in says for says in wrong)


def test_the_correction_evens_out_the_tails() -> None:
    found = corrections.tails(validate.surveys(500, 10_000, np.random.default_rng(1)))
    assert len(found) == 15
    for one in found:
        assert one.simulated == pytest.approx(one.formula, abs=0.15)
    skewed = [one for one in found if 0.1 < one.formula < 0.5]
    assert len(skewed) > 3
    apart = [np.mean([abs(one.plain_below - one.plain_above) for one in skewed]),
             np.mean([abs(one.below - one.above) for one in skewed])]  # fmt: skip
    assert apart[1] < 0.5 * apart[0]
    assert "figure 5" in corrections.verdict(found)


def test_posterior_draws_are_calibrated_and_those_that_are_too_sure_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "DRAWS", 200)
    found = calibration.ranks(150, np.random.default_rng(1))
    assert found.below.shape == (150, 6)
    assert found.histogram.sum() == 900
    assert "are calibrated" in calibration.verdict(found)
    right = simulate.counts

    def too_many(*of: object, **more: object) -> dn.Counts:
        counts = right(*of, **more)  # type: ignore[arg-type]
        return dn.Counts(counts.plan, {names: 4 * array for names, array in counts.tables.items()})

    monkeypatch.setattr(simulate, "counts", too_many)
    assert "NOT CALIBRATED" in calibration.verdict(calibration.ranks(150, np.random.default_rng(1)))
