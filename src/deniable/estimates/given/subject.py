"""Whom an estimate is about: `about` is a method of `Estimate`."""

from dataclasses import replace
from typing import Protocol, TypeVar

from deniable.errors import EstimateError
from deniable.estimates.given.equalities import Condition
from deniable.estimates.interface import AnyEstimate
from deniable.inference.about_whom import checked_subject
from deniable.inference.results import Homogeneity


class _Whole(AnyEstimate, Protocol):
    """What a change of the subject needs to know of an estimate."""

    @property
    def asked(self) -> int:
        """How many respondents were asked these features."""

    @property
    def agreement(self) -> Homogeneity | None:
        """Whether the surveys that were combined agree, if there are several."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What it was conditioned on."""


E = TypeVar("E", bound=_Whole)


def about(est: E, subject: str) -> E:
    """The same estimate about the respondents, or about the population that they were drawn from.

    Parameters
    ----------
    subject
        "respondents" or "population".

    Returns
    -------
    Estimate
        The same mean, with the variance of randomizing alone, or with the sampling variance added.

    Examples
    --------
    >>> est.about("respondents").cell(smoker=True).stderr < est.cell(smoker=True).stderr
    True
    """
    wanted = checked_subject(subject, "an estimate")
    if any(wanted not in group.subjects for group in est.groups):
        if est.agreement is not None:
            raise EstimateError("an estimate from several surveys is about the population")
        if est.asked != est.n:
            raise EstimateError(
                f"only {est.asked:,} of {est.n:,} respondents were asked these features: the estimate is about "
                "the population"
            )
        if not est.conditions:
            raise EstimateError(f"this estimate is about the {est.subject} alone")
        raise EstimateError(
            f"this estimate was conditioned about the {est.subject}; say about({str(wanted)!r}) before given(...)"
        )
    return replace(est, subject=wanted)  # type: ignore[type-var]
