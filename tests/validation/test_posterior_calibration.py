"""Posterior draws are calibrated, and draws that are too sure are found out."""

import warnings

import numpy as np
import pytest

import deniable as dn
from deniable import simulate
from deniable.errors import FitWarning
from deniable.validation import posterior_calibration


@pytest.mark.slow
def test_posterior_draws_are_calibrated_and_those_that_are_too_sure_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior_calibration, "DRAWS", 400)
    found = posterior_calibration.ranks(150, np.random.default_rng(1))
    assert found.below.shape == (150, 6)
    assert found.histogram.sum() == 900
    assert "are calibrated" in posterior_calibration.verdict(found)
    right = simulate.counts

    def too_many(*of: object, **more: object) -> dn.Counts:
        counts = right(*of, **more)  # type: ignore[arg-type]
        return dn.Counts(counts.plan, {names: 4 * array for names, array in counts.tables.items()})

    monkeypatch.setattr(simulate, "counts", too_many)
    warnings.simplefilter("ignore", FitWarning)  # counts four times over may fit no truth, and are said not to
    assert "NOT CALIBRATED" in posterior_calibration.verdict(posterior_calibration.ranks(150, np.random.default_rng(1)))
