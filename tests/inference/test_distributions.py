"""Quantiles and tails without scipy are those with it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import chdtrc, ndtri, stdtrit

import deniable as dn
from deniable.inference.distributions import FAR, MANY_DEGREES, chi_square_tail, normal_quantile, student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 19, 50, 119, 1001])
@pytest.mark.parametrize("times", [0.0, 0.01, 0.7, 1.0, 1.3, 2.0])
def test_the_tail_of_chi_square(degrees: int, times: float) -> None:
    assert chi_square_tail(degrees, times * degrees) == pytest.approx(chdtrc(degrees, times * degrees), rel=1e-11)


def test_the_tail_of_what_is_not_known_is_not_known() -> None:
    assert np.isnan(chi_square_tail(3, float("nan")))


@pytest.mark.parametrize("p", [1e-5, 0.025, 0.5, 0.75, 0.975, 0.995, 0.99995, 1 - 1e-8])
def test_quantiles(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(ndtri(p), abs=1e-13)
    for degrees in ([2.5, 1e4], [MANY_DEGREES, 5_432.1, 1e8]):  # by scipy, and by the expansion unless p is far out
        wanted = stdtrit(degrees, p)
        np.testing.assert_allclose(student_quantile(np.array(degrees), p), wanted, atol=1e-11)
    assert (abs(ndtri(p)) > FAR) == (p in (1e-5, 1 - 1e-8))


def test_fewer_terms_would_be_seen() -> None:
    """The control: without its last term the expansion is off by more than is allowed."""
    z = normal_quantile(0.99995)
    last = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160 / MANY_DEGREES**4
    assert last > 1e-10


def test_a_small_table_is_made_without_scipy(tmp_path: Path) -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    truth = dn.simulate.truth(schema, [[0.1, 0.2, 0.1], [0.2, 0.1, 0.3]])
    for name, plan in {
        "one": dn.Plan(schema, epsilon=2.0),
        "arms": dn.Plan(schema, epsilon=2.0, arms={("a", "b"): 0.4, ("a",): 0.6}),
    }.items():
        dn.simulate.counts(truth, plan, np.random.default_rng(1), n=5_000).save(tmp_path / f"{name}.npz")
    code = "import sys; from deniable.cli import main; main(sys.argv[1:]); sys.exit('scipy' in sys.modules)"
    for asked in (["one.npz", "a", "b"], ["one.npz", "b"], ["arms.npz", "a", "b"], ["arms.npz", "a"]):
        command = [sys.executable, "-c", code, "table", *asked]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, ""), asked
        assert "About the population" in ran.stdout
