"""What whole patterns say of a feature, against sums over all patterns in exact fractions, and what it is worth."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import feasible, pattern_scores
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import along
from deniable.survey.protocols.base import Protocol
from tests.support.channels import codes, evidence_channel
from tests.support.situations import KINDS, tiny, values
from tests.support.surveys import some_counts

PROTOCOLS = {
    "flag": dn.RandomizedResponse(p=0.1, q=0.8),
    "GRR": dn.GRR(epsilon=1.0),
    "symmetric": dn.UnaryEncoding.symmetric(0.05),
    "optimized": dn.UnaryEncoding.optimized(4.0),
    "sharpest": dn.UnaryEncoding(p=1 / 65536, q=65535 / 65536),
    "hashing": dn.LocalHashing(epsilon=2.0, buckets=3),
    "sets": dn.SubsetSelection(epsilon=1.0),
    "sharp sets": dn.SubsetSelection(epsilon=6.0, size=1),
    "public": dn.Public(),
}


def bound(protocol: Protocol, m: int) -> Protocol:
    feature = dn.Flag("a") if isinstance(protocol, dn.RandomizedResponse) else dn.Choice("a", values(m))
    return dn.Plan(dn.Schema([feature]), {"a": protocol})["a"]


def exact_moments(protocol: Protocol, shares: list[Fraction]) -> tuple[np.ndarray, np.ndarray]:
    """E[g_v | u] and E[g_v g_w | u], summed in fractions over every pattern of evidence."""
    laws = [evidence_channel(protocol, code) for code in codes(protocol)]
    size = len(laws)
    means, thirds = np.zeros((size,) * 2, object), np.zeros((size,) * 3, object)
    for bits in sorted({bits for law in laws for bits in law}):
        chances = [law.get(bits, Fraction(0)) for law in laws]
        whole = sum(share * chance for share, chance in zip(shares, chances, strict=True))
        g = np.array([chance / whole for chance in chances], object)
        means += np.multiply.outer(g, chances)
        thirds += np.multiply.outer(np.multiply.outer(g, g), np.array(chances, object))
    return means.astype(float), thirds.astype(float)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_moments_are_those_of_all_patterns(kind: str, m: int) -> None:
    protocol = bound(PROTOCOLS[kind], m)
    levels = len(codes(protocol))
    for weights in ([1] * levels, [7**k for k in range(levels)], [10**5] + [1] * (levels - 1)):
        shares = [Fraction(weight, sum(weights)) for weight in weights]
        means, thirds = exact_moments(protocol, shares)
        found = pattern_scores.score(protocol, np.array(shares, float))
        np.testing.assert_allclose(found.means, means, rtol=1e-12)
        inverse = np.linalg.inv(means)
        seconds = np.einsum("va,wb,abu->vwu", inverse, inverse, thirds)
        np.testing.assert_allclose(found.seconds, seconds, rtol=1e-8, atol=1e-9 * np.abs(seconds).max())


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_whole_patterns_estimate_each_answer_without_bias_and_sum_to_one(kind: str) -> None:
    """Whatever the shares are taken to be; but not with a channel that is not the reports' own."""
    protocol = bound(PROTOCOLS[kind], 4)
    size = len(codes(protocol))
    places = {tuple(bits): place for place, bits in enumerate(protocol.patterns.tolist())}
    law = np.zeros((len(places), size))
    for code in codes(protocol):
        for bits, chance in evidence_channel(protocol, code).items():
            law[places[bits], code] = chance
    shares = np.random.default_rng(1).dirichlet(np.ones(size))
    z = pattern_scores.score(protocol, shares).estimates(protocol)
    np.testing.assert_allclose(z.T @ law, np.eye(size), atol=1e-10)
    np.testing.assert_allclose(z.sum(axis=1), 1, atol=1e-10)
    uniform = np.full_like(law, 1 / len(law))
    assert np.abs(z.T @ (0.9 * law + 0.1 * uniform) - np.eye(size)).max() > 0.01


@pytest.mark.parametrize("kind", ["optimized", "hashing"])
def test_no_unbiased_estimate_varies_less_at_the_shares_themselves(kind: str) -> None:
    """At the true shares E[z z'] is the inverse of Fisher's information; bits taken one by one vary more."""
    protocol = bound(PROTOCOLS[kind], 4)
    shares = np.array([0.6, 0.2, 0.15, 0.05])
    information, _ = exact_moments(protocol, [Fraction(share).limit_denominator(100) for share in shares])
    least = np.linalg.inv(information)
    np.testing.assert_allclose(pattern_scores.score(protocol, shares).seconds @ shares, least, rtol=1e-9)
    bits = Axis.of(protocol, centred=True).seconds()[0][1:, 1:] @ np.array([1, *shares])
    assert np.trace(bits) > 1.02 * np.trace(least)
    elsewhere = pattern_scores.score(protocol, np.full(4, 0.25)).seconds @ shares
    assert np.trace(elsewhere) > 1.001 * np.trace(least)


def test_hashes_are_independent_enough() -> None:
    """Cubic polynomials make any four values independent; eight are, for all that a million reports can show."""
    schema = dn.Schema([dn.Choice("a", values(8))])
    for buckets, epsilon in ((2, 1.0), (8, 2.0), (30, 4.0)):
        plan = dn.Plan(schema, {"a": dn.LocalHashing(epsilon=epsilon, buckets=buckets)})
        score = pattern_scores.score(plan["a"], np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05]))
        z = score.estimates(plan["a"])
        for code in (0, 5):
            n = 500_000
            reports = dn.randomize({"a": [f"v{code}"] * n}, plan, rng=np.random.default_rng(code))
            shown = dn.count(reports, ["a"]).shown("a")
            assert shown is not None
            errors = np.sqrt((np.diagonal(score.seconds)[code] - np.eye(8)[code]) / n)
            far = np.abs(shown @ z / n - np.eye(8)[code]) / errors
            assert far.max() < 4.5
            other = dn.Plan(schema, {"a": dn.LocalHashing(epsilon=epsilon, buckets=buckets + 1)})["a"]
            wrong = pattern_scores.score(other, score.shares).estimates(other)
            assert (np.abs(shown @ wrong / n - np.eye(8)[code]) / errors).max() > 6


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_seen_in_patterns_has_the_moments_it_is_said_to_have(kind: str) -> None:
    """For one respondent of each kind, over everything that their report can show."""
    plan, people = tiny(kind)
    shares = [np.arange(1.0, 1 + len(codes(protocol))) for protocol in plan.protocols]
    shares = [own / own.sum() for own in shares]
    for answers in people:
        law = np.ones(())
        for protocol, code in zip(plan.protocols, answers, strict=True):
            chances = evidence_channel(protocol, code)
            law = np.multiply.outer(law, [float(chances.get(tuple(bits), 0)) for bits in protocol.patterns.tolist()])
        seen = feasible.seen_in_patterns(10**9, law, plan.protocols, shares)
        truth = np.zeros([len(codes(protocol)) for protocol in plan.protocols])
        truth[answers] = 1
        np.testing.assert_allclose(seen.z, along(truth, [side.means for side in seen.sides]), atol=1e-8)
        for side, own in zip(seen.sides, shares, strict=True):
            np.testing.assert_allclose(side.seconds @ own, np.eye(len(own)), atol=1e-6)
        every = np.eye(law.size).reshape(law.size, *law.shape)
        each = np.array([feasible.seen_in_patterns(10**9, one, plan.protocols, shares).z.reshape(-1) for one in every])
        claimed = feasible.moment_matrix(truth, [side.seconds for side in seen.sides])
        found = np.einsum("r,ri,rj->ij", law.reshape(-1), each, each)
        np.testing.assert_allclose(found, claimed, rtol=1e-6, atol=1e-8 * np.abs(claimed).max())


def test_whole_patterns_bring_the_proper_table_closer_to_the_truth() -> None:
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Choice("b", values(3))])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.UnaryEncoding.symmetric(4.0)))
    truth = dn.simulate.truth(schema, [[0.3, 0.05, 0.05], [0.02, 0.2, 0.03], [0.1, 0.1, 0.05], [0.05, 0.0, 0.05]])
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(40):
        people = truth.people(2_000, rng)
        counts = dn.simulate.counts(people, plan, rng)
        bits_alone = dn.Counts(plan, counts.tables)
        tables = [dn.estimate(one, schema.names, method="feasible").proper for one in (counts, bits_alone)]
        errors.append([np.mean((table.shares - people / 2_000) ** 2) for table in tables if table])
    whole, alone = np.sqrt(np.mean(errors, axis=0))
    assert whole < 0.9 * alone


def test_patterns_that_say_no_more_change_nothing() -> None:
    """Of one value, or a flag, there is one unbiased estimate: the inverse of the channel."""
    plan, _ = tiny("GRR")
    counts = some_counts(plan, 400)
    assert not counts.patterns
    shown = counts.array("a", "b")[1:, 1:] / 400
    shares = [np.full(len(codes(protocol)), 1 / len(codes(protocol))) for protocol in plan.protocols]
    whole = feasible.seen_in_patterns(400, shown, plan.protocols, shares)
    inverse = [np.linalg.inv([[p.q if u == v else p.p for u in codes(p)] for v in codes(p)]) for p in plan.protocols]
    turned = [np.linalg.inv(side.means) for side in whole.sides]
    np.testing.assert_allclose(along(whole.z, turned), along(shown, inverse), atol=1e-12)


def test_scores_are_taken_at_the_answers_own_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """At equal shares they are unbiased too, but say less."""
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Choice("b", values(4))])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.LocalHashing(epsilon=4.0)))
    rng = np.random.default_rng(1)
    surveys = []
    for _ in range(25):
        a = rng.choice(4, 3_000, p=[0.7, 0.2, 0.05, 0.05])
        b = np.where(rng.random(3_000) < 0.5, a, rng.choice(4, 3_000, p=[0.6, 0.2, 0.1, 0.1]))
        own = np.zeros((4, 4))
        np.add.at(own, (a, b), 1 / 3_000)
        records = {"a": np.array(values(4))[a], "b": np.array(values(4))[b]}
        surveys.append((own, dn.count(dn.randomize(records, plan, rng=rng), schema.names)))

    def error() -> float:
        tables = [dn.estimate(counts, schema.names, method="feasible").proper for _, counts in surveys]
        return float(
            np.mean([(table.shares - own) ** 2 for table, (own, _) in zip(tables, surveys, strict=True) if table])
        )

    at_own = error()
    monkeypatch.setattr(
        "deniable.estimates.feasible.margin_shares", lambda axes, _: [np.full(axis.m, 1 / axis.m) for axis in axes]
    )
    assert np.sqrt(at_own / error()) < 0.85


@pytest.mark.parametrize("kind", ["unary", "hashing", "mixed"])
def test_features_may_be_asked_for_in_any_order(kind: str) -> None:
    plan, _ = tiny(kind)
    counts = some_counts(plan, 400)
    names = plan.schema.names
    there, back = (dn.estimate(counts, order, method="feasible").proper for order in (names, names[::-1]))
    assert there is not None
    assert back is not None
    np.testing.assert_allclose(back.shares, there.shares.transpose(), atol=1e-9)
