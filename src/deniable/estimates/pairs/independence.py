"""Wald's test of independence of two features, for one pair or for many."""

from collections.abc import Sequence

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.interface import Respondents, total
from deniable.inference.about_whom import Subject
from deniable.inference.association import WaldTest, stratified, wald
from deniable.inference.cumulants import NOTHING
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, sandwich
from deniable.inference.trust import AT_ESTIMATE, least_scale


def wald_test(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> WaldTest:
    """Wald's test of independence of two features, with the covariance at the table of independent answers.

    About the respondents, that is less the sampling covariance: their own table is asked about.
    """
    n = sum(group.n for group in groups)
    shares = total([along(group.truth, rows) for group in groups]) / n
    covariance = sandwich(rows, total([group.at_independence() for group in groups])) / n**2
    if subject is Subject.RESPONDENTS:
        cells = (shares.sum(axis=-1, keepdims=True) * shares.sum(axis=-2, keepdims=True)).reshape(covariance.shape[:-1])
        sampling = cells[..., None] * (np.eye(cells.shape[-1]) - cells[..., None, :])
        covariance = covariance - sampling / n
    return wald(shares, covariance)


def wald_test_if_any(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> WaldTest | None:
    """Wald's test of independence; None if something is known beforehand, so that there is none."""
    try:
        return wald_test(groups, rows, subject)
    except EstimateError:
        return None


def stratified_test(groups: Sequence[Respondents], rows: Sequence[Array]) -> WaldTest:
    """Wald's test of independence about the population of each group; of one group, that of `wald_test`."""
    if len(groups) == 1:
        return wald_test(groups, rows, Subject.POPULATION)
    tables = [
        (float(group.n), along(group.truth, rows) / group.n, sandwich(rows, group.at_independence()) / group.n**2)
        for group in groups
    ]
    return stratified(tables)


def testable_scale(groups: Sequence[Respondents], rows: Sequence[Array]) -> float:
    """How many times as many respondents there would have to be, at the same margins, for a test to be trusted."""
    independent = sum((group.if_independent(rows) for group in groups), start=NOTHING)
    return float(least_scale(independent, AT_ESTIMATE).max())
