"""One report's own estimate of a feature: all its moments and extremes against the enumeration of all it can show."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.inference.one_feature import Axis
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.dependence import Dependence
from tests.support.channels import evidence_channel
from tests.support.situations import values


def bound(protocol: object, m: int = 4) -> Protocol:
    feature = dn.Flag("a") if m == 1 else dn.Choice("a", values(m))
    return dn.Plan(dn.Schema([feature]), {"a": protocol})["a"]


PROTOCOLS = {
    "flag": bound(dn.RandomizedResponse(p=0.2, q=0.7), 1),
    "GRR": bound(dn.GRR(epsilon=1.0)),
    "GRR of two": bound(dn.GRR(epsilon=1.0), 2),
    "unary": bound(dn.UnaryEncoding(p=0.2, q=0.7)),
    "subsets": bound(dn.SubsetSelection(epsilon=1.0, size=2)),
}
CENTRED = Axis.of(PROTOCOLS["unary"], centred=True)
AXES = {
    **{name: (one, Axis.of(one, centred=False)) for name, one in PROTOCOLS.items()},
    "unary, centred": (PROTOCOLS["unary"], CENTRED),
    "unary, by weights": (PROTOCOLS["unary"], CENTRED.weighted(np.array([0.7, 0.2, 0.1, 0.0]))),
}
every_axis = pytest.mark.parametrize(("protocol", "axis"), AXES.values(), ids=AXES)


def by_answer(protocol: Protocol, axis: Axis) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each answer the chances of all patterns, and one report's estimates of all answers by pattern, by hand."""
    found = []
    for x in range(max(2, protocol.columns)):
        law = evidence_channel(protocol, x)
        bits = np.array(list(law), float).reshape(len(law), -1)[:, -protocol.columns :]
        z = (bits - protocol.p) / (protocol.q - protocol.p)
        if axis.centred:
            g = np.full(protocol.columns, 1 / protocol.columns) if axis.weights is None else axis.weights
            z = z - g * (z.sum(axis=1, keepdims=True) - 1)
        cells = np.hstack([1 - z, z]) if protocol.columns == 1 else z
        found.append((np.array(list(law.values()), float), cells))
    return found


@every_axis
def test_second_moments_of_all_answers(protocol: Protocol, axis: Axis) -> None:
    laws = by_answer(protocol, axis)
    shares = np.array([0.1, 0.2, 0.3, 0.4]) if len(laws) == 4 else np.array([0.3, 0.7])
    wanted = sum(share * (z.T * chance) @ z for share, (chance, z) in zip(shares, laws, strict=True))
    np.testing.assert_allclose(axis.cell_seconds(shares), wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(axis.cell_seconds(np.stack([shares, shares[::-1]]))[0], wanted, rtol=1e-10, atol=1e-12)


@every_axis
def test_powers_of_weighted_sums_of_all_answers(protocol: Protocol, axis: Axis) -> None:
    laws = by_answer(protocol, axis)
    rows = np.random.default_rng(5).standard_normal((7, len(laws)))
    for power, found in enumerate(axis.cell_powers(rows), start=1):
        wanted = np.stack([chance @ (z @ rows.T) ** power for chance, z in laws], axis=1)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_many_rows_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _, axis = AXES["unary, by weights"]
    rows = np.random.default_rng(5).standard_normal((9, 4))
    own = replace(axis, weights=np.tile(axis.weights, (9, 1)))  # each row has weights of its own
    wanted = [axis.cell_powers(row[None]) for row in rows]
    monkeypatch.setattr("deniable.inference.one_feature.CACHED", 8)
    for each in (axis, own):
        for power, found in enumerate(each.cell_powers(rows)):
            np.testing.assert_allclose(found, np.concatenate([one[power] for one in wanted]), rtol=1e-12)


def test_rows_are_taken_one_at_a_time_if_one_alone_fills_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    _, axis = AXES["unary"]
    taken: list[int] = []
    powers = Axis.powers

    def noted(self: Axis, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        taken.append(len(rows))
        return powers(self, rows)

    monkeypatch.setattr(Axis, "powers", noted)
    for numbers, wanted in ((8, [2, 1]), (4, [1, 1, 1]), (3, [1, 1, 1])):  # of rows of four numbers
        monkeypatch.setattr("deniable.inference.one_feature.CACHED", numbers)
        taken.clear()
        axis.cell_powers(np.ones((3, 4)))
        assert taken == wanted
    monkeypatch.setattr("deniable.inference.one_feature.CACHED", 4)
    taken.clear()
    axis.cell_powers(np.ones((2, 4)))
    assert taken == [1, 1]


@every_axis
def test_extremes_of_weighted_sums_over_all_that_a_report_can_show(protocol: Protocol, axis: Axis) -> None:
    shown = np.vstack([z for _, z in by_answer(protocol, axis)])
    rows = np.random.default_rng(6).standard_normal((5, 1 + protocol.columns))
    z = shown[:, 1:] if protocol.columns == 1 else shown
    sums = rows[:, :1] + rows[:, 1:] @ z.T
    weights = axis.by_evidence(rows)
    low, high = axis.report_range(weights, weights)
    np.testing.assert_allclose(low, sums.min(axis=1), rtol=1e-10)
    np.testing.assert_allclose(high, sums.max(axis=1), rtol=1e-10)
    for bits in product([0, 1], repeat=protocol.columns):  # what is weighed is the same as what is estimated
        evidence = np.array([1.0, *bits])
        np.testing.assert_allclose(weights @ evidence, rows @ axis.invert(evidence), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["flag", "GRR"])
def test_outcomes_are_the_estimates_and_the_channel(name: str) -> None:
    protocol, axis = AXES[name]
    found = axis.outcomes
    assert found is not None
    for x, (chance, z) in enumerate(by_answer(protocol, axis)):
        for p, own in zip(chance, z, strict=True):
            place = [k for k, one in enumerate(found[0]) if np.allclose(one, own)]
            assert len(place) == 1 or p == 0
            assert not place or found[1][place[0], x] == pytest.approx(p)


@pytest.mark.parametrize("name", ["unary", "subsets", "unary, centred"])
def test_where_several_values_are_marked_there_are_no_outcomes(name: str) -> None:
    assert AXES[name][1].outcomes is None


def test_where_no_value_may_be_marked_there_are_no_outcomes() -> None:
    """False values never are, and the true one in seven of ten reports: a report that marks nothing shows no value."""
    bits = Dependence.independent(Fraction(0), Fraction(7, 10))
    assert Axis(3, bits, sums_to_one=False, centred=False).outcomes is None
    assert Axis(3, Dependence.exclusive(Fraction(0), Fraction(1)), sums_to_one=True, centred=False).outcomes is not None


# Independent bits with one of two pairs (p, q), each in half of all reports: given the truth, bits go together.
PAIRS = ((Fraction(1, 10), Fraction(9, 10)), (Fraction(4, 10), Fraction(5, 10)))
MIXED = Dependence(
    tuple(sum(p**j for p, _ in PAIRS) / 2 for j in range(5)),
    tuple(sum(q * p**j for p, q in PAIRS) / 2 for j in range(5)),
)


def of_mixed(m: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    """The chances of all patterns of these bits if the value at x is true, none of them if x is m, and estimates."""
    bits = np.array(list(product([0, 1], repeat=m)))
    chance = sum(np.where(bits, ones, 1 - ones).prod(axis=1) for ones in _chances(m, x)) / 2
    p, q = (sum(pair[k] for pair in PAIRS) / 2 for k in range(2))
    return chance.astype(float), ((bits - p) / (q - p)).astype(float)


def _chances(m: int, x: int) -> list[np.ndarray]:
    return [np.array([q if v == x else p for v in range(m)], object) for p, q in PAIRS]


def test_weights_of_bits_that_go_together() -> None:
    """The covariances with the sum, over their sum, where an answer changes how the other values' bits vary."""
    shares = np.array([0.6, 0.3, 0.1])
    noise = np.zeros((3, 3))
    for x, share in enumerate(shares):
        chance, z = of_mixed(3, x)
        apart = z - np.eye(3)[x]
        np.testing.assert_allclose(chance @ apart, 0, atol=1e-12)
        noise += share * (apart.T * chance) @ apart
    axis = Axis(3, MIXED, sums_to_one=False, centred=True)
    assert axis.noise.beta != pytest.approx(0)
    np.testing.assert_allclose(axis.weighted(shares).weights, noise.sum(axis=1) / noise.sum(), rtol=1e-12)
    centred = np.eye(3) - 1 / 3
    np.testing.assert_allclose(axis.cell_seconds(shares), np.diag(shares) + centred @ noise @ centred, rtol=1e-12)


def test_a_flag_whose_noise_depends_on_the_answer_in_every_number() -> None:
    axis = Axis(1, MIXED, sums_to_one=False, centred=False)
    assert axis.noise.beta != pytest.approx(0)
    (_, _), (constant, slope) = axis.square_of_flag
    yes, no = of_mixed(1, 0), of_mixed(1, 1)
    squares = [float(chance @ z[:, 0] ** 2) for chance, z in (no, yes)]
    assert [constant, constant + slope] == pytest.approx(squares, rel=1e-12)
    found = axis.cell_seconds(np.array([0.3, 0.7]))
    assert found[1, 1] == pytest.approx(0.3 * squares[0] + 0.7 * squares[1], rel=1e-12)
    assert found.sum() == pytest.approx(1, rel=1e-12)


def test_a_flag_adds_up_and_its_square_is_that_of_its_bit() -> None:
    protocol, axis = AXES["flag"]
    everybody, square = axis.square_of_flag
    assert everybody == (1.0, 0.0)
    for x, (chance, z) in enumerate(by_answer(protocol, axis)):
        assert square[0] + x * square[1] == pytest.approx(chance @ z[:, 1] ** 2)
    assert axis.adds_up
    assert not AXES["unary"][1].adds_up
    assert AXES["unary, centred"][1].adds_up
    assert AXES["GRR"][1].adds_up


def test_axes_are_equal_by_what_they_hold() -> None:
    plain, own = AXES["unary, centred"][1], AXES["unary, by weights"][1]
    assert plain == replace(plain)
    assert own == replace(own, weights=own.weights.copy())
    assert plain != own
    assert plain != AXES["GRR"][1]
    assert plain != "an axis"
    assert hash(own) == hash(replace(own, weights=own.weights.copy()))
    assert plain.plain is plain
    assert own.plain == plain


def test_a_margin_is_the_sum_over_the_values_behind_its_columns() -> None:
    """A block of two by two answers, of which the first question is looked at: each column stands for two values."""
    _, whole = AXES["GRR"]
    axis = whole.margin(2)
    rows = np.random.default_rng(7).standard_normal((3, 2))
    behind = rows.repeat(2, axis=1)
    for found, wanted in zip(axis.cell_powers(rows), whole.cell_powers(behind), strict=True):
        np.testing.assert_allclose(found, wanted[:, ::2], rtol=1e-10)
    shares = np.array([0.3, 0.7])
    sums = np.kron(np.eye(2), np.ones((1, 2)))
    np.testing.assert_allclose(axis.cell_seconds(shares), sums @ whole.cell_seconds(shares.repeat(2) / 2) @ sums.T)
    counts = np.array([100, 20, 30, 40, 10])
    merged = axis.invert(np.array([100, 50, 50]))
    np.testing.assert_allclose(merged[1:], sums @ whole.invert(counts)[1:])
    weights, own = (
        axis.by_evidence(np.hstack([np.zeros((3, 1)), rows])),
        whole.by_evidence(np.hstack([np.zeros((3, 1)), behind])),
    )
    np.testing.assert_allclose(axis.report_range(weights, weights), whole.report_range(own, own))
    found = axis.outcomes
    assert found is not None
    np.testing.assert_allclose(found[1].sum(axis=0), 1)
    np.testing.assert_allclose(found[1].T @ found[0], np.eye(2), atol=1e-12)


def test_a_margin_of_a_centred_axis_is_centred_over_all_values() -> None:
    whole = AXES["unary, centred"][1]
    sums = np.kron(np.eye(2), np.ones((1, 2)))
    for shares in (np.array([0.3, 0.7]), np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]])):
        wanted = sums @ whole.cell_seconds(shares.repeat(2, axis=-1) / 2) @ sums.T
        np.testing.assert_allclose(whole.margin(2).cell_seconds(shares), wanted, rtol=1e-12)
