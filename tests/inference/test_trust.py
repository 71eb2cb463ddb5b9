"""The trust rule: it ends where it says, and the documents state it."""

import re
from pathlib import Path

import numpy as np
import pytest

from deniable.inference import exact_binomial, trust
from deniable.inference.trust import known_exactly, trusted
from tests.support.surveys import cumulants_of


def test_trust_ends_where_the_rule_says() -> None:
    good = cumulants_of(100.0)
    edges = {"third": 0.13 * 1000, "with_variance": 0.13 * 1000, "of_variance": 18.0**2, "fourth": 0.09 * 10_000}
    assert trusted(good, good, good)
    for place, looser in ((0, 3.0), (1, 1.5), (2, 1.0)):  # the estimate, its margins, and equally common answers
        for name, edge in edges.items():
            times = looser**2 if name == "of_variance" else looser
            for sign in (1, -1) if name != "of_variance" else (1,):
                for near, allowed in ((0.99, True), (1.01, False)):
                    one = cumulants_of(100.0, **{name: sign * edge * times * near})
                    assert trusted(*(one if k == place else good for k in range(3))) == allowed
        for variance in (-100.0, 0.0):
            assert not trusted(*(cumulants_of(variance) if k == place else good for k in range(3)))


def test_the_rule_is_the_one_the_documents_state() -> None:
    page = (Path(__file__).parents[2] / "docs/explain/estimating.md").read_text(encoding="utf-8")
    for words, most in (
        ("skewness", trust.SKEWNESS),
        ("covariance with the variance", trust.COVARIANCE_WITH_VARIANCE),
        ("variation of the variance", trust.VARIATION_OF_VARIANCE),
        ("kurtosis", trust.KURTOSIS),
    ):
        stated = re.search(rf"^\| {words}.*at most ([0-9.]+)[^|]*\| ([0-9.]+) \| ([0-9.]+) \|$", page, re.M).groups()
        times = (1, trust.WITH_MARGINS, trust.AT_ESTIMATE)
        assert [float(one) for one in stated] == pytest.approx([most * each for each in times])
    assert f"standard error above {exact_binomial.WIDEST:g}" in page
    assert f"at least {trust.FEWEST} respondents" in page


def test_what_is_known_to_be_nobody_or_everybody_is_that_without_rounding() -> None:
    numbers = np.array([1000 * (1 + 4e-16), 1000 * (1 - 4e-16), -1e-14, 1000 * (1 + 4e-16), 1200.0, 500.0])
    variance = np.array([0.0, 1e-20, 0.0, 400.0, 0.0, 0.0])
    assert known_exactly(numbers, variance, 1000).tolist() == [1000, 1000, 0, numbers[3], 1200, 500]
    assert numbers[3] > 1000  # a control: an estimate above all may stand where it is not known
