"""Rivals written anew: without bias, and with the variance that their papers' closed forms say."""

from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import deniable as dn
from studies.rivals import contestants, settings
from studies.rivals.bloom import Filters, Sent, lopub, maximized, rappor
from studies.rivals.calm import calm, cover, proper
from studies.rivals.factorization import factorized, mechanism, optimised_cell, size_of_views
from studies.rivals.of_flags import RIVALS, codes_of, hadamard
from studies.rivals.sampled_tables import ORACLES, independent_answers, sampled
from studies.rivals.side_by_side import surveyed

OF_CELLS = ORACLES | {"optimised factorization": optimised_cell}
SHARES = {2: np.array([0.5, 0.2, 0.05, 0.25]), 1: np.array([0.7, 0.3])}


def _flags(name: str) -> Any:
    return lambda rows, _, k, epsilon, rng: RIVALS[name](rows == 1, k, epsilon, rng)


# Each rival with the order of a table that it estimates without bias, whose variance is a closed form.
CLOSED = (
    {name: (_flags(name), 1 if name == "RS+FD" else 2) for name in RIVALS}
    | {name: (partial(sampled, oracle), 2) for name, oracle in OF_CELLS.items()}
    | {"one question": (independent_answers, 1), "RAPPOR": (rappor, 1)}
)


def _rows(k: int, n: int, rng: np.random.Generator) -> Any:
    """Four flags, of which the first k of 0 and 2 have the shares above."""
    rows = (rng.random((n, 4)) < 0.4).astype(np.int64)
    drawn = rng.choice(1 << k, n, p=SHARES[k])
    for place, column in enumerate((0, 2)[:k]):
        rows[:, column] = (drawn >> (k - 1 - place)) & 1
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_rivals_have_their_closed_forms(name: str) -> None:
    """Of 400 surveys, drawn anew; a variance of another epsilon would be far away."""
    make, k = CLOSED[name]
    rng, n, surveys, levels, columns = np.random.default_rng(1), 1_000, 400, (2,) * 4, (0, 2)[:k]
    found, said, other = [], [], []
    for _ in range(surveys):
        rows = _rows(k, n, rng)
        survey = make(rows, levels, k, 1.0, rng)
        found.append(survey.estimate(columns))
        said.append(survey.variance(columns, SHARES[k]))
        if len(found) <= 20:  # said in closed form: a few are enough
            other.append(make(rows, levels, k, 3.0, rng).variance(columns, SHARES[k]))
    variance, claimed = np.var(found, axis=0, ddof=1), np.mean(said, axis=0)
    error = np.sqrt(2 / surveys)
    np.testing.assert_allclose(np.mean(found, axis=0), SHARES[k], atol=5 * np.sqrt(claimed.max() / surveys))
    assert abs(variance.mean() / claimed.mean() - 1) < 5 * error
    assert abs(variance.mean() / np.mean(other) - 1) > 5 * error


@pytest.mark.parametrize("name", OF_CELLS)
def test_oracles_have_their_closed_forms_with_many_cells(name: str) -> None:
    """Eleven cells at epsilon 2, where Hadamard response has several blocks; one survey of many respondents each."""
    rng, cells, n = np.random.default_rng(3), 11, 3_000
    shares = np.arange(1, cells + 1) / (cells * (cells + 1) / 2)
    found = [OF_CELLS[name](rng.choice(cells, n, p=shares), cells, 2.0, rng) for _ in range(150)]
    estimates, said = np.array([own for own, _ in found]), found[0][1](shares) / n
    np.testing.assert_allclose(estimates.mean(axis=0), shares, atol=5 * np.sqrt(said.max() / 150))
    assert abs(estimates.var(axis=0, ddof=1).mean() / said.mean() - 1) < 0.15
    assert abs(estimates.var(axis=0, ddof=1).mean() / (OF_CELLS[name](np.zeros(9, int), cells, 3.0, rng)[1](shares) / n).mean() - 1) > 0.15  # fmt: skip  # noqa: E501


def test_random_signs_are_as_many_independent_bits() -> None:
    """Every sign of four cells and every coin of one respondent of the second cell, enumerated."""
    q, law = 0.8, dict.fromkeys(product([-1, 1], repeat=4), 0.0)
    for signs in product([-1, 1], repeat=4):
        for coin, chance in ((1, q), (-1, 1 - q)):
            law[tuple(coin * signs[1] * sign for sign in signs)] += chance / 16
    apart = {bits: (q if bits[1] == 1 else 1 - q) / 8 for bits in law}
    assert law == pytest.approx(apart, abs=1e-15)


def _subsets(m: int, size: int, epsilon: float) -> float:
    """The mean variance of a cell's share for one respondent of each cell, by subsets of a size."""
    q = size * np.exp(epsilon) / (size * np.exp(epsilon) + m - size)
    p = (q * (size - 1) + (1 - q) * size) / (m - 1)
    marked = p + (q - p) / m
    return float(marked * (1 - marked) / (q - p) ** 2 - 1 / m * (1 - 1 / m))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("m", [2, 3, 5, 8, 20])
def test_optimised_factorizations_of_one_table_are_as_good_as_the_best_subsets(m: int, epsilon: float) -> None:
    """Subsets of the best size are optimal for one histogram; those of another size are clearly worse."""
    strategy, weights, variance = mechanism((m,), 1, epsilon)
    by_size = {size: _subsets(m, size, epsilon) for size in range(1, m)}
    assert variance == pytest.approx(min(by_size.values()), rel=0.01)
    assert max(by_size.values()) > 1.1 * variance or m <= 3
    np.testing.assert_allclose(strategy.sum(axis=0), 1)
    np.testing.assert_allclose(weights @ strategy, np.eye(m), atol=1e-9)  # without bias
    assert (strategy.max(axis=1) / strategy.min(axis=1)).max() <= np.exp(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(("k", "larger"), [(1, False), (2, True)])
def test_views_of_the_optimised_factorization_are_without_bias(k: int, larger: bool) -> None:
    """Six flags, whose pairs are asked in views of more than two; margins of the wrong order would be far off."""
    rng, levels, columns = np.random.default_rng(2), (2,) * 6, (0, 2)[:k]
    rows = np.concatenate([_rows(k, 200_000, rng), rng.integers(0, 2, (200_000, 2))], axis=1)
    found = factorized(rows, levels, k, 1.0, rng).estimate(columns)
    assert (size_of_views(levels, k, 1.0) > k) == larger
    np.testing.assert_allclose(found, SHARES[k], atol=0.02)


def test_everybody_is_compared_by_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a made-up survey: errors fall with epsilon, and cells come in the order that tables have."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 3, 4_000), _rows(2, 4_000, rng)])
    monkeypatch.setattr(settings, "rows_of", lambda _: rows)
    monkeypatch.setattr(settings, "DATA", {"made up": ("made up", (0, 1, 2, 3))})
    few, many = (settings.Setting("made up", 1, epsilon) for epsilon in (2.0, 8.0))
    for name in ("deniable, consistent", "deniable, dn.fit", "CALM", "optimised factorization", "MargPS"):
        own = contestants.CONTESTANTS[name]
        errors = [surveyed(setting, name, own, 0)[1].distance for setting in (few, many)]
        assert errors[1] < min(errors[0], 5), name
    assert contestants.CONTESTANTS["InpHT"].takes(few) == ()
    counts = contestants.counted(many, 0, 2)
    est = dn.estimate(counts, ["q0", "q1"])
    np.testing.assert_allclose(contestants.cells_in_order(est), est.table()["proportion"].to_numpy())


def test_views_of_calm_hold_every_pair_and_its_tables_come_near_the_truth() -> None:
    for size in (2, 3, 4):
        views = cover(9, size)
        assert {pair for view in views for pair in combinations(view, 2)} == set(combinations(range(9), 2))
    np.testing.assert_allclose(proper(np.array([0.9, 0.4, -0.2])), [0.75, 0.25, 0])
    rng = np.random.default_rng(1)
    survey = calm(_rows(2, 200_000, rng), (2,) * 4, 2, 4.0, rng)
    np.testing.assert_allclose(survey.estimate((0, 2)), SHARES[2], atol=0.01)
    assert abs(survey.estimate((0, 2)) - np.outer([0.7, 0.3], [0.55, 0.45]).reshape(-1)).max() > 0.05


def test_expectation_maximization_reaches_the_highest_likelihood() -> None:
    """Its fixed point: the table is the mean of what each report says of its respondent, given the table."""
    rng = np.random.default_rng(1)
    rows = _rows(2, 5_000, rng)
    sent = [Sent.of(rows[:, j], Filters.drawn(2, 0.9, rng), rng, 0.95) for j in (0, 2)]
    shares = maximized(sent, np.full(4, 0.25), steps=2_000)
    odds = [(one.filters.keep / (1 - one.filters.keep)) ** one.score for one in sent]
    given = shares * (odds[0][:, :, None] * odds[1][:, None]).reshape(-1, 4)
    np.testing.assert_allclose((given / given.sum(axis=1, keepdims=True)).mean(axis=0), shares, atol=1e-4)
    np.testing.assert_allclose(shares, SHARES[2], atol=0.05)


def test_lopub_finds_who_depends_on_whom_with_little_noise() -> None:
    rng = np.random.default_rng(1)
    survey = lopub(_rows(2, 20_000, rng), (2,) * 4, 2, 40.0, rng)
    np.testing.assert_allclose(survey.estimate((0, 2)), SHARES[2], atol=0.02)


def test_cells_and_signs_agree() -> None:
    records = np.array([[True, False, True], [False, True, True]])
    assert codes_of(records, (0, 2)).tolist() == [3, 1]
    assert hadamard(2).tolist() == [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
