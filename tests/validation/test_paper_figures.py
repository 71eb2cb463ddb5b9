"""The paper's figures: every formula inside the simulation's band, and formulas that are wrong outside of it."""

import numpy as np
import pytest

from deniable import paper
from deniable.validation import paper_figures

RUNS = 4_000


@pytest.fixture(scope="module")
def found() -> list[paper_figures.Point]:
    sizes = (10, 200, 5_000)
    many = [paper_figures.surveys(n, RUNS, np.random.default_rng(n)) for n in sizes]
    return [point for one in many for point in paper_figures.points(one)]


def test_every_panel_has_its_points(found: list[paper_figures.Point]) -> None:
    panels = {(point.figure, point.panel) for point in found}
    letters = {1: "abcdefghi", 2: "abcdef", 3: "abcgh"}  # the others of figure 3 are histograms
    assert panels == {(figure, letter) for figure, panel in letters.items() for letter in panel}


def test_formulas_are_inside_the_simulations_band(found: list[paper_figures.Point]) -> None:
    judged = [abs(point.z) for point in found if np.isfinite(point.z)]
    assert len(judged) > 80
    assert max(judged) < 5
    assert "DOES NOT HOLD" not in paper_figures.verdict(found)


def test_wrong_formulas_are_outside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many = paper_figures.surveys(5_000, RUNS, np.random.default_rng(1))
    for name, wrong in (
        ("expected_counts", lambda t, n, d, p, q: paper.mean_matrix(d, p, q - 0.01) @ t + paper.background(d, p) * n),
        ("count_covariance", lambda *of, right=paper.count_covariance: 1.3 * right(*of)),
        ("estimate_covariance", lambda *of, right=paper.estimate_covariance: 1.3 * right(*of)),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(paper, name, wrong)
            assert "DOES NOT HOLD" in paper_figures.verdict(list(paper_figures.points(many)))


def test_a_law_that_is_elsewhere_is_outside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    many, right = paper_figures.surveys(200, RUNS, np.random.default_rng(1)), paper_figures.exact_distribution
    monkeypatch.setattr(paper_figures, "exact_distribution", lambda *of: (right(*of)[0], right(*of)[1] + 3))
    wrong = [point for point in paper_figures.points(many) if point.what.startswith("1 - mean") and abs(point.z) > 5]
    assert wrong


def test_the_exact_distribution_of_a_count_is_that_of_its_simulation() -> None:
    many = paper_figures.surveys(50, 20_000, np.random.default_rng(1))
    for columns in paper_figures.SETS:
        law, first = paper_figures.exact_distribution(many, columns)
        assert law.sum() == pytest.approx(1)
        counts = many.counts[:, paper_figures.place(columns)].astype(int)
        seen = np.bincount(counts - first, minlength=len(law))[: len(law)] / len(counts)
        assert np.abs(seen - law).max() < 5 * np.sqrt(0.25 / len(counts))


def test_respondents_are_whole_and_typical() -> None:
    expected = np.array([[0.4, 0.4], [0.7, 8.5]])
    assert paper_figures._typical(expected).tolist() == [[0, 0], [1, 9]]
    assert paper_figures.surveys(10, 2, np.random.default_rng(1)).truth[0] == 5  # half of them have the first
