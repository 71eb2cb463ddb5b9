"""What tests of maximum likelihood share: every form that a table of likelihoods can have."""

import pytest

from deniable.estimates import pattern_likelihoods


@pytest.fixture(params=["grid", "grid, summed up", "grid, flags mixed", "grid, in parts", "tree"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tree":
        monkeypatch.setattr(pattern_likelihoods, "MOST_GRID", 0)
    monkeypatch.setattr(pattern_likelihoods, "BLOCK", 100)
    if "summed" in request.param:
        monkeypatch.setattr(pattern_likelihoods, "MOST_PAIRS", 0)
    if "mixed" in request.param:
        monkeypatch.setattr(pattern_likelihoods, "FEW", 0)
    if "parts" in request.param:
        monkeypatch.setattr(pattern_likelihoods, "GROUP", 2)
    return request.param.split(",")[0]
