"""What is known to be zero is exactly zero, wherever it is asked for."""

import numpy as np
import pytest

import deniable as dn

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
SHARES = np.array([[0.4, 0.1, 0.2], [0.3, 0.0, 0.0]])
PLAN = dn.Plan(SCHEMA, {"a": dn.RandomizedResponse(epsilon=1.3), "b": dn.GRR(epsilon=1.7)})


@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("method", ["consistent", "feasible"])
@pytest.mark.parametrize("a", [True, False])
def test_known_zeros_are_zero_in_cells_tables_and_conditional_shares(a: bool, method: str, subject: str) -> None:
    """A flag's False is a difference of two entries, of which rounding would be left."""
    zeros = [{"a": a, "b": "y"}, {"a": a, "b": "z"}]
    of = dn.simulate.truth(SCHEMA, SHARES if a else SHARES[::-1])
    for seed in range(4):
        counts = dn.simulate.counts(of, PLAN, np.random.default_rng(seed), n=3_000)
        est = dn.estimate(counts, ["a", "b"], method=method).about(subject).given(zeros=zeros)
        wide, within = est.table().to_pylist(), est.conditional("b", given="a").to_pylist()
        for cell in zeros:
            answer = est.cell(cell)
            assert (answer.value, answer.stderr, *answer.confidence_interval()) == (0, 0, 0, 0)
            for row in (*wide, *within):
                if (row["a"], row["b"]) == (a, cell["b"]):
                    assert [row[name] for name in ("proportion", "stderr", "low", "high")] == [0, 0, 0, 0]
        if a:
            assert est.mean[1, 2] == est.mean[1, 3] == 0
