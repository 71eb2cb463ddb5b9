"""What the study of designs rests on: results of a pair all at once, and numbers of marked bits without any report."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.survey.protocols.base import Protocol
from tests.support.design_results import Asked
from tests.support.marked_bits import marked_bits

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", list("xyz")), dn.Choice("c", list("pqrs"))])
SHARES = np.random.default_rng(5).dirichlet(np.full(24, 2.0)).reshape(2, 3, 4)
PLAN = dn.Plan(SCHEMA, epsilon=3.0, arms=[list(pair) for pair in combinations("abc", 2)])
PROTOCOLS = {
    "GRR": dn.GRR(epsilon=1.0),
    "unary": dn.UnaryEncoding.optimized(1.0),
    "subsets of 1": dn.SubsetSelection(epsilon=1.0, size=1),
    "subsets of 2": dn.SubsetSelection(epsilon=1.0, size=2),
    "subsets of 4": dn.SubsetSelection(epsilon=1.0, size=4),
}


def _bound(protocol: Any) -> Protocol:
    return dn.Plan(dn.Schema([dn.Choice("x", list("uvwxyz"))]), {"x": protocol})["x"]


def _indicator(name: str, place: int) -> Any:
    answer = SCHEMA[name].answers[place]
    return name if answer is True else (name, answer)


@pytest.mark.parametrize("subject", ["population", "respondents"])
@pytest.mark.parametrize("pair", list(combinations("abc", 2)), ids="".join)
@pytest.mark.parametrize("n", [400, 40_000])
def test_results_at_once_are_those_of_the_public_names(n: int, pair: tuple[str, str], subject: str) -> None:
    """Also where there are too few reports: those are the same ones."""
    of = dn.simulate.truth(SCHEMA, SHARES)
    est = dn.estimate(dn.simulate.counts(of, PLAN, np.random.default_rng(1), n=n), pair).about(subject)
    table = SHARES.sum(axis=tuple(k for k, name in enumerate("abc") if name not in pair))
    asked = Asked(table)
    found = asked.found(est, subject)
    first, second = pair
    given = est.conditional(first, given=second)
    turned = np.arange(table.size).reshape(table.T.shape).T.reshape(-1)  # its rows are by the feature given, first
    margins = [est.project(name).table() for name in pair]
    for column, of_kind in (("proportion", "value"), ("stderr", "stderr"), ("low", "low"), ("high", "high")):
        _same(getattr(found["cells"], of_kind), est.table()[column].to_numpy())
        _same(getattr(found["margins"], of_kind), np.concatenate([one[column].to_numpy() for one in margins]))
        _same(getattr(found["conditional shares"], of_kind), given[column].to_numpy()[turned])
    one, other = (SCHEMA[second].answers[k] for k in np.argsort(-table.sum(axis=0), kind="stable")[:2])
    what, whatever = (_indicator(name, place) for name, place in zip(pair, asked.indicated, strict=True))
    for kind, result in (
        ("differences", est.difference(what, between=(second, one, other))),
        ("correlations", est.correlation(what, whatever)),
    ):
        ends = (result.value, result.stderr, *result.confidence_interval())
        _same([getattr(found[kind], name)[0] for name in ("value", "stderr", "low", "high")], ends)


def _same(found: Any, expected: Any) -> None:
    assert np.asarray(found) == pytest.approx(np.asarray(expected), abs=1e-12, nan_ok=True)


def test_true_results_are_those_of_an_estimate_without_noise() -> None:
    """Shares and conditional shares by hand, differences and the correlation from their definitions."""
    table = np.array([[0.1, 0.2, 0.1], [0.05, 0.3, 0.25]])
    truth = Asked(table).truth(table)
    assert truth["cells"] == pytest.approx(table.reshape(-1))
    assert truth["margins"] == pytest.approx([0.4, 0.6, 0.15, 0.5, 0.35])
    assert truth["conditional shares"] == pytest.approx((table / table.sum(axis=0)).reshape(-1))
    assert truth["differences"] == pytest.approx([0.3 / 0.5 - 0.25 / 0.35])  # of True, as 0.6 is nearest to a half
    assert truth["correlations"] == pytest.approx([(0.3 - 0.6 * 0.5) / np.sqrt(0.6 * 0.4 * 0.5 * 0.5)], abs=1e-12)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_marked_bits_have_the_moments_of_reports(kind: str) -> None:
    """Means and covariances of 40 000 draws, against those of every pattern that a report can show."""
    protocol = _bound(PROTOCOLS[kind])
    people = np.array([9, 0, 3, 20, 1, 7])
    drawn = marked_bits(protocol, np.repeat(people[None], 40_000, axis=0), np.random.default_rng(1))
    mean, covariance = _moments(protocol, people)
    assert _apart(drawn, mean, covariance) < 5
    assert _apart(drawn, *_moments(protocol, people[::-1])) > 20  # the control: other respondents
    wrong = _bound(dn.GRR(epsilon=1.2) if kind == "GRR" else dn.SubsetSelection(epsilon=1.2, size=2))
    assert _apart(drawn, *_moments(wrong, people)) > 20


def _moments(protocol: Protocol, people: Any) -> tuple[Any, Any]:
    bits, law = protocol.patterns, protocol.pattern_probabilities
    means = law @ bits
    seconds = np.einsum("xp,pi,pj->xij", law, bits, bits)
    return people @ means, np.einsum("x,xij->ij", people, seconds - np.einsum("xi,xj->xij", means, means))


def _apart(drawn: Any, mean: Any, covariance: Any) -> float:
    """How many standard errors the farthest mean or covariance is from what it should be."""
    spread = np.sqrt(np.diagonal(covariance))
    of_means = abs(drawn.mean(axis=0) - mean) / spread
    of_covariances = abs(np.cov(drawn.T) - covariance) / np.multiply.outer(spread, spread) / np.sqrt(2)
    return float(max(of_means.max(), of_covariances.max()) * np.sqrt(len(drawn)))
