"""What is asked: flags and choices, in order.

A flag is yes or no and has one evidence column; a choice has exactly one true value among m and m columns.
A question where several answers may be ticked is a group of flags.
"""

import itertools
import json
import math
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.client import MAX_VALUES, number_text
from deniable.errors import SchemaError
from deniable.text import html
from deniable.text.fixed_phrases import answer_as_text

SEPARATOR = ": "  # This stands between a question's name and a value, in the name of a column.


@dataclass(frozen=True)
class Flag:
    """A yes/no question. `question` names the multi-select question it is one tick of, if any.

    Examples
    --------
    >>> dn.Flag("smoker").answers
    (False, True)
    """

    name: str
    question: str | None = None

    def __post_init__(self) -> None:
        check_text(self.name, "a flag's name")
        if self.question is not None:
            check_text(self.question, "a question's name")
        if self.question is not None and not self.name.startswith(f"{self.question}{SEPARATOR}"):
            raise SchemaError(f"flag {self.name!r} is not named '{self.question}{SEPARATOR}...' as its question asks")

    @property
    def levels(self) -> int:
        """How many answers are possible: codes run from 0 to levels - 1."""
        return 2

    @property
    def answers(self) -> tuple[bool, ...]:
        """What can be answered, in the order of the codes."""
        return (False, True)

    @property
    def columns(self) -> range:
        """The codes that have an evidence column: True alone."""
        return range(1, 2)

    def to_json(self) -> dict[str, Any]:
        """The flag as JSON."""
        return {"name": self.name} if self.question is None else {"name": self.name, "question": self.question}


@dataclass(frozen=True, init=False)
class Choice:
    """A question with exactly one true value among `values`. `Choice.bins` makes one of number ranges.

    Examples
    --------
    >>> dn.Choice("age", ["18-29", "30-64", "65+"]).levels
    3
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()

    def __init__(self, name: str, values: Iterable[str], edges: Iterable[float] = ()) -> None:
        check_text(name, "a choice's name")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", _check_values(name, values, least=2))
        object.__setattr__(self, "edges", _check_edges(name, edges) if edges != () else ())
        if self.edges and self.values != _range_labels(self.edges):
            raise SchemaError(f"choice {name!r}: its values do not match its edges; make it with Choice.bins")

    @classmethod
    def bins(cls, name: str, edges: Iterable[float]) -> "Choice":
        """Make a choice of the number ranges between `edges`; numbers are encoded by the range they fall in.

        A range holds its left edge; the last one holds its right edge too. `float("inf")` and `-float("inf")`
        leave an end open.

        Examples
        --------
        >>> dn.Choice.bins("income", [0, 20_000, float("inf")]).values
        ('0 to under 20000', '20000 and over')
        """
        check_text(name, "a choice's name")
        edges = _check_edges(name, edges)
        return cls(name, _range_labels(edges), edges)

    @property
    def levels(self) -> int:
        """How many answers are possible: codes run from 0 to levels - 1."""
        return len(self.values)

    @property
    def answers(self) -> tuple[str, ...]:
        """What can be answered, in the order of the codes."""
        return self.values

    @property
    def columns(self) -> range:
        """The codes that have an evidence column: all."""
        return range(len(self.values))

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON; edges are text, so that every language writes them alike."""
        edges = {"edges": [number_text(edge) for edge in self.edges]} if self.edges else {}
        return {"name": self.name, "values": list(self.values), **edges}


@dataclass(frozen=True, init=False)
class Flags:
    """A multi-select question: one flag per value, named `name: value`.

    Examples
    --------
    >>> dn.Schema([dn.Flags("drinks", ["tea", "beer"])]).names
    ('drinks: tea', 'drinks: beer')
    """

    name: str
    values: tuple[str, ...]

    def __init__(self, name: str, values: Iterable[str]) -> None:
        check_text(name, "the name of a group of flags")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", _check_values(name, values, least=1))

    @property
    def features(self) -> tuple[Flag, ...]:
        """The flags of this question."""
        return tuple(Flag(self.name + SEPARATOR + value, self.name) for value in self.values)


Feature = Flag | Choice


@dataclass(frozen=True, init=False)
class Schema:
    """The features of a survey, in order. A group of flags is taken apart into its flags.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"])])
    >>> schema["age"].values
    ('18-29', '30-64', '65+')
    """

    features: tuple[Feature, ...]

    def __init__(self, features: Iterable[Flag | Choice | Flags]) -> None:
        if not isinstance(features, Iterable):
            raise SchemaError(f"a schema is made of a list of Flag, Choice and Flags; found {features!r}")
        flat: list[Feature] = []
        for feature in features:
            if not isinstance(feature, Flag | Choice | Flags):
                raise SchemaError(f"a schema is made of Flag, Choice and Flags; found {feature!r}")
            flat += feature.features if isinstance(feature, Flags) else [feature]
        object.__setattr__(self, "features", tuple(flat))
        self._check_names()

    def _check_names(self) -> None:
        if not self.features:
            raise SchemaError("a schema needs at least one feature; found none")
        if twice := _repeated(self.names):
            raise SchemaError(f"feature names must differ; found twice: {', '.join(map(repr, twice))}")
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

    def _repr_html_(self) -> str:
        head = ("question", "answers")
        rows = [[feature.name, ", ".join(map(answer_as_text, feature.answers))] for feature in self.features]
        return html.table(head, rows, numbers=(), title="Schema", caption="")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.index(name)]

    def index(self, name: str) -> int:
        """The position of a feature; a name that is not there is an error that says which are."""
        if name in self.names:
            return self.names.index(name)
        if isinstance(name, str) and name in self.questions:
            columns = ", ".join(repr(feature.name) for feature in self.questions[name])
            raise SchemaError(f"{name!r} is a group of flags; ask for one of its columns: {columns}")
        raise SchemaError(f"no feature {name!r}; there are {', '.join(map(repr, self.names))}")

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a schema from a TOML or JSON file: a list `features`, each a table.

        `name` alone is a flag; with `values` it is a choice, with `edges` a choice of number ranges, with
        `flags` a multi-select question.
        """
        path = Path(path)
        readers = {".toml": tomllib.loads, ".json": json.loads}
        if path.suffix not in readers:
            raise SchemaError(f"{path}: a schema is a .toml or a .json file")
        try:
            document = readers[path.suffix](path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SchemaError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"{path}: cannot be read: {error}") from None
        tables = document.get("features") if isinstance(document, Mapping) else None
        if not isinstance(tables, list):
            raise SchemaError(f"{path}: no list of features; write one [[features]] table per question")
        try:
            return cls(feature_from_json(table) for table in tables)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    @classmethod
    def from_frame(cls, frame: Any) -> "Schema":
        """Propose a schema from data: any dataframe, mapping of columns or list of records. Look it over.

        Booleans and 0/1 become flags; text, and numbers with at most 100 different values, become choices of the
        values found, or of all those that an ordered categorical lists, in its order. A value that nobody in this
        data gave is missing from the proposal: add it.

        Examples
        --------
        >>> dn.Schema.from_frame({"smoker": [True, False], "age": ["65+", "18-29"]}).names
        ('smoker', 'age')
        """
        from deniable.late import proposed_schema

        return proposed_schema(frame)


def feature_from_json(table: Any) -> Flag | Choice | Flags:
    """Make a feature from its JSON form, or from one table of a survey file."""
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise SchemaError(f"a feature is a table with a name; found {table!r}")
    name = table["name"]
    if unknown := set(table) - {"name", "values", "edges", "flags", "question"}:
        raise SchemaError(
            f"feature {name!r}: unknown key {', '.join(map(repr, sorted(unknown)))}; "
            "a feature has a name and one of values, edges or flags, or nothing more for a yes/no flag"
        )
    for key in ("values", "edges", "flags"):
        if key in table and not isinstance(table[key], list):
            raise SchemaError(f"feature {name!r}: {key} must be a list; found {table[key]!r}")
    match tuple(key for key in ("values", "edges", "flags") if key in table):
        case ():
            return Flag(name, table.get("question"))
        case ("values",):
            return Choice(name, table["values"])
        case ("edges",):
            return Choice.bins(name, table["edges"])
        case ("values", "edges"):
            return Choice(name, table["values"], Choice.bins(name, table["edges"]).edges)
        case ("flags",):
            return Flags(name, table["flags"])
    raise SchemaError(f"feature {name!r} has flags beside values or edges; a question is one or the other")


def _question(feature: Feature) -> str | None:
    return feature.question if isinstance(feature, Flag) else None


def check_text(text: Any, what: str) -> None:
    """Refuse what is not text, is empty, or holds control characters: it could not be a name or an answer."""
    if not isinstance(text, str):
        raise SchemaError(f"{what} must be text; found {text!r} ({type(text).__name__})")
    if not text.strip():
        raise SchemaError(f"{what} must not be empty; found {text!r}")
    if not text.isprintable() and any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        raise SchemaError(f"{what} must not hold control characters; found {text!r}")


def _check_values(name: str, values: Iterable[str], *, least: int) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SchemaError(f"{name!r}: values must be a list of texts; found {values!r}")
    values = tuple(values)
    for value in values:
        check_text(value, f"a value of {name!r}")
    if twice := _repeated(values):
        raise SchemaError(f"{name!r}: values must differ; found twice: {', '.join(map(repr, twice))}")
    if not least <= len(values) <= MAX_VALUES:
        raise SchemaError(f"{name!r} needs {least} to {MAX_VALUES} values; found {len(values)}")
    return values


def _check_edges(name: str, edges: Any) -> tuple[float, ...]:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise SchemaError(f"choice {name!r}: edges must be a list of numbers; found {edges!r}")
    numbers = []
    for edge in edges:
        try:
            numbers.append(float(edge))
        except (TypeError, ValueError, OverflowError):
            numbers.append(math.nan)
        if math.isnan(numbers[-1]):
            raise SchemaError(f"choice {name!r}: an edge must be a number; found {edge!r}")
    if any(low >= high for low, high in itertools.pairwise(numbers)):
        raise SchemaError(f"choice {name!r}: edges must rise; found {', '.join(map(number_text, numbers))}")
    if len(numbers) < 3:
        raise SchemaError(f"choice {name!r} needs at least 3 edges, for 2 ranges; found {len(numbers)}")
    return tuple(numbers)


def _range_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Words for the ranges: `under 18`, `18 to under 30`, ..., `45 to 65` or `65 and over`."""
    text = [number_text(edge) for edge in edges]
    labels = []
    for low, high, right in zip(text, text[1:], range(2, len(text) + 1), strict=False):
        if low == "-inf":
            labels.append(f"under {high}")
        elif high == "inf":
            labels.append(f"{low} and over")
        else:
            labels.append(f"{low} to {high}" if right == len(text) else f"{low} to under {high}")
    return tuple(labels)


def _repeated(texts: Iterable[str]) -> list[str]:
    return [text for text, times in Counter(texts).items() if times > 1]
