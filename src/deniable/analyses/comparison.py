"""Two estimates of different respondents, cell by cell: what has changed, or differs."""

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import all_answers, tidy
from deniable.estimates.designs.crafted_reports import influence, influence_in_one_survey
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondent_group import judge
from deniable.files import joined_sources
from deniable.inference.intervals import checked_level, limits
from deniable.inference.tensors import along
from deniable.survey.blocks import TIMES
from deniable.tables.table import CHANGES, About, Table


def compare(before: Estimate, after: Estimate, *, level: float = 0.95) -> Table:
    """The differences of all proportions between two surveys of different respondents, with confidence intervals.

    Parameters
    ----------
    before, after
        Estimates of the same features and about the same subject; plans and epsilons may differ.
    level
        The confidence level of the intervals.

    Returns
    -------
    Table
        A row for each combination of answers: the features, before, after, difference, stderr, low and high. `low` and
        `high` are nan where one of the two has not enough reports.

    Examples
    --------
    >>> later = dn.simulate.counts(of, plan, np.random.default_rng(2), n=30_000)
    >>> dn.compare(est, dn.estimate(later, ["smoker", "age"])).column_names
    ['smoker', 'age', 'before', 'after', 'difference', 'stderr', 'low', 'high']
    """
    for est in (before, after):
        if not isinstance(est, Estimate):
            raise EstimateError(
                "compare takes two estimates, dn.compare(dn.estimate(before, names), dn.estimate(after, names)); "
                f"found {abbreviated(est)}"
            )
    if before is after:
        raise EstimateError("compare takes estimates of different respondents; found the same one twice")
    joined_sources(
        before.sources, after.sources, EstimateError, "compare takes estimates of different respondents; these"
    )
    if before.features != after.features or before.subject != after.subject:
        raise EstimateError(
            "compare takes estimates of the same features and values, in the same order, about the same people; "
            f"found {abbreviated(before)} and {after!r}"
        )
    level, rows = checked_level(level), all_answers(before.features)
    (found, enough), (other, also) = (judge(est.groups, rows, est.subject) for est in (before, after))
    both = found.scaled(-1 / before.n) + other.scaled(1 / after.n)
    low, high = (np.where(enough & also, end, np.nan) for end in limits(both, level))
    first, second = (along(est.truth, rows) / est.n for est in (before, after))
    difference = second - first
    numbers = {
        "before": first,
        "after": second,
        "difference": difference,
        "stderr": np.sqrt(np.where(both.variance >= 0, both.variance, np.nan)),
        "low": np.minimum(low, difference),  # that of proper tables may be outside
        "high": np.maximum(high, difference),
    }
    title, reports = f"{TIMES.join(before.names)}, after less before", before.asked + after.asked
    everybody = before.n + after.n
    crafted = influence_in_one_survey([(influence(est.groups, rows), est.n) for est in (before, after)])
    about = About(title, CHANGES, before.subject, level, reports, respondents=everybody, influence=crafted)
    return tidy(before.features, numbers, about, "the comparison")
