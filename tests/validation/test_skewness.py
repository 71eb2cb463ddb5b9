"""The correction for skewness evens out the tails of intervals."""

import numpy as np
import pytest

from deniable.validation import paper_figures, skewness


def test_the_correction_evens_out_the_tails() -> None:
    found = skewness.tails(paper_figures.surveys(500, 10_000, np.random.default_rng(1)))
    assert len(found) == 15
    for one in found:
        assert one.simulated == pytest.approx(one.formula, abs=0.15)
    skewed = [one for one in found if 0.1 < one.formula < 0.5]
    assert len(skewed) > 3
    apart = [np.mean([abs(one.plain_below - one.plain_above) for one in skewed]),
             np.mean([abs(one.below - one.above) for one in skewed])]  # fmt: skip
    assert apart[1] < 0.5 * apart[0]
    assert "figure 5" in skewness.verdict(found)
