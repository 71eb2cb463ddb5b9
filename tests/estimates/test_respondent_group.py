"""How often intervals of groups of respondents hold the truth where they are given, with controls that must fail."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.respondent_group import Group, judge, nearly_normal
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import row_functions
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import along, margins
from deniable.inference.trust import trusted
from tests.support.many_surveys import Setting, cells_of, coverage, plan_for, respondents, surveys, weights_of
from tests.support.surveys import cumulants_of


def test_equally_common_answers_are_those_of_an_even_table() -> None:
    for plan, levels in ((plan_for("mixed", 3, 1.0), (3, 2, 4)), (plan_for("flags", 2, 1.0), (2, 2))):
        axes = tuple(Axis.of(protocol, centred=True) for protocol in plan.protocols)
        table = along(np.full(levels, 600 / np.prod(levels)), [margins(axis.m) for axis in axes])
        rows = weights_of(axes, [0] * len(levels))
        for subject in Subject:
            even = Group(600, axes, np.zeros_like(table)).even(rows, subject)
            for field, wanted in vars(Group(600, axes, table).cumulants(rows, subject)).items():
                np.testing.assert_allclose(getattr(even, field), wanted, rtol=1e-10)


CORNER = [
    Setting("flags", 1, 0.5, 1_000, "respondents"),
    Setting("GRR", 1, 2.0, 1_000, "population"),
    Setting("unary", 1, 1.0, 1_000, "respondents"),
    Setting("flags", 2, 4.0, 1_000, "population"),
    Setting("GRR", 2, 2.0, 10_000, "respondents"),
    Setting("unary", 2, 1.0, 1_000, "population"),
    Setting("unary", 1, 6.0, 10_000, "population", "rare"),
    Setting("unary", 1, 4.0, 10_000, "respondents", "rare"),
    Setting("unary", 2, 3.0, 10_000, "respondents", "rare"),
    Setting("unary", 2, 4.0, 10_000, "population", "together"),
    Setting("subsets", 1, 1.0, 1_000, "respondents"),
    Setting("subsets", 2, 1.0, 10_000, "population"),
    Setting("mixed", 3, 1.0, 10_000, "respondents"),
    Setting("flags, q = 1/2", 3, 1.0, 10_000, "population"),
    Setting("mixed", 4, 4.0, 100_000, "population"),
    Setting("GRR", 3, 4.0, 10_000, "population", "together"),
    Setting("flags", 2, 2.0, 1_000, "population", "rare"),
]
SURVEYS = 4_000
SLACK = 4 * sqrt(0.05 * 0.95 / SURVEYS) - 0.01  # what chance may add to the one per cent that is allowed


@pytest.mark.parametrize("setting", CORNER, ids=str)
def test_intervals_cover_where_they_claim_to(setting: Setting) -> None:
    claimed = [one for one, _ in coverage(setting, SURVEYS, np.random.default_rng(1)) if one.claimed > 0.95]
    assert claimed
    for one in claimed:  # an empty cell, whose estimate varies in few steps, may be held more often than that
        assert one.in_range(SLACK) or (one.truth == 0 and one.covered > 0.95 and one.below < 0.035), claimed


def test_what_the_plan_and_the_size_say_is_asked_first() -> None:
    """With the margins and at the estimate this one would pass in more than half of the surveys."""
    setting, rng = Setting("flags", 3, 4.0, 200, "population"), np.random.default_rng(1)
    many = surveys(setting, respondents(setting, 300, rng), rng)
    axes, rows = many.axes, weights_of(many.axes, (0, 0, 1))
    group = Group(200, axes, many.estimates)
    found, functions = group.cumulants(rows, Subject.POPULATION), row_functions(axes, rows, Subject.POPULATION)
    independent, even = group.independent(functions), group.even(rows, Subject.POPULATION)
    assert trusted(found, independent, cumulants_of(1.0)).mean() > 0.5
    assert not trusted(found, independent, even).any()
    assert not nearly_normal([group], rows, Subject.POPULATION).any()
    assert judge([group], rows, Subject.POPULATION)[1].all()  # its score interval does not need it


def test_intervals_about_the_respondents_do_not_cover_the_population() -> None:
    """The control: at high epsilon nearly all uncertainty is sampling."""
    setting = Setting("flags", 2, 4.0, 1_000, "population")
    rng = np.random.default_rng(1)
    many = surveys(setting, respondents(setting, 1000, rng), rng)
    wrong = replace(many, setting=Setting("flags", 2, 4.0, 1_000, "respondents"))
    for cell in cells_of(many.shares):
        low, high, _ = wrong.limits(cell)
        assert ((low <= many.truth(cell)) & (many.truth(cell) <= high)).mean() < 0.8


def test_too_few_reports_are_not_answered() -> None:
    for setting in (Setting("GRR", 4, 0.5, 1_000, "population"), Setting("unary", 4, 1.0, 1_000, "respondents")):
        assert all(one.claimed < 0.05 for one, _ in coverage(setting, 300, np.random.default_rng(1)))


@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("kind", ["flags", "GRR", "mixed"])
def test_surveys_made_at_once_are_those_of_the_library(kind: str, subject: str) -> None:
    """The benchmark's quick way to many intervals, and `estimate`, `cell` and `table` one survey at a time."""
    for order in (1, 2):
        setting, rng = Setting(kind, order, 2.0, 1_000, subject), np.random.default_rng(1)
        many = surveys(setting, respondents(setting, 3, rng), rng)
        names = many.plan.schema.names
        for k in range(3):
            counts = many.counts(k)
            est = dn.estimate(counts, names).about(subject)
            rows = est.table().to_pylist()
            for cell in cells_of(many.shares):
                low, high, claims = (each[k] for each in many.limits(cell))
                row = rows[np.ravel_multi_index(cell, many.shares.shape)]
                answer = est.cell({name: row[name] for name in names})
                expected = (low / 1000, high / 1000) if claims else (np.nan, np.nan)
                assert answer.confidence_interval() == pytest.approx(expected, nan_ok=True)
                assert (row["low"], row["high"]) == pytest.approx(expected, nan_ok=True)
                assert answer.enough == claims
