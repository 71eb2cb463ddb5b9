"""Conditional shares: tables of them, or one of certain answers given certain others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, overload

from deniable.errors import EstimateError, abbreviated
from deniable.estimates import ratios_of_shares
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answers_as_weights import feature_named, indicator, names_of
from deniable.estimates.interface import AnyEstimate
from deniable.inference.ratio_questions import CONDITIONAL
from deniable.inference.results import Answer, JointAnswer
from deniable.tables.table import Table

Given = str | Sequence[Any] | Mapping[str, Any]


@overload
def conditional(est: AnyEstimate | Among, what: str, *, given: Given, level: float = 0.95) -> Table: ...
@overload
def conditional(est: AnyEstimate | Among, what: tuple[str, Any], *, given: Given) -> JointAnswer | Answer: ...
def conditional(
    est: AnyEstimate | Among, what: str | tuple[str, Any], *, given: Given, level: float = 0.95
) -> Table | JointAnswer | Answer:
    """Conditional proportions P(what | given) with Fieller intervals: a feature's answers among those with each answer.

    Parameters
    ----------
    what
        The feature whose answers' shares are asked for; or one answer or several, such as `("age", "65+")`.
    given
        One or more other features, for the shares among those with each combination of their answers. Or answers, for
        the shares among those who gave them: `("age", ["18-29", "30-44"])`, or of several features
        `{"age": "65+", "sex": "female"}`.
    level
        The confidence level of a table's intervals.

    Returns
    -------
    Table, JointAnswer or Answer
        A row for each combination of answers: the features given, `what`, proportion, stderr, low and high. `low` and
        `high` are nan where there are not enough reports. Where one share is asked for, that share; it is an Answer if
        all answers are given, and so everybody.

    Examples
    --------
    >>> row = est.conditional("smoker", given="age").to_pylist()[1]
    >>> row["age"], row["smoker"], round(row["proportion"], 3)
    ('18-29', True, 0.382)
    >>> round(est.conditional(("smoker", True), given=("age", ["18-29", "30-44"])).value, 3)
    0.343
    """
    here = est if isinstance(est, Among) else Among(est, {}, names_of(est.features))
    answers = _answers_given(here.est, given)
    if answers is None:
        if not isinstance(what, str):
            told = 'conditional of certain answers is given answers, too: given=("age", ["18-29", "30-44"])'
            raise EstimateError(f"{told}; found {abbreviated(given)}")
        of: Any = here.each_given if isinstance(est, Among) else partial(ratios_of_shares.conditional, est)
        return of(what, given=given, level=level)  # type: ignore[no-any-return]
    name, vector = (what, None) if isinstance(what, str) else indicator(here.est.features, what)[:2]
    feature_named(here.est.features, name)
    if name in answers:
        raise EstimateError(f"conditional takes different features; found {abbreviated(name)} twice")
    for other, own in answers.items():
        here = here.among(other, own)
    if vector is None:
        return replace(here, shown=(name,)).table(level=level)
    if not here.kept:  # all answers are given: everybody
        return here.cell({name: True if isinstance(what, str) else what[1]})
    return here.of(CONDITIONAL, [{name: vector}, {}])


def _answers_given(est: AnyEstimate, given: Any) -> Mapping[str, Any] | None:
    """The answers that are given, by feature; nothing if features are. A name that could be either is a feature's."""
    if isinstance(given, Mapping):
        if not given:
            raise EstimateError("conditional takes one or more features that are given; found none")
        return given
    names = names_of(est.features)
    if not isinstance(given, list | tuple) or len(given) != 2 or given[0] not in names:
        return None
    name, own = given
    if isinstance(own, str) and (own in names or own not in feature_named(est.features, name).answers):
        return None
    return {name: own}
