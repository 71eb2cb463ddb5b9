"""What questions name: answers, groups of answers and scores, by the schema of the file that they are asked of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.cli.options import names_of
from deniable.cli.power import name_and_answer
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.survey.schema import Schema


def schema_of(file: str) -> "Schema":
    """The features of a file of counts, or of files of reports."""
    from deniable.counts.counts import Counts
    from deniable.counts.sources import find_files, plan_and_total

    if file.lower().endswith(".npz"):
        return Counts.load(file).plan.schema
    return plan_and_total(find_files(file))[0].schema


def groups_of(schema: "Schema", name: str, texts: Sequence[str], option: str = "--between") -> list[Any]:
    """Groups of answers to a feature: one answer each, or several with commas between them; errors name the option."""
    answers = [*map(str, schema[name].answers)]
    return [text if text in answers or "," not in text else names_of(text, option, answers) for text in texts]


def given_of(schema: "Schema", texts: Sequence[str]) -> list[str] | dict[str, Any]:
    """What is given: features, or answers to them, FEATURE=ANSWER with commas between several."""
    split = [(text, "") if text in schema else name_and_answer(schema, text) for text in texts]
    said = {name: groups_of(schema, name, [answer], "--given")[0] for name, answer in split if answer}
    if said and len(said) < len(texts):
        raise DeniableError("--given takes features, or an answer to each, FEATURE=ANSWER; not both at once")
    return said or list(texts)


def scores_of(schema: "Schema", name: str, texts: Sequence[str]) -> dict[str | bool, float] | None:
    """The scores of answers, ANSWER=NUMBER each; None if there are none."""
    from deniable.estimates.answers_as_weights import place_of_answer

    scores: dict[str | bool, float] = {}
    for text in texts:
        answer, sign, number = text.rpartition("=")
        try:
            score = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise DeniableError(f"--score takes ANSWER=NUMBER, such as 18-29=24; found {text!r}")
        feature = schema[name]
        scores[feature.answers[place_of_answer(feature, answer)]] = score
    return scores or None
