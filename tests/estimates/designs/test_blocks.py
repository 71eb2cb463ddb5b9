"""Estimates of plans with blocks, and no arms, against every possible report of a few respondents."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.table_parts import block_parts, weighted_parts
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.tensors import along, answer_rows, flat
from tests.support.enumerated_designs import (
    Person,
    answers_of,
    block_entries,
    entry_outcomes,
    joined_entries,
    true_entries,
)
from tests.support.situations import METHODS, values
from tests.support.surveys import block_weights, some_counts, supports

FLAG, CHOICE, OTHER, PAIR = dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c"), dn.Choice("d", values(2))

PLANS = {
    "GRR beside unary": dn.Plan(
        dn.Schema([FLAG, CHOICE, OTHER]),
        {("a", "c"): dn.GRR(epsilon=1.0), "b": dn.UnaryEncoding.optimized(1.0)},
    ),
    "unary beside a flag": dn.Plan(
        dn.Schema([FLAG, CHOICE, OTHER]),
        {("a", "b"): dn.UnaryEncoding(p=0.2, q=0.7), "c": dn.RandomizedResponse(p=0.1, q=0.8)},
    ),
    "subsets of three": dn.Plan(
        dn.Schema([FLAG, OTHER, PAIR]), {("a", "c", "d"): dn.SubsetSelection(epsilon=1.0, size=3)}
    ),
    "hashing beside public": dn.Plan(
        dn.Schema([FLAG, CHOICE, PAIR]),
        {("b", "d"): dn.LocalHashing(epsilon=1.5, buckets=3), "a": dn.Public()},
    ),
    "two blocks": dn.Plan(
        dn.Schema([FLAG, CHOICE, OTHER, PAIR]),
        {("a", "d"): dn.LocalHashing(epsilon=1.0, buckets=2), ("b", "c"): dn.GRR(epsilon=0.7)},
    ),
}
# Tables of one feature of a block, of features in one block, across blocks, and both, in any order.
TABLES = {
    "GRR beside unary": ["a", "ca", "ba", "cba"],
    "unary beside a flag": ["b", "a", "cb", "bca"],
    "subsets of three": ["c", "da", "dca"],
    "hashing beside public": ["d", "db", "da", "bad"],
    "two blocks": ["b", "ab", "da", "dc", "cad"],
}
PEOPLE = {name: [(1, 0, 1, 1), (0, 2, 1, 0), (1, 2, 0, 1)] for name in PLANS}
CASES = [(name, tuple(table)) for name, tables in TABLES.items() for table in tables]
every_case = pytest.mark.parametrize(("name", "names"), CASES, ids=[f"{name}: {''.join(of)}" for name, of in CASES])


def people_of(name: str) -> list[Person]:
    """Codes that every feature of the plan has."""
    plan = PLANS[name]
    return [
        tuple(min(code, feature.levels - 1) for code, feature in zip(person, plan.schema, strict=False))
        for person in PEOPLE[name]
    ]


def reports_of(name: str, n: int = 60) -> dn.Reports:
    plan, rng = PLANS[name], np.random.default_rng(n)
    everybody = list(product(*(range(feature.levels) for feature in plan.schema)))
    people = [everybody[place] for place in rng.integers(len(everybody), size=n)]
    return dn.randomize(answers_of(plan, plan, people), plan, rng=rng)


def at_truth(plan: dn.Plan, names: tuple[str, ...], people: Sequence[Person], method: str) -> Estimate:
    """The estimate whose mean is the truth of these people: all covariances are then the true ones."""
    est = dn.estimate(some_counts(plan, 20), names, method=method, about="respondents")
    (group,) = est.groups
    views = (
        [view.places for view in group.views] if isinstance(group, BlockGroup) else [(k,) for k in range(len(names))]
    )
    inner = group.inner if isinstance(group, BlockGroup) else group
    truth = np.zeros([1 + axis.columns for axis in inner.axes])
    for person in people:
        vectors = []
        for axis, places in zip(inner.axes, views, strict=True):
            features = [plan.schema[names[place]] for place in places]
            codes = [person[plan.schema.index(feature.name)] for feature in features]
            code = int(np.ravel_multi_index(codes, [feature.levels for feature in features]))
            columns = [1] if axis.columns == 1 else range(axis.columns)
            vectors.append(np.array([1.0, *(float(code == column) for column in columns)]))
        truth += reduce(np.multiply.outer, vectors)
    made = replace(inner, n=len(people), truth=truth)
    return replace(est, groups=(replace(group, inner=made) if isinstance(group, BlockGroup) else made,))


Law = tuple[np.ndarray, np.ndarray]  # probabilities, and a row of entries for each


def laws_about(
    plan: dn.Plan, names: tuple[str, ...], people: Sequence[Person], method: str, subject: Subject
) -> list[Law]:
    """The law of each respondent's report; about the population, each is one of these people, at random."""
    laws, weights = [], block_weights(some_counts(plan, 20), method)
    for person in people:
        chances, tensors = entry_outcomes(plan, names, person, weights, centred=method != "unbiased")
        laws.append((chances, tensors.reshape(len(chances), -1)))
    if subject is Subject.POPULATION:
        n = len(people)
        both = np.concatenate([chances for chances, _ in laws]) / n, np.concatenate([rows for _, rows in laws])
        laws = [both] * n
    return laws


def covariance(laws: Sequence[Law]) -> np.ndarray:
    """The covariance of the sum of independent reports."""
    total = np.zeros((laws[0][1].shape[1],) * 2)
    for chances, rows in laws:
        apart = rows - chances @ rows
        total += (chances[:, None] * apart).T @ apart
    return total


def assert_near(found: object, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("method", METHODS)
@every_case
def test_the_mean_is_the_sum_of_what_each_report_says(name: str, names: tuple[str, ...], method: str) -> None:
    plan, reports = PLANS[name], reports_of(name)
    blocks = [block for block in plan.blocks if set(block.names) & set(names)]
    bits = [supports(plan.units, reports.table, block.unit.name)[:, 1:].tolist() for block in blocks]
    weights = block_weights(dn.count(reports, order=2), method)
    expected = sum(
        joined_entries(
            blocks,
            [
                block_entries(block, tuple(own), names, centred=method != "unbiased", weights=weights.get(block))
                for block, own in zip(blocks, report, strict=True)
            ],
            names,
        )
        for report in zip(*bits, strict=True)
    )
    for counts in (dn.count(reports, list(names)), dn.count(reports, order=len(names)), dn.count(reports, order=2)):
        if counts.holds(*names):
            est = dn.estimate(counts, names, method=method)
            assert est.names == names
            assert_near(est.mean, expected)


@pytest.mark.parametrize("subject", list(Subject), ids=str)
@pytest.mark.parametrize("method", METHODS)
@every_case
def test_covariances_are_those_of_enumeration(name: str, names: tuple[str, ...], method: str, subject: Subject) -> None:
    plan, people = PLANS[name], people_of(name)
    est = at_truth(plan, names, people, method).about(subject)
    expected = covariance(laws_about(plan, names, people, method, subject))
    assert_near(est.mean, sum(true_entries(plan, names, person) for person in people))
    assert_near(est.covariance(), expected)
    assert_near(est.variance.reshape(-1), np.diagonal(expected))
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(2, length)) for length in est.mean.shape]
    left, right = (reduce(np.multiply.outer, [matrix[k] for matrix in rows]).reshape(-1) for k in (0, 1))
    assert_near(est.covariance_of([one[0] for one in rows], [one[1] for one in rows]), left @ expected @ right)
    first = {one: plan.schema[one].answers[-1] for one in names}
    places = [len(plan.schema[one].columns) for one in names]
    last = int(np.ravel_multi_index(places, est.mean.shape))
    margin = int(np.ravel_multi_index([places[0], *[0] * (len(names) - 1)], est.mean.shape))
    assert_near(est.covariance(first, {names[0]: first[names[0]]}), expected[last, margin])


@pytest.mark.parametrize("subject", list(Subject), ids=str)
@pytest.mark.parametrize("method", METHODS)
@every_case
def test_cumulants_are_those_of_enumeration(name: str, names: tuple[str, ...], method: str, subject: Subject) -> None:
    plan, people = PLANS[name], people_of(name)
    (group,) = at_truth(plan, names, people, method).groups
    laws = laws_about(plan, names, people, method, subject)
    rng = np.random.default_rng(5)
    rows = [rng.normal(size=(2, length)) for length in group.truth.shape]
    stated = group.cumulants(rows, subject)
    for at in product(range(2), repeat=len(names)):
        w = reduce(np.multiply.outer, [matrix[row] for matrix, row in zip(rows, at, strict=True)]).reshape(-1)
        expected = np.zeros(3)
        for chances, entries in laws:
            apart = entries @ w - chances @ entries @ w
            v = chances @ apart**2
            expected += [v, chances @ apart**3, chances @ apart**4 - 3 * v**2]
        assert_near([stated.variance[at], stated.third[at], stated.fourth[at]], expected)
        assert stated.mean[at] == pytest.approx(float(w @ group.truth.reshape(-1)))


@every_case
def test_the_variance_of_the_variance_estimate_is_that_of_enumeration(name: str, names: tuple[str, ...]) -> None:
    """About the respondents the estimated variance is a sum over reports, whose own parts are found one by one."""
    plan, people = PLANS[name], people_of(name)
    est = at_truth(plan, names, people, "consistent")
    (group,) = est.groups
    rng = np.random.default_rng(5)
    rows = [rng.normal(size=(1, length)) for length in group.truth.shape]
    w = reduce(np.multiply.outer, [matrix[0] for matrix in rows]).reshape(-1)

    def own_variance(entries: np.ndarray) -> float:
        """What one report adds to the estimated variance."""
        return of_entries(group, entries.reshape(group.truth.shape)).cumulants(rows, est.subject).variance.item()

    expected = np.zeros(2)
    for chances, entries in laws_about(plan, names, people, "consistent", Subject.RESPONDENTS):
        y, v = entries @ w, np.array([own_variance(one) for one in entries])
        y, v = y - chances @ y, v - chances @ v
        expected += [chances @ (y * v), chances @ v**2]
    stated = group.cumulants(rows, Subject.RESPONDENTS)
    assert_near([float(stated.covariance_with_variance.item()), float(stated.variance_of_variance.item())], expected)


def of_entries(group: BlockGroup | Group, entries: np.ndarray) -> BlockGroup | Group:
    """The same group with other entries by feature, whose cells follow from them as answers add up."""
    if not isinstance(group, BlockGroup):
        return replace(group, truth=entries)
    order = [place for view in group.views for place in view.places]
    by_block = entries.transpose(order).reshape([len(view.rows) for view in group.views])
    down = []
    for view, axis in zip(group.views, group.axes, strict=True):
        cells = flat([answer_rows(length - 1) for length in view.shape])
        down.append(np.eye(2) if axis.m == 1 else np.vstack([np.eye(1, cells.shape[1]), cells]))
    return replace(group, inner=replace(group.inner, truth=along(by_block, down)))


@every_case
def test_a_projection_is_the_margin_in_any_order(name: str, names: tuple[str, ...]) -> None:
    plan, people = PLANS[name], people_of(name)
    whole = at_truth(plan, names, people, "consistent")
    for kept in {names[:1], names[::-1], names[1:] or names}:
        margin, alone = whole.project(*kept), at_truth(plan, kept, people, "consistent")
        assert margin.names == kept
        for subject in Subject:
            one, other = margin.about(subject), alone.about(subject)
            assert_near(one.mean, other.mean)
            assert_near(one.covariance(), other.covariance())
            assert_near(one.variance, other.variance)
            rows = [np.random.default_rng(3).normal(size=(2, length)) for length in one.mean.shape]
            for found, expected in zip(
                vars(one.groups[0].cumulants(rows, subject)).values(),
                vars(other.groups[0].cumulants(rows, subject)).values(),
                strict=True,
            ):
                assert_near(found, expected)


@every_case
def test_sampling_variances_are_those_of_a_multinomial(name: str, names: tuple[str, ...]) -> None:
    plan, people = PLANS[name], people_of(name)
    (group,) = at_truth(plan, names, people, "consistent").groups
    true = np.array([true_entries(plan, names, person).reshape(-1) for person in people])
    expected = len(people) * np.cov(true.T, bias=True).reshape(true.shape[1], -1)
    rng = np.random.default_rng(5)
    weights = rng.normal(size=group.truth.shape)
    line = weights.reshape(-1)
    assert group.sampling_variance(weights) == pytest.approx(line @ expected @ line)
    rows = [rng.normal(size=(2, length)) for length in group.truth.shape]
    left, right = (reduce(np.multiply.outer, [matrix[k] for matrix in rows]).reshape(-1) for k in (0, 1))
    found = group.sampling_covariance([one[0] for one in rows], [one[1] for one in rows])
    assert float(found) == pytest.approx(left @ expected @ right)


@every_case
def test_at_independence_the_covariance_is_that_of_independent_answers(name: str, names: tuple[str, ...]) -> None:
    """Of somebody drawn at random whose answers are independent of each other, with the margins of these people."""
    plan, people = PLANS[name], people_of(name)
    (group,) = at_truth(plan, names, people, "consistent").groups
    margins = [
        np.bincount([person[k] for person in people], minlength=feature.levels) / len(people)
        for k, feature in enumerate(plan.schema)
    ]
    chances, rows, weights = [], [], block_weights(some_counts(plan, 20), "consistent")
    for person in product(*(range(feature.levels) for feature in plan.schema)):
        own, entries = entry_outcomes(plan, names, person, weights, centred=True)
        chances.append(own * prod(margin[code] for margin, code in zip(margins, person, strict=True)))
        rows.append(entries.reshape(len(own), -1))
    law = np.concatenate(chances), np.concatenate(rows)
    assert_near(group.at_independence(), len(people) * covariance([law]))
    weights = [np.random.default_rng(3).normal(size=(1, length)) for length in group.truth.shape]
    w = reduce(np.multiply.outer, [matrix[0] for matrix in weights]).reshape(-1)
    apart = law[1] @ w - law[0] @ law[1] @ w
    found = group.if_independent(weights)
    expected = len(people) * np.array([law[0] @ apart**2, law[0] @ apart**3])
    assert_near([found.variance.item(), found.third.item()], expected)


# -- blocks of one question --------------------------------------------------------------------------------------------

ALONE = dn.Plan(
    dn.Schema([FLAG, CHOICE, OTHER, PAIR]),
    {
        "a": dn.RandomizedResponse(epsilon=1.0),
        "b": dn.UnaryEncoding.optimized(1.0),
        "c": dn.Public(),
        "d": dn.GRR(epsilon=1.0),
    },
)


def test_a_plan_of_one_question_blocks_is_the_plan_without_blocks() -> None:
    schema = dn.Schema([FLAG, CHOICE, OTHER])
    plain, blocks = (dn.Plan(schema, epsilon=3.0, together=of) for of in ([], [["a"], ["b"], ["c"]]))
    assert plain == blocks
    assert plain.to_json() == blocks.to_json()
    assert dn.estimate(some_counts(plain), ["c", "b"]) == dn.estimate(some_counts(blocks), ["c", "b"])


@pytest.mark.parametrize("names", [("a",), ("b", "a"), ("d", "c", "b")], ids="".join)
@pytest.mark.parametrize("method", METHODS)
def test_the_product_form_over_one_question_blocks_is_that_over_features(names: tuple[str, ...], method: str) -> None:
    """Bit for bit: in the plan's order, and after it is put in another order."""
    counts = some_counts(ALONE, 500)
    order = tuple(sorted(names))
    est = dn.estimate(counts, order, method=method)
    (group,) = est.groups
    parts = block_parts(ALONE, order, centred=method != "unbiased")
    if method == "consistent":
        parts = weighted_parts(parts, counts.array(*order))
    blocks = BlockGroup.from_counts(counts.n, counts.n, parts, counts.array(*order))
    assert type(group) is Group
    axes = [order.index(one) for one in names]
    for one, other in ((blocks, group), (blocks.project(axes), group.project(axes))):
        np.testing.assert_array_equal(one.truth, other.truth)
        rows = [np.random.default_rng(4).normal(size=(2, length)) for length in one.truth.shape]
        for subject in Subject:
            np.testing.assert_allclose(one.dense(subject), other.dense(subject), rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(one.variances(subject), other.variances(subject), rtol=1e-12, atol=1e-9)
            found, expected = one.judged(rows, subject), other.judged(rows, subject)
            for mine, theirs in zip(
                (found.found, *found.references), (expected.found, *expected.references), strict=True
            ):
                for key in vars(mine):
                    np.testing.assert_allclose(getattr(mine, key), getattr(theirs, key), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(found.fixed, expected.fixed)
        np.testing.assert_allclose(one.at_independence(), other.at_independence(), rtol=1e-12, atol=1e-9)


def test_if_some_were_not_asked_the_estimate_is_of_all_about_the_population() -> None:
    name, names = "two blocks", ("c", "a")
    counts = dn.count(reports_of(name), ["c", "a"])
    units = ["a x d", "b x c"]
    some = dn.Counts(PLANS[name], {tuple(units): counts.array(*units)}, n=2 * counts.n)
    all_asked, half = dn.estimate(counts, names).about("population"), dn.estimate(some, names)
    assert (half.n, half.asked, str(half.subject)) == (120, 60, "population")
    np.testing.assert_allclose(half.mean, 2 * all_asked.mean)
    np.testing.assert_allclose(half.covariance(), 4 * all_asked.covariance())
    with pytest.raises(dn.EstimateError, match="only 60 of 120 respondents"):
        half.about("respondents")
