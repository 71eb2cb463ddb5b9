"""What the paper claims, measured: what holds is found to hold, and wrong claims are not."""

import itertools

import numpy as np
import pytest

from deniable.validation import paper_claims, paper_figures


def test_conditional_laws_are_those_of_brute_force() -> None:
    for n, x, y in ((6, 2, 3), (9, 4, 5)):
        rows = list(itertools.product(range(2), repeat=2 * n))
        table = np.array(rows).reshape(-1, n, 2)
        chances = np.prod(np.where(table == 1, (0.5, 0.3), (0.5, 0.7)), axis=(1, 2))
        kept = (table.sum(axis=1) == (x, y)).all(axis=1)
        both = table.prod(axis=2).sum(axis=1)
        mean = chances[kept] @ both[kept] / chances[kept].sum()
        variance = chances[kept] @ (both[kept] - mean) ** 2 / chances[kept].sum()
        assert paper_claims.hypergeometric(n, x, y) == pytest.approx((mean, variance))
        assert paper_claims.conditional([(n, (0.5, 0.3))], x, y) == pytest.approx((mean, variance))
    mixed = paper_claims.conditional([(1, (0.9, 0.9)), (1, (0.1, 0.1))], 1, 1)
    first, second, apart = (
        0.9**4,
        0.1**4,
        2 * (0.9 * 0.1) ** 2,
    )  # both in the first row, both in the second, one in each
    assert mixed[0] == pytest.approx((first + second) / (first + second + apart))


RUNS = 4_000


def test_claims_hold_as_measured_and_wrong_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [paper_figures.surveys(n, RUNS, np.random.default_rng(n)) for n in (10, 200, 1_000, 5_000)]
    found = [point for one in many for point in paper_figures.points(one)]
    holds = {claim.says: claim.holds for claim in paper_claims.claims(found, many)}
    assert [says for says, yes in holds.items() if not yes] == [
        "the same for rows of several kinds, which the paper does not set apart"
    ]
    monkeypatch.setattr(paper_claims, "KINDS", ((8, (0.3, 0.6)),))  # of one kind it does hold
    monkeypatch.setattr(paper_claims, "hypergeometric", lambda n, x, y: (x * y / n, x * y * (n - x) * (n - y) / n**3))
    law = paper_figures.exact_distribution
    monkeypatch.setattr(
        paper_figures,
        "exact_distribution",
        lambda one, columns: (np.roll(law(one, columns)[0], 1), law(one, columns)[1]),
    )
    wrong = [claim.says for claim in paper_claims.claims(found, many) if not claim.holds]
    assert any("is hypergeometric" in says for says in wrong)
    assert any("exact distribution" in says for says in wrong)
