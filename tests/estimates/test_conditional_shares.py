"""Conditional shares of a whole table are found all at once: they are those that each has by itself."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import ratios_of_shares
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.interface import linear_groups
from deniable.estimates.ratios_of_shares import ratio_of
from deniable.inference.ratio_questions import CONDITIONAL

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Choice("c", ["1", "2", "3", "4"])])
OF = dn.simulate.truth(
    SCHEMA,
    [
        (0.6, {"a": 0.3, "b": [0.2, 0.3, 0.5], "c": [0.1, 0.2, 0.3, 0.4]}),
        (0.4, {"a": 0.7, "b": [0.6, 0.3, 0.1], "c": [0.4, 0.4, 0.1, 0.1]}),
    ],
)
PLANS = {
    "apart": dn.Plan(SCHEMA, epsilon=6.0),
    "unequal": dn.Plan(
        SCHEMA,
        {
            "a": dn.RandomizedResponse(p=0.1, q=0.8),
            "b": dn.UnaryEncoding.optimized(2.0),
            "c": dn.SubsetSelection(epsilon=3.0),
        },
    ),
    "public": dn.Plan(SCHEMA, {"a": dn.RandomizedResponse(epsilon=1.0), "b": dn.Public(), "c": dn.GRR(epsilon=3.0)}),
    "blocks": dn.Plan(SCHEMA, epsilon=5.0, together=[["c", "a"], ["b"]]),
    "arms": dn.Plan(SCHEMA, epsilon=4.0, arms=[["a", "b", "c"], ["a", "b"], [["c"], ["b"]]]),
}
SURVEYS = {(name, n): dn.simulate.counts(OF, plan, np.random.default_rng(n), n=n)
           for name, plan in PLANS.items() for n in (300, 20_000)}  # fmt: skip


def one_by_one(est: dn.Estimate, what: str, given: list[str]) -> np.ndarray:
    """Proportion, standard error, low and high of each cell, asked for alone."""
    est = est.project(*given, what)
    rows, found = all_answers(est.features), []
    for cell in product(*rows):
        among = [*cell[:-1], np.eye(1, len(cell[-1]))[0]]
        ratio = ratio_of(CONDITIONAL, linear_groups(est), [cell, among], est.subject)
        ends = ratio.distribution.limits(0.9, 0, 1) if ratio.enough else (np.nan, np.nan)
        found.append((ratio.distribution.value, ratio.distribution.stderr, *ends))
    return np.array(found, np.float64).T


def at_once(est: dn.Estimate, what: str, given: list[str]) -> np.ndarray:
    """The same numbers of all cells, from the table of them."""
    table = est.conditional(what, given=given, level=0.9)
    return np.array([table[name].to_numpy(zero_copy_only=False) for name in ("proportion", "stderr", "low", "high")])


@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize(("name", "n"), SURVEYS)
def test_conditional_shares_of_a_table_are_those_of_each_cell(
    name: str, n: int, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    est = dn.estimate(SURVEYS[name, n], ["a", "b", "c"]).about(subject)
    for one in (est, est + replace(est, sources={}), est.given({"c": {"1": 0.22}})):
        for what, given in (("a", ["b"]), ("b", ["c", "a"])):
            expected = one_by_one(one, what, given)
            np.testing.assert_allclose(at_once(one, what, given), expected, rtol=1e-9, atol=1e-12)
            monkeypatch.setattr(ratios_of_shares, "MOST_NUMBERS", 1)  # a row of the first feature at a time
            np.testing.assert_allclose(at_once(one, what, given), expected, rtol=1e-9, atol=1e-12)
            monkeypatch.undo()


def test_some_of_these_conditional_shares_are_refused_and_most_are_not() -> None:
    """The comparison above is of intervals, too."""
    tables = [dn.estimate(counts, SCHEMA.names).conditional("a", given=["b", "c"]) for counts in SURVEYS.values()]
    ends = [table["low"].to_pylist() for table in tables]
    refused = np.isnan(np.concatenate(ends))
    assert 0 < refused.mean() < 0.5
