"""What is asked: the questions of a survey, in order.

A question is a `Flag`, a `Choice` or a group of flags (`questions.features`).
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.client import look_alike
from deniable.errors import SchemaError, abbreviated, listed, meant
from deniable.survey.questions.features import SEPARATOR as SEPARATOR
from deniable.survey.questions.features import Choice as Choice
from deniable.survey.questions.features import Feature as Feature
from deniable.survey.questions.features import Flag as Flag
from deniable.survey.questions.features import Flags as Flags
from deniable.text import html
from deniable.text.fixed_phrases import answer_as_text
from deniable.text.tables import aligned


@dataclass(frozen=True, init=False, repr=False)
class Schema:
    """The features of a survey, in order. A group of flags is taken apart into its flags.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"])])
    >>> schema["age"].values
    ('18-29', '30-64', '65+')
    """

    features: tuple[Feature, ...]
    notes: Mapping[str, str] = field(compare=False, repr=False)  # what `from_frame` found, a line for each column

    def __init__(self, features: Iterable[Flag | Choice | Flags], *, notes: Mapping[str, str] | None = None) -> None:
        if not isinstance(features, Iterable):
            raise SchemaError(f"a schema is made of a list of Flag, Choice and Flags; found {abbreviated(features)}")
        flat: list[Feature] = []
        for feature in features:
            if not isinstance(feature, Flag | Choice | Flags):
                raise SchemaError(f"a schema is made of Flag, Choice and Flags; found {abbreviated(feature)}")
            flat += feature.features if isinstance(feature, Flags) else [feature]
        self.__dict__.update(features=tuple(flat), notes=dict(notes or {}))
        self._check_names()

    def _check_names(self) -> None:
        if not self.features:
            raise SchemaError("a schema needs at least one feature; found none")
        if twice := look_alike(self.names):
            raise SchemaError(f"feature names must differ in what can be seen; found twice: {listed(twice)}")
        if twice := look_alike(dict.fromkeys((*self.names, *self.questions))):
            raise SchemaError(f"names of questions must differ in what can be seen; found twice: {listed(twice)}")
        if twice := look_alike(text for one in self.features for text in dict.fromkeys((one.name, one.title))):
            raise SchemaError(
                f"labels must differ in what can be seen, from each other and from other features' names; found twice: "
                f"{listed(twice)}"
            )
        single = {feature.name for feature in self.features if not _question(feature)}
        for feature in self.features:
            question = _question(feature)
            if question in single:
                raise SchemaError(f"feature names must differ; {question!r} is both a feature and a group of flags")
            parts = feature.name.split(SEPARATOR)
            for head in (SEPARATOR.join(parts[:k]) for k in range(1, len(parts))):
                if head != question and head in self.questions:
                    raise SchemaError(
                        f"the name {feature.name!r} would be mistaken for a column of {head!r}; give it another name"
                    )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def questions(self) -> dict[str, tuple[Feature, ...]]:
        """The features of each question, in order: one, or the flags of a group."""
        groups: dict[str, tuple[Feature, ...]] = {}
        for feature in self.features:
            key = _question(feature) or feature.name
            groups[key] = (*groups.get(key, ()), feature)
        return groups

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __str__(self) -> str:
        lines = aligned(_HEAD, [*_rows(self.questions)], numbers=(), rule=True, colour=False)
        left_out = [note for name, note in self.notes.items() if name not in self.questions]
        return "\n".join([*lines, *[""] * bool(left_out), *left_out])

    def __repr__(self) -> str:
        many = f"{len(self.questions)} questions" if len(self.questions) > 1 else "1 question"
        return f"<Schema of {many}: {listed(self.questions)}>"

    def _repr_html_(self) -> str:
        rows = [[feature.name, ", ".join(map(answer_as_text, feature.answers))] for feature in self.features]
        left_out = [note for name, note in self.notes.items() if name not in self.questions]
        return html.table(_HEAD, rows, numbers=(), title="Schema", caption=". ".join(left_out))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.index(name)]

    def index(self, name: str) -> int:
        """The position of a feature; a name that is not there is an error that says which are."""
        if name in self.names:
            return self.names.index(name)
        if isinstance(name, str) and name in self.questions:
            columns = listed(feature.name for feature in self.questions[name])
            raise SchemaError(f"{name!r} is a group of flags; ask for one of its columns: {columns}")
        raise SchemaError(f"no feature {abbreviated(name)}; there are {listed(self.names)}{meant(name, self.names)}")

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a schema from a TOML or JSON file: a list `features`, a table for each question.

        `name` alone is a flag; with `values` it is a choice, with `edges` a choice of number ranges, with
        `flags` a multi-select question. docs/reference/survey-file.md has every key.
        """
        from deniable.survey.questions.survey_file import read

        try:
            return cls(read(path))
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the schema to a TOML file, with comments that explain its keys, or to a JSON file; `load` reads it.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "survey.toml")
        ...     schema.save(path)
        ...     dn.Schema.load(path) == schema
        True
        """
        from deniable.survey.questions.survey_file import write

        write(self, path, self.notes)

    @classmethod
    def from_frame(cls, frame: Any, *, na: Iterable[str] = ()) -> "Schema":
        r"""Propose a schema from data: a dataframe, a mapping of columns, a list of records, or files. Look it over.

        Booleans, 0 and 1, and yes and no in many languages become flags; lists, text such as "TV;Radio", and columns
        named "news: TV" and "news: radio" a multi-select question, also where they hold one mark or nothing; many
        different numbers become ranges at round edges,
        and other text and numbers choices, in an order that is obvious or that a categorical has. Where somebody gave
        no answer, that is one more. Ids and free text are left out. `notes` says why, a line for each column, and
        `save` writes it as comments. A value that nobody in this data gave is missing from the proposal: add it.

        Parameters
        ----------
        frame
            The data, or the path of a CSV or Parquet file of them.
        na
            More words or numbers that stand for no answer, such as `"-9"`, beside `"NA"`, `"N/A"`, `"."` and empty
            cells. Give them to `dn.randomize`, too: neither a schema nor a plan holds them.

        Examples
        --------
        >>> schema = dn.Schema.from_frame({"smoker": ["yes", "no"], "age": ["65+", "<30"], "note": [None, None]})
        >>> schema["age"].values
        ('<30', '65+')
        >>> print(*schema.notes.values(), sep="\n")
        smoker: yes or no: 'yes' is yes, 'no' is no
        age: a choice of 2 in their order
        note: left out; it holds no answers
        """
        from deniable.late import proposed_schema

        return proposed_schema(frame, na)


# _HEAD names the columns of a printed schema, and _ANSWERS is how many letters a line of its answers has.
_HEAD = ("question", "answers")
_ANSWERS = 64


def _rows(questions: Mapping[str, tuple[Feature, ...]]) -> Iterator[tuple[str, str]]:
    """The lines of a printed schema: each question with its answers, those of a multi-select one without its name."""
    for name, features in questions.items():
        if _question(features[0]):
            ticks = [feature.name.removeprefix(f"{name}{SEPARATOR}") for feature in features]
            told = f"any of: {', '.join(ticks)}{'; or no answer' if features[0].missing else ''}"
        else:
            told = ", ".join(map(answer_as_text, features[0].answers))
        lines = textwrap.wrap(told, _ANSWERS, break_on_hyphens=False)
        yield from zip([name, *[""] * (len(lines) - 1)], lines, strict=True)


def _question(feature: Feature) -> str | None:
    return feature.question if isinstance(feature, Flag) else None
