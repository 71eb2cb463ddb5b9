"""Every form of an estimate answers one interface; estimates pickle, copy and compare equal; not all need be asked."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.dense_respondent_group import DenseGroup, LikelihoodGroup
from deniable.estimates.interface import Respondents, same
from deniable.estimates.respondent_group import Group, judge
from deniable.inference.about_whom import Subject
from deniable.inference.tensors import answer_rows, flat
from deniable.simulate import reports as simulated
from deniable.simulate import truth

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c")])
PLAN = dn.Plan(
    SCHEMA,
    {
        "a": dn.RandomizedResponse(epsilon=2.0),
        "b": dn.UnaryEncoding.optimized(2.0),
        "c": dn.RandomizedResponse(p=0.2, q=0.7),
    },
)
OF = truth(
    SCHEMA, [(0.5, {"a": 0.3, "b": [0.2, 0.3, 0.5], "c": 0.4}), (0.5, {"a": 0.6, "b": [0.5, 0.3, 0.2], "c": 0.7})]
)
REPORTS = simulated(OF, PLAN, 4000, np.random.default_rng(1))
COUNTS = dn.count(REPORTS, SCHEMA.names)


def every() -> dict[str, dn.Estimate]:
    """An estimate of each form."""
    plain, feasible = (dn.estimate(COUNTS, ["a", "b"], method=method) for method in ("consistent", "feasible"))
    return {
        "consistent": plain,
        "respondents": plain.about("respondents"),
        "unbiased": dn.estimate(COUNTS, ["a", "b"], method="unbiased"),
        "feasible": feasible,
        "feasible given": feasible.given({"a": {True: 0.45}}),
        "conditioned": plain.given({"b": {"x": 0.35}}),
        "maximum likelihood": dn.maximum_likelihood(REPORTS, ["a", "b"]),
        "sum": plain + dn.estimate(COUNTS.of_sources({}), ["a", "b"]),
        "projected": plain.project("b"),
    }


EVERY = every()
MEMBERS = [name for name in vars(Respondents) if not name.startswith("_")]


@pytest.mark.parametrize("name", EVERY)
def test_each_form_answers_the_whole_interface_and_its_parts_agree(name: str) -> None:
    est = EVERY[name]
    rng = np.random.default_rng(2)
    for group in est.groups:
        assert not [member for member in MEMBERS if member != "axes" and not hasattr(group, member)]
        assert group.n == group.asked == round(float(group.truth.flat[0]))
        assert est.subject in group.subjects
        dense = group.dense(est.subject)
        assert dense.shape == (group.truth.size,) * 2
        left, right = ([rng.normal(size=size) for size in group.truth.shape] for _ in range(2))
        both = group.covariance(left, right, est.subject)
        assert float(both) == pytest.approx(float(flat(left) @ dense @ flat(right)))
        if not isinstance(group, LikelihoodGroup):  # near a bound the variance is another
            np.testing.assert_allclose(group.variances(est.subject).reshape(-1), np.diagonal(dense), atol=1e-8)
        rows = [answer_rows(size - 1) for size in group.truth.shape]
        found, enough = judge([group], rows, est.subject)
        assert found.mean.shape == found.variance.shape == enough.shape == tuple(map(len, rows))
        sampling = group.sampling_covariance(left, left)
        weights = flat(left).reshape(group.truth.shape)
        if group.adds_up:
            assert float(sampling) == pytest.approx(group.sampling_variance(weights))
        assert all(isinstance(one.axes, tuple) for one in group.linear if isinstance(one, Group))
        if isinstance(group, DenseGroup):
            with pytest.raises(dn.EstimateError, match="ask before given"):
                _ = group.axes


@pytest.mark.parametrize("name", EVERY)
def test_estimates_pickle_and_copy_and_compare_equal_also_with_cached_properties(name: str) -> None:
    est = EVERY[name]
    _ = est.mean, est.variance
    for again in (pickle.loads(pickle.dumps(est)), copy.deepcopy(est), copy.copy(est)):
        assert again == est
        assert "mean" not in vars(again)  # what was cached is not carried along
        np.testing.assert_array_equal(again.mean, est.mean)
        np.testing.assert_array_equal(again.variance, est.variance)
        assert again.table().equals(est.table())
        assert repr(again) == repr(est)


def test_different_estimates_are_not_equal() -> None:
    for name, est in EVERY.items():
        assert [other for other, one in EVERY.items() if one == est] == [name]
    est = EVERY["consistent"]
    assert est != "consistent"
    assert est == dn.estimate(COUNTS, ["a", "b"])
    assert est != dn.estimate(COUNTS, ["b", "a"])
    others = dn.count(simulated(OF, PLAN, 4000, np.random.default_rng(2)), SCHEMA.names)
    for method in ("consistent", "unbiased", "feasible"):  # the same in all but the numbers
        assert dn.estimate(others, ["a", "b"], method=method) != dn.estimate(COUNTS, ["a", "b"], method=method)
    with pytest.raises(TypeError, match="unhashable"):
        hash(est)
    assert same({"a": (np.array([1.0, np.nan]),)}, {"a": (np.array([1.0, np.nan]),)})
    assert not same({"a": 1}, {"b": 1})
    assert not same((1, 2), (1,))
    assert not same(np.zeros(2), [0.0, 0.0])


def test_an_estimate_says_which_estimators_its_mean_and_its_intervals_are_of() -> None:
    for name, (mean, intervals) in {
        "consistent": ("consistent", "consistent"),
        "unbiased": ("unbiased", "unbiased"),
        "feasible": ("feasible", "consistent"),
        "maximum likelihood": ("maximum likelihood", "observed information"),
    }.items():
        est = EVERY[name]
        assert (est.mean_from, est.intervals_from) == (mean, intervals)
        assert (intervals in repr(est)) == (name != "unbiased" or mean in repr(est))
        assert ("intervals from" in repr(est)) == (mean != intervals)


def test_the_subject_is_an_enum_and_its_names_stay_texts() -> None:
    est = EVERY["consistent"]
    assert est.subject == "population"
    assert est.subject is Subject.POPULATION
    assert est.about("respondents").subject is Subject.RESPONDENTS
    assert est.about("population").subject == "population"
    assert f"{est.about(Subject.POPULATION).subject}" == "population"
    assert est.about("population").cell(a=True).subject == "population"
    assert dn.regress(COUNTS, "a", on=["b"]).subject == "population"
    for wrong in ("people", None, 1, ["population"]):
        with pytest.raises(dn.EstimateError, match='is about "respondents" or the "population"'):
            est.about(wrong)  # type: ignore[arg-type]


def some_asked(counts: dn.Counts) -> dn.Counts:
    """The same counts, of 4 000 among 10 000 respondents."""
    made = dn.Counts(counts.plan, counts.tables, n=10_000, moments=counts.moments, patterns=counts.patterns)
    assert (made.n, made.asked("a", "b")) == (10_000, 4000)
    return made


@pytest.mark.parametrize("method", ["consistent", "unbiased", "feasible"])
def test_proportions_are_of_those_who_were_asked(method: str) -> None:
    """As if each of these 4 000 respondents were one of 2.5, of whom only one was asked."""
    names = ["a", "b"]
    all_asked = dn.estimate(COUNTS, names, method=method).about("population")
    est = dn.estimate(some_asked(COUNTS), names, method=method)
    assert (est.n, est.asked, est.subject) == (10_000, 4000, "population")
    assert est.mean.flat[0] == pytest.approx(10_000)
    assert est.project("a").asked == 4000
    assert (est + replace(est, sources={})).n == 20_000
    with pytest.raises(dn.EstimateError, match="only 4,000 of 10,000 respondents were asked"):
        est.about("respondents")
    np.testing.assert_allclose(est.mean, 2.5 * all_asked.mean)
    np.testing.assert_allclose(est.variance, 2.5**2 * all_asked.variance)
    np.testing.assert_allclose(est.covariance(), 2.5**2 * all_asked.covariance(), atol=1e-8)
    for one, other in ((est, all_asked), (est.project("a"), all_asked.project("a"))):
        for theirs, ours in zip(other.table().to_pylist(), one.table().to_pylist(), strict=True):
            assert ours == pytest.approx(theirs)
    for ask in (
        lambda e: e.cell(a=True),
        lambda e: e.cell(a=True, b="x"),
        lambda e: e.difference("a", between=("b", "x", "z")),
        lambda e: e.correlation("a", ("b", "z")),
    ):
        ours, theirs = ask(est), ask(all_asked)
        assert (ours.value, ours.stderr) == pytest.approx((theirs.value, theirs.stderr))
        assert ours.confidence_interval() == pytest.approx(theirs.confidence_interval())
        assert ours.effective_n == pytest.approx(theirs.effective_n)
    if method != "unbiased":
        assert est.association("a", "b").cramers_v.stderr == pytest.approx(
            all_asked.association("a", "b").cramers_v.stderr
        )
        assert est.independence("a", "b").p_value == pytest.approx(all_asked.independence("a", "b").p_value)
    known = [one.given({"b": {"x": 0.35}}) for one in (est, all_asked)]
    assert known[0].asked == 4000
    assert known[0].cell(a=True).stderr == pytest.approx(known[1].cell(a=True).stderr)


def test_pairs_are_ranked_by_those_who_were_asked() -> None:
    before = dn.associations(COUNTS).to_pylist()
    for ours, theirs in zip(dn.associations(some_asked(COUNTS)).to_pylist(), before, strict=True):
        assert ours == pytest.approx(theirs)
