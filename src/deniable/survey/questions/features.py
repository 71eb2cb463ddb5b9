"""Questions: flags, choices, and groups of flags.

A flag is yes or no and has one evidence column; a choice has exactly one true value among m and m columns.
A question where several answers may be ticked is a group of flags. A question may have an answer for those who skip it
(`missing`), one more value that is randomized like the rest; a flag that has one is asked as a choice of three.

Names are what code, files and columns call a question; labels are what people read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from deniable.client import number_text, range_values
from deniable.errors import SchemaError
from deniable.survey.questions.checks import (
    check_missing_of_flag,
    check_missing_of_ranges,
    check_optional,
    check_text,
    check_words,
    checked_edges,
    checked_labels,
    checked_values,
    with_missing,
)

Labels = tuple[tuple[str, str], ...]  # pairs of a value and what people read instead of it

SEPARATOR = ": "  # This stands between a question's name and a value, in the name of a column.


@dataclass(frozen=True)
class Flag:
    """A yes/no question.

    Parameters
    ----------
    name
        What code, files and columns call it.
    question
        The multi-select question that it is one tick of, if any; `Flags` makes such flags.
    missing
        What a skipped question is called, such as "no answer": then it is a third answer, and a null is one. Without
        it a null is an error.
    label, question_label, help
        What people read: instead of the name, instead of the multi-select question's name, and below the question.
    yes, no
        The two words that data have for its answers, where these are not the usual ones, which are read anyway; with
        `no=""` a blank cell is no. They are only for reading data in bulk: they travel beside a plan, and no device
        needs them.

    Examples
    --------
    >>> dn.Flag("smoker").answers
    (False, True)
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker", yes="smoker", no="non-smoker")]), epsilon=1.0)
    >>> len(dn.randomize({"smoker": ["smoker", "non-smoker", "Smoker"]}, plan))
    3
    >>> dn.Flag("smoker", missing="no answer", label="Do you smoke?").answers
    (False, True, 'no answer')
    """

    name: str
    question: str | None = None
    _: KW_ONLY
    missing: str | None = None
    label: str | None = None
    question_label: str | None = None
    help: str | None = None
    yes: str | None = field(default=None, compare=False)
    no: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_text(self.name, "a flag's name")
        check_words(self.name, self.yes, self.no)
        if self.question is not None:
            check_text(self.question, "a question's name")
        if self.question is not None and not self.name.startswith(f"{self.question}{SEPARATOR}"):
            raise SchemaError(f"flag {self.name!r} is not named '{self.question}{SEPARATOR}...' as its question asks")
        check_optional(
            self.name, missing=self.missing, label=self.label, question_label=self.question_label, help=self.help
        )
        check_missing_of_flag(self.name, self.missing)
        if self.question is None and self.question_label is not None:
            raise SchemaError(f"flag {self.name!r} has a question_label and is of no multi-select question; use label")

    @property
    def levels(self) -> int:
        """How many answers are possible: codes run from 0 to levels - 1."""
        return 2 if self.missing is None else 3

    @property
    def answers(self) -> tuple[bool | str, ...]:
        """What can be answered, in the order of the codes."""
        return (False, True) if self.missing is None else (False, True, self.missing)

    @property
    def columns(self) -> range:
        """The codes that have an evidence column: True alone, or all three with one that says it was skipped."""
        return range(1, 2) if self.missing is None else range(3)

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the entries that tensors show on its axis: not looked at, True, and missing if it has one.

        False is the difference, with an evidence column of its own or without.
        """
        return (0, 1) if self.missing is None else (0, 2, 3)

    @property
    def title(self) -> str:
        """What people read as the question."""
        if self.question is None:
            return self.label or self.name
        value = self.name.removeprefix(f"{self.question}{SEPARATOR}")
        return f"{self.question_label or self.question}{SEPARATOR}{self.label or value}"

    @property
    def titles(self) -> tuple[str, ...]:
        """What people read as the answers, in the order of the codes."""
        return tuple(map(str, self.answers))

    @property
    def words(self) -> dict[str, str]:
        """The words that data have for yes and no, if the flag declares them."""
        return {} if self.yes is None or self.no is None else {"yes": self.yes, "no": self.no}

    def to_json(self) -> dict[str, Any]:
        """The flag as JSON: what it means, without its words."""
        keys = ("name", "question", "missing", "label", "question_label", "help")
        return {key: text for key in keys if (text := getattr(self, key)) is not None}


@dataclass(frozen=True, init=False)
class Choice:
    """A question with exactly one true value among `values`. `Choice.bins` makes one of number ranges.

    Parameters
    ----------
    name
        What code, files and columns call it.
    values
        The answers, in order.
    missing
        What a skipped question is called, such as "no answer": one more value, the last one unless it stands among
        `values`, and a null is one. Without it a null is an error.
    label, labels, help
        What people read: instead of the name, instead of some values, and below the question.

    Examples
    --------
    >>> dn.Choice("age", ["18-29", "30-64", "65+"]).levels
    3
    >>> dn.Choice("age", ["18-64", "65+"], missing="no answer", label="How old are you?", labels={"65+": "65 or older"})
    Choice(name='age', values=('18-64', '65+', 'no answer'), edges=(), missing='no answer', \
label='How old are you?', labels=(('65+', '65 or older'),), help=None)
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[float, ...]
    missing: str | None
    label: str | None
    labels: Labels  # what people read instead of some values
    help: str | None

    def __init__(
        self,
        name: str,
        values: Iterable[str],
        edges: Iterable[float] = (),
        *,
        missing: str | None = None,
        label: str | None = None,
        labels: Mapping[str, str] | Labels = (),
        help: str | None = None,
    ) -> None:
        check_text(name, "a choice's name")
        check_optional(name, missing=missing, label=label, help=help)
        every = checked_values(name, with_missing(values, missing), least=2)
        bounds = checked_edges(name, edges) if edges != () else ()
        if bounds:
            check_missing_of_ranges(name, missing)
        if bounds and list(every) != [*range_values(_texts(bounds)), *([] if missing is None else [missing])]:
            raise SchemaError(f"choice {name!r}: its values do not match its edges; make it with Choice.bins")
        told = checked_labels(name, every, labels)
        self.__dict__.update(
            name=name, values=every, edges=bounds, missing=missing, label=label, labels=told, help=help
        )

    @classmethod
    def bins(
        cls,
        name: str,
        edges: Iterable[float],
        *,
        missing: str | None = None,
        label: str | None = None,
        labels: Mapping[str, str] | Labels = (),
        help: str | None = None,
    ) -> "Choice":
        """Make a choice of the number ranges between `edges`; numbers are encoded by the range they fall in.

        A range holds its left edge; the last one holds its right edge too. `float("inf")` and `-float("inf")`
        leave an end open. With `missing`, a skipped question is one more answer, after the ranges.

        Examples
        --------
        >>> dn.Choice.bins("income", [0, 20_000, float("inf")], missing="no answer").values
        ('0 to under 20000', '20000 and over', 'no answer')
        """
        check_text(name, "a choice's name")
        bounds = checked_edges(name, edges)
        return cls(name, range_values(_texts(bounds)), bounds, missing=missing, label=label, labels=labels, help=help)

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

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the entries that tensors show on its axis: not looked at, and every value."""
        return tuple(range(1 + len(self.values)))

    @property
    def title(self) -> str:
        """What people read as the question."""
        return self.label or self.name

    @property
    def titles(self) -> tuple[str, ...]:
        """What people read as the answers, in the order of the codes."""
        return tuple(dict(self.labels).get(value, value) for value in self.values)

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON; edges are text, so that every language writes them alike."""
        parts = {
            "name": self.name,
            "values": list(self.values),
            "edges": _texts(self.edges),
            "missing": self.missing,
            "label": self.label,
            "labels": dict(self.labels),
            "help": self.help,
        }
        return {key: part for key, part in parts.items() if part}


@dataclass(frozen=True, init=False)
class Flags:
    """A multi-select question: one flag per value, named `name: value`.

    Parameters
    ----------
    name
        What code and files call it.
    values
        What may be ticked.
    missing
        What a skipped question is called: each flag then has it as its third answer, so that whoever skips the question
        is missing in all its flags.
    label, labels, help
        What people read: instead of the name, instead of some values, and below the question.

    Examples
    --------
    >>> dn.Schema([dn.Flags("drinks", ["tea", "beer"])]).names
    ('drinks: tea', 'drinks: beer')
    """

    name: str
    values: tuple[str, ...]
    missing: str | None
    label: str | None
    labels: Labels  # what people read instead of some values
    help: str | None

    def __init__(
        self,
        name: str,
        values: Iterable[str],
        *,
        missing: str | None = None,
        label: str | None = None,
        labels: Mapping[str, str] | Labels = (),
        help: str | None = None,
    ) -> None:
        check_text(name, "the name of a group of flags")
        every = checked_values(name, values, least=1)
        told = checked_labels(name, every, labels)
        self.__dict__.update(name=name, values=every, missing=missing, label=label, labels=told, help=help)

    @property
    def titles(self) -> tuple[str, ...]:
        """What people read as the values."""
        return tuple(dict(self.labels).get(value, value) for value in self.values)

    @property
    def features(self) -> tuple[Flag, ...]:
        """The flags of this question."""
        return tuple(
            Flag(
                self.name + SEPARATOR + value,
                self.name,
                missing=self.missing,
                label=None if title == value else title,
                question_label=self.label,
                help=self.help,
            )
            for value, title in zip(self.values, self.titles, strict=True)
        )


def _texts(edges: Iterable[float]) -> list[str]:
    """Edges of number ranges as the plan's JSON has them."""
    return [number_text(edge) for edge in edges]


Feature = Flag | Choice
