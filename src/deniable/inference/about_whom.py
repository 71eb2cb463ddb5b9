"""Whom an estimate is about: the respondents themselves, or the population that they were drawn from."""

from enum import StrEnum

from deniable.errors import EstimateError, abbreviated


class Subject(StrEnum):
    """Whom an estimate is about, which decides what its variance holds.

    About the respondents it is the variance of randomizing alone; about the population the sampling variance is added.
    """

    RESPONDENTS = "respondents"
    POPULATION = "population"

    def __repr__(self) -> str:
        return repr(self.value)


def checked_subject(about: object, what: str) -> Subject:
    """The subject that a text names, or an error that says what can be asked about."""
    if about not in tuple(Subject):
        raise EstimateError(f'{what} is about "respondents" or the "population"; found {abbreviated(about)}')
    return Subject(str(about))
