"""Waves of the same people with kept answers: the covariance by enumeration, and by simulation with a control."""

import itertools
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client, keeping
from deniable.client import SCALE
from deniable.estimates.designs.groups import group_of
from deniable.estimates.designs.kept_waves import kept_covariance, of_kept_answers, shared
from deniable.inference.about_whom import Subject

FLAG, CHOICE, OTHER = dn.Flag("a"), dn.Choice("b", ["u", "v", "w"]), dn.Flag("c")
APART = dn.Plan(dn.Schema([FLAG, CHOICE]), epsilon=4.0, repeat="keep", epsilon_1=3.0)
TOGETHER = dn.Plan(dn.Schema([FLAG, CHOICE]), {("a", "b"): dn.GRR(epsilon=2.0)}, repeat="keep", epsilon_1=1.5)
IN_ARMS = dn.Plan(
    dn.Schema([FLAG, CHOICE, OTHER]), epsilon=3.0, arms=[["a", "b"], ["b", "c"]], repeat="keep", epsilon_1=2.0
)


def channel(outcomes: int, p: Fraction, q: Fraction) -> list[list[Fraction]]:
    """P(outcome | answer): a matrix for each answer."""
    if outcomes == 2:
        return [[1 - p, p], [1 - q, q]]
    return [[q if shown == true else p for shown in range(outcomes)] for true in range(outcomes)]


def fresh(outcomes: int, plan: dn.Plan) -> list[list[Fraction]]:
    coin = Fraction(plan.kept, SCALE)
    either = (1 - coin) / outcomes
    return [[coin * (kept == sent) + either for sent in range(outcomes)] for kept in range(outcomes)]


def evidence(outcomes: int, p: Fraction, q: Fraction) -> list[list[Fraction]]:
    """z of each outcome that is sent, on the axis (all, columns)."""
    columns = [1] if outcomes == 2 else range(outcomes)
    return [[Fraction(1), *((Fraction(int(v == shown)) - p) / (q - p) for v in columns)] for shown in range(outcomes)]


def enumerated(plan: dn.Plan, answers: tuple[int, ...], waves: int) -> Any:
    """Mean and covariance of a person's mean of z over waves, over all kept and sent outcomes, in fractions."""
    blocks = []
    for block in plan.blocks:
        protocol = block.protocol
        outcomes = max(2, protocol.columns)
        kept = channel(outcomes, *protocol.with_fresh(SCALE).channel)
        blocks.append((outcomes, kept, fresh(outcomes, plan), evidence(outcomes, *protocol.channel)))
    entries = [range(len(z[0])) for *_, z in blocks]
    places = list(itertools.product(*entries))
    mean, second = np.zeros(len(places), object), np.zeros((len(places),) * 2, object)
    for kept_outcomes in itertools.product(*(range(outcomes) for outcomes, *_ in blocks)):
        chance = Fraction(1)
        for (_, kept, _, _), answer, one in zip(blocks, answers, kept_outcomes, strict=True):
            chance *= kept[answer][one]
        # Given the kept answers, waves are independent of each other: first and second moments of one wave are enough.
        first, own = np.zeros(len(places), object), np.zeros((len(places),) * 2, object)
        for sent in itertools.product(*(range(outcomes) for outcomes, *_ in blocks)):
            p = Fraction(1)
            for (_, _, coin, _), one, shown in zip(blocks, kept_outcomes, sent, strict=True):
                p *= coin[one][shown]
            z = np.array([np.prod([b[3][s][j] for b, s, j in zip(blocks, sent, at, strict=True)]) for at in places])
            first, own = first + p * z, own + p * np.outer(z, z)
        mean = mean + chance * first
        second = second + chance * (own / waves + Fraction(waves - 1, waves) * np.outer(first, first))
    return mean, second - np.outer(mean, mean)


@pytest.mark.parametrize("waves", [1, 2, 5])
@pytest.mark.parametrize("plan", [APART, dn.Plan(dn.Schema([CHOICE]), epsilon=2.0, repeat="keep", epsilon_1=1.0)])
def test_the_covariance_given_the_answers_is_that_of_all_outcomes(plan: dn.Plan, waves: int) -> None:
    """One person whose answers are known: 1/T of the noise of one wave and 1 - 1/T of that of the kept answers."""
    levels = [feature.levels for feature in plan.schema]
    even = dn.simulate.truth(plan.schema, np.full(levels, 1 / np.prod(levels)))
    counts = dn.simulate.counts(even, plan, np.random.default_rng(1), n=100)
    group = group_of(counts, plan.schema.names)
    for answers in itertools.product(*(range(feature.levels) for feature in plan.schema)):
        mean, covariance = enumerated(plan, answers, waves)
        one = type(group)(1, group.axes, np.array(mean, float).reshape(group.truth.shape))
        noise = [one.dense(Subject.RESPONDENTS), kept_covariance(one, of_kept_answers(plan), Subject.RESPONDENTS)]
        found = noise[0] / waves + noise[1] * (waves - 1) / waves
        assert np.allclose(found, np.array(covariance, float), rtol=1e-9, atol=1e-9)
        if waves > 1:  # the control: fresh noise in each wave would be less
            assert np.diagonal(found).max() > 1.05 * np.diagonal(noise[0] / waves).max()


def waves_of(plan: dn.Plan, shares: Any, sizes: list[int], rng: np.random.Generator) -> list[dn.Counts]:
    """Counts of waves of the same people, those of a smaller wave being the first ones of a larger."""
    people = rng.choice(shares.size, max(sizes), p=shares.reshape(-1))
    answers = np.stack(np.unravel_index(people, shares.shape))
    kept = []
    for block in plan.blocks:
        places = [plan.schema.index(name) for name in block.names]
        code = np.ravel_multi_index(answers[places], block.levels)
        law = channel(int(np.prod(block.levels)), *block.protocol.with_fresh(SCALE).channel)
        kept.append(through(rng, law, code))
    outcomes = [max(2, block.protocol.columns) for block in plan.blocks]
    found = []
    for size in sizes:
        sent = [through(rng, fresh(m, plan), code[:size]) for m, code in zip(outcomes, kept, strict=True)]
        keys = tuple(block.key for block in plan.blocks)
        found.append(dn.Counts(plan, {keys: evidence_counts(outcomes, sent)}))
    return found


def through(rng: np.random.Generator, law: list[list[Fraction]], codes: Any) -> Any:
    """Codes after a channel."""
    cumulated = np.cumsum(np.array(law, float), axis=1)
    return (rng.random(len(codes))[:, None] > cumulated[codes]).sum(axis=1).clip(max=len(law) - 1)


def evidence_counts(outcomes: list[int], sent: list[Any]) -> Any:
    """The tensor of counts: (all, True) of a flag, (all, values) of others."""
    marks = [np.column_stack([np.ones(len(s), int), *((s == v).astype(int) for v in ([1] if m == 2 else range(m)))])
             for m, s in zip(outcomes, sent, strict=True)]  # fmt: skip
    letters = "abcdef"[: len(marks)]
    return np.einsum(",".join(f"n{one}" for one in letters) + "->" + letters, *marks)


SHARES = np.array([[0.3, 0.2, 0.1], [0.05, 0.1, 0.25]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "sizes"), [(APART, [1500, 1500, 1500]), (TOGETHER, [1500, 900, 600])], ids=["equal", "unequal"]
)
def test_standard_errors_over_waves_are_those_of_many_surveys(plan: dn.Plan, sizes: list[int]) -> None:
    """And taking waves as independent, the control, understates them by far."""
    rng, names, surveys = np.random.default_rng(11), ["a", "b"], 200
    values, variances, alone = [], [], []
    for number in range(surveys):
        waves = waves_of(plan, SHARES, sizes, rng)
        est = dn.estimate(waves, names)
        values.append(est.cell(a=True, b="w").value)
        if number % 10 == 0:  # they hardly vary
            independent = dn.estimate(reduce(dn.Counts.with_those_of, waves), names)
            for found, of in ((variances, est), (alone, independent)):
                found.append(of.cell(a=True, b="w").stderr ** 2)
    assert est.n == sizes[0]
    spread, error = np.var(values), np.sqrt(2 / surveys)
    assert abs(np.mean(values) - 0.25) < 4 * np.sqrt(spread / surveys)
    assert abs(np.mean(variances) / spread - 1) < 3.5 * error
    assert abs(np.mean(alone) / spread - 1) > 3.5 * error  # the control must fail


def test_waves_without_a_fresh_coin_say_what_one_wave_says() -> None:
    plan = dn.Plan(dn.Schema([FLAG, CHOICE]), {("a", "b"): dn.GRR(epsilon=2.0)}, repeat="keep")
    counts = dn.simulate.counts(dn.simulate.truth(plan.schema, SHARES), plan, np.random.default_rng(3), n=4_000)
    again = dn.Counts(plan, {(("a", "b"),): counts.array(("a", "b"))})
    one, both = dn.estimate(counts, ["a", "b"]), dn.estimate([counts, again], ["a", "b"])
    assert both.n == one.n == both.asked == 4_000
    assert np.allclose(both.mean, one.mean)
    for subject in ("population", "respondents"):
        assert np.allclose(both.about(subject).covariance(), one.about(subject).covariance())
    assert both.homogeneity is None


def test_more_waves_leave_the_noise_of_the_kept_answers() -> None:
    truth = dn.simulate.truth(APART.schema, SHARES)
    rng = np.random.default_rng(4)
    waves = [dn.simulate.counts(truth, APART, rng, n=3_000) for _ in range(40)]
    errors = [dn.estimate(waves[:k], ["a", "b"]).cell(a=True, b="w").stderr for k in (2, 10, 40)]
    kept = dn.simulate.counts(truth, APART.keep(), rng, n=300_000)
    least = dn.estimate(kept, ["a", "b"]).cell(a=True, b="w").stderr * 10
    assert errors[0] > errors[1] > errors[2] > 0.97 * least
    assert errors[2] < 1.06 * least


@pytest.mark.parametrize("sizes", [[5, 5], [5, 5, 5], [10, 5], [8, 4, 2]])
def test_what_waves_share_if_they_are_nested(sizes: list[int]) -> None:
    plan = dn.Plan(dn.Schema([FLAG]), epsilon=1.0, repeat="keep")
    counts = [dn.Counts(plan, {("a",): np.array([n, 1])}) for n in sizes]
    people = [sum(person < n for n in sizes) for person in range(max(sizes))]
    assert shared(counts) == pytest.approx(sum(k * (k - 1) for k in people) / sum(people))


def test_arms_are_kept_with_the_answers() -> None:
    truth = dn.simulate.truth(IN_ARMS.schema, np.full((2, 3, 2), 1 / 12))
    rng = np.random.default_rng(5)
    waves = [dn.simulate.counts(truth, IN_ARMS, rng, n=6_000) for _ in range(3)]
    one, three = dn.estimate(waves[0], ["a", "b"]), dn.estimate(waves, ["a", "b"])
    independent = dn.estimate(reduce(dn.Counts.with_those_of, waves), ["a", "b"])
    errors = [est.cell(a=True, b="w").stderr for est in (independent, three, one)]
    assert errors[0] < 0.9 * errors[1] < 0.9 * errors[2]
    assert three.about("respondents").cell(a=True, b="w").stderr < errors[1]


SKEWED = np.array([[[0.42, 0.03], [0.2, 0.05], [0.02, 0.08]], [[0.01, 0.04], [0.05, 0.05], [0.02, 0.03]]])


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::deniable.errors.DeniableWarning")  # which the control's arms rightly give
@pytest.mark.parametrize("sizes", [[500, 500, 500], [600, 300, 300]], ids=["equal", "unequal"])
def test_standard_errors_over_waves_in_arms_are_those_of_many_surveys(sizes: list[int]) -> None:
    """By the client's own kept bytes, drawn once for each person; taking waves as independent is the control."""
    rng, surveys, names = np.random.default_rng(77), 300, ["a", "b"]
    once = dn.Plan(IN_ARMS.schema, epsilon=3.0, arms=[["a", "b"], ["b", "c"]], repeat="keep")  # without the fresh coin
    checked = client.read(IN_ARMS.to_json())
    values, said, alone = [], [], []
    for number in range(surveys):
        a, b, c = np.unravel_index(rng.choice(SKEWED.size, max(sizes), p=SKEWED.ravel()), SKEWED.shape)
        answers = {"a": a.astype(bool), "b": np.array(["u", "v", "w"])[b], "c": c.astype(bool)}
        made = list(dn.randomize(answers, once, rng=rng).to_bytes())  # arm by arm
        kept = [made[place] for place in rng.permutation(len(made))]
        sent = [[keeping.again_from(rng.bytes, one, checked) for one in kept[:size]] for size in sizes]
        waves = [dn.count(dn.Reports.from_bytes(one, IN_ARMS)) for one in sent]
        est = dn.estimate(waves, names)
        values.append([est.cell(a=True, b="w").value, est.cell(b="v").value])
        if number % 5 == 0:  # they hardly vary
            independent = dn.estimate(reduce(dn.Counts.with_those_of, waves), names)
            for found, of in ((said, est), (alone, independent)):
                found.append([of.cell(a=True, b="w").stderr ** 2, of.cell(b="v").stderr ** 2])
    spread, error = np.var(values, axis=0), np.sqrt(2 / surveys)
    assert np.all(abs(np.mean(values, axis=0) - [0.05, 0.35]) < 4 * np.sqrt(spread / surveys))
    assert np.all(abs(np.mean(said, axis=0) / spread - 1) < 3.5 * error)
    assert np.any(abs(np.mean(alone, axis=0) / spread - 1) > 3.5 * error)  # the control must fail


def test_what_cannot_be_told_from_waves_is_refused() -> None:
    truth = dn.simulate.truth(APART.schema, SHARES)
    rng = np.random.default_rng(6)
    first, second = (dn.simulate.counts(truth, APART, rng, n=2_000) for _ in range(2))
    other = dn.simulate.counts(truth, dn.Plan(APART.schema, epsilon=4.0), rng, n=2_000)
    with pytest.raises(dn.EstimateError, match="by themselves"):
        dn.estimate([first, second, other], ["a", "b"])
    with pytest.raises(dn.EstimateError, match="proper table is of one wave"):
        dn.estimate([first, second], ["a", "b"], method="feasible")
    with pytest.raises(dn.EstimateError, match="tests of independence are of one wave"):
        dn.estimate([first, second], ["a", "b"]).independence("a", "b")
    assert dn.estimate([first, other], ["a", "b"]).n == 4_000  # different people, as ever
