"""Standard errors and intervals over arms, in many simulated surveys, about both subjects."""

import numpy as np
import pytest

import deniable as dn
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c")])
SHARES = np.array([[[0.20, 0.10], [0.12, 0.10], [0.06, 0.08]], [[0.05, 0.05], [0.06, 0.06], [0.04, 0.08]]])
TRUTH = dn.simulate.truth(SCHEMA, SHARES)
PLAN = dn.Plan(SCHEMA, epsilon=4.0, arms={("a", "b"): 0.5, ("b", "c"): 0.2, (("a",), ("b", "c")): 0.3})
RUNS, N = 250, 3_000
NAMES = ["b", "a"]


def surveys(subject: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The errors of all cells in each survey, their stated standard errors, and which intervals miss on either side."""
    rng = np.random.default_rng(1)
    people = TRUTH.people(N, rng)
    errors, stated, missed = [], [], {"below": [], "above": []}
    for _ in range(RUNS):
        counts = dn.simulate.counts(people if subject == "respondents" else TRUTH, PLAN, rng, n=N)
        true = (people / N if subject == "respondents" else SHARES).sum(axis=2).T.reshape(-1)
        rows = dn.estimate(counts, NAMES).about(subject).table().to_pydict()
        errors.append(np.array(rows["proportion"]) - true)
        stated.append(rows["stderr"])
        missed["below"].append(true < np.array(rows["low"]))
        missed["above"].append(true > np.array(rows["high"]))
    return np.array(errors), np.array(stated), {side: np.array(each) for side, each in missed.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::deniable.errors.ArmSizeWarning")
@pytest.mark.parametrize("subject", ["respondents", "population"])
def test_standard_errors_are_those_of_simulated_surveys(subject: str) -> None:
    """Bounds are three Monte Carlo standard errors: of a ratio of root mean squares, and of shares of intervals."""
    errors, stated, missed = surveys(subject)
    ratio = np.sqrt((stated**2).mean() / (errors**2).mean())
    assert abs(ratio - 1) < 3 / np.sqrt(2 * RUNS * 3)  # of six cells, about three are free of each other
    assert np.abs(errors.mean(axis=0)).max() < 4 * stated.mean() / np.sqrt(RUNS)
    for each in missed.values():
        assert abs(each.mean() - 0.025) < 3 * np.sqrt(0.025 / (RUNS * 3))
    if subject == "respondents":  # the control: the sampling, which is not to be in it
        sampling = SHARES.sum(axis=2).reshape(-1)
        wrong = np.sqrt(((stated**2).mean() + (sampling * (1 - sampling)).mean() / N) / (errors**2).mean())
        assert abs(wrong - 1) > 3 / np.sqrt(2 * RUNS * 3)
