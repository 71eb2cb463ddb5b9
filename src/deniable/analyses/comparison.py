"""Two estimates of different respondents, cell by cell: what has changed, or differs.

About the population, the interval of a difference is recovered from those of the two shares (MOVER, `contrasts`).
Cumulants that add would not do where a cell has few respondents: the covariances of the two estimates with their own
variances, which say that more people vary more, cancel in a difference, and a normal interval is left. About the
respondents they do: there the noise of the two surveys is all that varies, and its cumulants are known.
"""

from dataclasses import replace
from itertools import product
from math import hypot, isnan, nan

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.different_answers import different_answers
from deniable.estimates.answers_as_weights import all_answers, feature_named, in_a_column, names_of, tidy
from deniable.estimates.designs.crafted_reports import influence, influence_in_one_survey
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondent_group import judge
from deniable.estimates.weighted_sums import ends_of_cells
from deniable.files import joined_sources
from deniable.inference.about_whom import Subject
from deniable.inference.contrasts import recovered, recovered_difference
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import checked_level, limits
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along
from deniable.survey.blocks import TIMES
from deniable.tables.table import CHANGES, About, Column, Table


def compare(before: Estimate | Among, after: Estimate | Among, *, level: float = 0.95) -> Table:
    """The differences of all proportions between two surveys of different respondents, with confidence intervals.

    Parameters
    ----------
    before, after
        Estimates of the same features and about the same subject; plans and epsilons may differ. Either may be among
        those who gave certain answers, `est.among("smoker", [True, False])`.
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
    if before is after:
        raise EstimateError("compare takes estimates of different respondents; found the same one twice")
    one, other = _behind(before), _behind(after)
    joined_sources(one.sources, other.sources, EstimateError, "compare takes estimates of different respondents; these")
    if one.subject != other.subject:
        raise EstimateError(
            "compare takes estimates of the same features and about the same people; found one about the "
            f"{one.subject} and one about the {other.subject}: about(...) changes that"
        )
    level = checked_level(level)
    if isinstance(before, Estimate) and isinstance(after, Estimate):
        _check_alike(_among_all(before), _among_all(after), same=before.features == after.features)
        return _of_everybody(before, after, level)
    first, second = (each if isinstance(each, Among) else _among_all(each) for each in (before, after))
    _check_alike(first, second)
    return _among(first, second, level)


def _of_everybody(before: Estimate, after: Estimate, level: float) -> Table:
    """Two estimates of everybody, whose covariances add."""
    rows = all_answers(before.features)
    (found, enough), (other, also) = (judge(est.groups, rows, est.subject) for est in (before, after))
    both = found.scaled(-1 / before.n) + other.scaled(1 / after.n)
    if before.subject is Subject.POPULATION:
        ends = recovered_difference(*(_shares(*each, level) for each in ((before, found), (after, other))))
    else:
        ends = limits(both, level)
    low, high = (np.where(enough & also, end, np.nan) for end in ends)
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
    crafted = [(influence(est.groups, rows), est.n) for est in (before, after)]
    return tidy(before.features, numbers, _about(before, after, level, crafted), "the comparison")


def _shares(est: Estimate, found: Cumulants, level: float) -> list[Array]:
    """The shares of all cells that intervals are about, and the lower and upper ends of these."""
    return [each / est.n for each in (found.mean, *ends_of_cells(est, all_answers(est.features), found, level))]


def _among(before: Among, after: Among, level: float) -> Table:
    """Two estimates among those with certain answers: ratios, the intervals of whose differences come from both."""
    cells = list(product(*([one.answers[place] for place in before.answers(one)] for one in before.features)))
    names, rows, moved = names_of(before.features), [], []
    for cell in cells:
        found = [each.cell(dict(zip(names, cell, strict=True))) for each in (before, after)]
        values, errors = np.array([one.value for one in found]), [one.stderr for one in found]
        low, high = zip(*(one.confidence_interval(level) for one in found), strict=True)
        ends = recovered(values, np.array([-1.0, 1.0]), np.eye(2), (np.array(low), np.array(high)))
        rows.append((*values, values[1] - values[0], hypot(*errors), *ends))
        moved.append([one.influence for one in found])
    numbers = dict(zip(("before", "after", "difference", "stderr", "low", "high"), np.array(rows).T, strict=True))
    if taken := set(names) & set(numbers):
        raise EstimateError(f"the comparison has a column called {min(taken)!r} of its own; rename that feature")
    one, other = _behind(before), _behind(after)
    most = [max((own for own in each if not isnan(own)), default=nan) for each in zip(*moved, strict=True)]
    labelled = zip(before.features, zip(*cells, strict=True), strict=True)
    columns: dict[str, Column] = {feature.name: in_a_column(feature, own) for feature, own in labelled}
    crafted = [(most[0], one.n), (most[1], other.n)]
    about = _about(one, other, level, crafted, names, before.who or after.who)
    about = replace(about, reports=before.asked_of(names) + after.asked_of(names))
    return Table(columns | numbers, names, about, tuple(before.features))


def _about(
    before: Estimate,
    after: Estimate,
    level: float,
    moved: list[tuple[float, int]],
    names: tuple[str, ...] | None = None,
    among: str = "",
) -> About:
    """What a comparison is about."""
    title = f"{TIMES.join(names or before.names)}, after less before"
    reports, everybody, crafted = before.asked + after.asked, before.n + after.n, influence_in_one_survey(moved)
    return About(title, CHANGES, before.subject, level, reports, respondents=everybody, influence=crafted, among=among)


def _behind(est: Estimate | Among) -> Estimate:
    """The estimate of everybody behind one that may be among some."""
    found = est.est if isinstance(est, Among) else est
    if not isinstance(found, Estimate):
        raise EstimateError(
            "compare takes two estimates, dn.compare(dn.estimate(before, names), dn.estimate(after, names)); "
            f"found {abbreviated(found)}"
        )
    return found


def _among_all(est: Estimate) -> Among:
    return Among(est, {}, est.names)


def _check_alike(before: Among, after: Among, *, same: bool = True) -> None:
    """Refuse estimates of other features, or of the same ones with other answers: which these are."""
    if names_of(before.features) != names_of(after.features):
        raise EstimateError(
            "compare takes estimates of the same features, in the same order, as project(...) makes them; found "
            f"{TIMES.join(names_of(before.features))} and {TIMES.join(names_of(after.features))}"
        )
    for one in before.features:
        other = feature_named(after.features, one.name)
        left = [[each.answers[place] for place in whom.answers(each)] for whom, each in ((before, one), (after, other))]
        if left[0] != left[1] or (not same and one != other):
            what = different_answers(
                one.name,
                left,
                [one.missing, other.missing],
                "To compare them, {}; in the shell, --answered leaves missing answers out",
            )
            raise EstimateError(f"compare takes estimates of the same features and values: {what}")
