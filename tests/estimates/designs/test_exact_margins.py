"""Exact binomial intervals are of questions that are asked alone: a margin of a block is a sum of several columns."""

import numpy as np
import pytest

import deniable as dn
from deniable.inference.intervals import limits
from tests.support.situations import values

PROTOCOLS = {"GRR": dn.GRR(epsilon=1.0), "subsets": dn.SubsetSelection(epsilon=1.0, size=2)}


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
def test_one_choice_of_a_block_has_the_interval_of_its_own_noise(protocol: dn.GRR | dn.SubsetSelection) -> None:
    """Estimated by itself, it has the interval that it has as a margin of the block's table."""
    schema = dn.Schema([dn.Choice("age", values(3)), dn.Flag("smoker")])
    plan = dn.Plan(schema, {("age", "smoker"): protocol})
    of = dn.simulate.truth(schema, {"age": [0.5, 0.3, 0.2], "smoker": 0.3})
    counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=20_000)
    alone, both = dn.estimate(counts, ["age"]), dn.estimate(counts, ["age", "smoker"])
    for age in values(3):
        answer = alone.cell(age=age)
        assert answer.exact is None
        expected = tuple(float(end) / 20_000 for end in limits(answer.found, 0.95))
        assert answer.confidence_interval() == pytest.approx(expected)
        assert answer.confidence_interval() == pytest.approx(both.cell(age=age).confidence_interval())
        assert answer.confidence_interval() == pytest.approx(both.project("age").cell(age=age).confidence_interval())
    rows = alone.table().to_pylist()
    assert [row["low"] for row in rows] == pytest.approx(
        [alone.cell(age=v).confidence_interval()[0] for v in values(3)]
    )


def test_a_choice_asked_alone_beside_a_block_keeps_its_exact_interval() -> None:
    schema = dn.Schema([dn.Choice("age", values(3)), dn.Flag("a"), dn.Flag("b")])
    protocols = {"age": dn.GRR(epsilon=1.0), ("a", "b"): dn.GRR(epsilon=1.0)}
    of = dn.simulate.truth(schema, {"age": [0.5, 0.3, 0.2], "a": 0.3, "b": 0.4})
    counts = dn.simulate.counts(of, dn.Plan(schema, protocols), np.random.default_rng(1), n=5_000)
    alone, beside = dn.estimate(counts, ["age"]), dn.estimate(counts, ["a", "age"])
    assert alone.cell(age="v0").exact is not None
    assert beside.cell(age="v0").exact == alone.cell(age="v0").exact
    assert beside.cell(age="v0", a=True).exact is None
