"""Lists of what was found surest: shrinkage by hand, false coverage and effects among those listed, with controls."""

import numpy as np
import pytest
from scipy import stats

from deniable.analyses import selected_lists
from deniable.analyses.associations import false_discovery_rate
from deniable.analyses.selected_lists import listed_levels, shrinkage


def test_shrinkage_is_the_posterior_mean_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_lists, "PARTS", np.array([0.2, 0.7]))
    monkeypatch.setattr(selected_lists, "SPREADS", np.array([0.5, 3.0]))
    p_values = np.array([0.001, np.nan, 0.3, 0.8])
    z = stats.norm.isf(p_values[[0, 2, 3]] / 2)
    top, bottom = np.zeros(3), 0.0
    for part in (0.2, 0.7):
        for spread in (0.5, 3.0):
            null, slab = (1 - part) * stats.norm.pdf(z), part * stats.norm.pdf(z, scale=np.sqrt(1 + spread**2))
            weight = (1 - part) * np.prod(null + slab)
            top += weight * slab / (null + slab) * spread**2 / (1 + spread**2)
            bottom += weight
    found = shrinkage(p_values)
    np.testing.assert_allclose(found[[0, 2, 3]], top / bottom, rtol=1e-12)
    assert np.isnan(found[1])


def test_shrinkage_rises_with_the_score_and_never_passes_one() -> None:
    found = shrinkage(np.array([0.0, 1e-300, 1e-20, 1e-4, 0.01, 0.2, 0.9, 1.0]))
    assert ((found > 0) & (found < 1)).all()
    assert (np.diff(found) <= 0).all()
    assert np.isnan(shrinkage(np.full(3, np.nan))).all()


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "effects", "size"), [(45, 5, 1.9), (45, 20, 2.0), (190, 10, 2.5)])
def test_among_those_listed_intervals_hold_and_effects_are_not_too_large(tests: int, effects: int, size: float) -> None:
    rng = np.random.default_rng(1)
    truth = np.where(np.arange(tests) < effects, size, 0.0)
    missed, plain, shrunken, raw = [], [], [], []
    for _ in range(300):
        z = truth + rng.normal(size=tests)
        p_values = 2 * stats.norm.sf(np.abs(z))
        listed = false_discovery_rate(p_values) <= 0.1
        levels = listed_levels(stats.rankdata(p_values), tests, 0.95)
        away = np.abs(z - truth)
        missed.append((away > stats.norm.ppf(0.5 + levels / 2))[listed].mean() if listed.any() else 0.0)
        plain.append((away > 1.96)[listed].mean() if listed.any() else 0.0)
        both = listed & (truth > 0)
        shrunken += list((shrinkage(p_values) * z)[both] / size)
        raw += list(z[both] / size)
    assert np.mean(missed) < 0.06
    assert np.mean(plain) > 0.08  # the control: intervals that know nothing of the selection
    assert 0.8 < np.mean(shrunken) < 1.2
    assert np.mean(raw) > 1.3  # the control: effects as they were found


def test_shrinkage_is_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    p_values = np.append(np.random.default_rng(4).random(50) ** 3, np.nan)
    found = []
    for block in (50, 49, 7, 1):
        monkeypatch.setattr("deniable.analyses.selected_lists.BLOCK", block)
        found.append(shrinkage(p_values))
    assert np.isnan(found[0][-1])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def test_memory_does_not_grow_with_the_tests() -> None:
    import tracemalloc

    most = []
    for tests in (5_000, 20_000):
        p_values = np.random.default_rng(1).random(tests)
        tracemalloc.start()
        shrinkage(p_values)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.1 * most[0] + 100 * 15_000  # a few numbers for each test, not thousands
