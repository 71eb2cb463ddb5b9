"""The survey file: a list of questions as TOML or JSON, a table for each; read, and written with comments.

What a table may hold is also what a plan's JSON has for a feature. docs/reference/survey-file.md explains every key.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from deniable.client import number_text
from deniable.errors import SchemaError, abbreviated
from deniable.files import replacing
from deniable.files.wrong_kinds import instead_of
from deniable.survey.questions.features import SEPARATOR, Choice, Feature, Flag, Flags

# Every key that a question's table may have, with what it means, as comments of a survey file say it.
KEYS = {
    "name": "what code, files and columns call the question; alone it is a yes/no question",
    "values": "the answers to choose one from, in order",
    "edges": "instead of values: number ranges between these edges; inf and -inf leave an end open",
    "flags": "a question where several answers may be ticked: one yes/no column each",
    "question": "of a yes/no column: the multi-select question that it is one tick of, if it stands by itself",
    "missing": "what a skipped question is called: one more answer, randomized like the rest",
    "label": "what people read instead of the name",
    "labels": "what people read instead of some answers",
    "question_label": "of a yes/no column with a question: what people read instead of that question's name",
    "help": "what people read below the question",
    "yes": "of a yes/no question: the word that data have for yes, if it is not a usual one",
    "no": 'the same for no; "" if blank cells mean no',
}
OF_FLAGS = ("question", "question_label", "yes", "no")  # These keys are of yes/no questions alone.
MOST_PARTS = 100  # A key in a TOML file, such as `a.b.c`, has at most so many parts.
LONG_KEY = re.compile(rf"^[ \t]*\[{{0,2}}[ \t]*[\w\"'-]+([ \t]*\.[ \t]*[\w\"'-]+){{{MOST_PARTS}}}", re.MULTILINE)
KINDS = ("values", "edges", "flags")  # A question has one of these, or none if it is yes/no.


def read(path: str | Path) -> list[Flag | Choice | Flags]:
    """The questions of a survey file, in order."""
    found = document(path)
    if {"fingerprint", "epsilon"} <= {*found}:
        raise SchemaError("this is a plan; Plan.load reads it, and its questions are plan.schema")
    tables = found.get("features")
    if not isinstance(tables, list):
        raise SchemaError("no list of features; write one [[features]] table per question")
    try:
        return [feature_from_json(table) for table in tables]
    except RecursionError:
        raise SchemaError("cannot be read: lists or tables stand in each other too deeply") from None


def document(path: str | Path) -> Mapping[str, Any]:
    """All that a survey file holds; nothing if it is a list or a number."""
    path = Path(path)
    readers = {".toml": tomllib.loads, ".json": json.loads}
    if path.suffix not in readers:
        raise SchemaError(instead_of("a survey", path) or "a schema is a .toml or a .json file")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml" and LONG_KEY.search(text):  # which takes tomllib a time that grows with the square
            raise SchemaError(f"cannot be read: a key has more than {MOST_PARTS} parts")
        found = readers[path.suffix](text)
    except OSError as error:
        raise SchemaError(f"cannot be read: {error.strerror}") from None
    except RecursionError:
        raise SchemaError("cannot be read: lists or tables stand in each other too deeply") from None
    except SchemaError:
        raise
    except ValueError as error:
        raise SchemaError(f"cannot be read: {error}") from None
    return found if isinstance(found, Mapping) else {}


def feature_from_json(table: Any) -> Flag | Choice | Flags:
    """Make a feature from its JSON form, or from one table of a survey file."""
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise SchemaError(f"a feature is a table with a name; found {abbreviated(table)}")
    kinds = tuple(key for key in KINDS if key in table)
    _check_table(table["name"], table, kinds)
    given = dict(table)
    match kinds:
        case ():
            return Flag(**given)
        case ("edges",):
            return Choice.bins(**given)
        case ("flags",):
            return Flags(values=given.pop("flags"), **given)
    bounds = {"edges": Choice.bins(table["name"], table["edges"]).edges} if "edges" in table else {}
    return Choice(**given | bounds)


def _check_table(name: str, table: Mapping[str, Any], kinds: tuple[str, ...]) -> None:
    """Refuse keys that there are not, that do not go together, and lists and tables that are none."""
    if unknown := set(table) - set(KEYS):
        raise SchemaError(
            f"feature {name!r}: unknown key {', '.join(map(repr, sorted(unknown)))}; "
            "a feature has a name and one of values, edges or flags, or nothing more for a yes/no flag; and if you "
            f"like {', '.join(key for key in KEYS if key not in ('name', *KINDS))}"
        )
    for key in (*kinds, *({"labels"} & {*table})):
        kind, what = (Mapping, "a table of texts") if key == "labels" else (list, "a list")
        if not isinstance(table[key], kind):
            raise SchemaError(f"feature {name!r}: {key} must be {what}; found {abbreviated(table[key])}")
    if "flags" in kinds and len(kinds) > 1:
        raise SchemaError(f"feature {name!r} has flags beside values or edges; a question is one or the other")
    if wrong := [key for key in (OF_FLAGS if kinds else ("labels",)) if key in table]:
        asked = "a yes/no question" if not kinds else f"a question with {kinds[-1]}"
        raise SchemaError(f"feature {name!r}: {wrong[0]} is not for {asked}")


def write(features: Iterable[Feature], path: str | Path, notes: Mapping[str, str]) -> None:
    """Write questions to a survey file, whole or not at all; a TOML file has notes about them as comments."""
    path = Path(path)
    if path.suffix not in (".toml", ".json"):
        raise SchemaError(f"{path}: a schema is written to a .toml or a .json file")
    text = toml(features, notes) if path.suffix == ".toml" else _json(list(_tables(list(features))))
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _tables(features: list[Feature]) -> Iterator[dict[str, Any]]:
    """A table for each question; flags of one question that stand together, and say the same of it, are one."""
    place = 0
    while place < len(features):
        feature = features[place]
        group = _group(feature, features[place:]) if isinstance(feature, Flag) else None
        if group is None:
            table = feature.to_json() | (feature.words if isinstance(feature, Flag) else {})
            if isinstance(feature, Choice) and feature.edges:  # ranges are named after their edges
                del table["values"]
                table["edges"] = list(feature.edges)
            yield table
            place += 1
        else:
            yield _group_table(group)
            place += len(group.values)


def _group(first: Flag, features: list[Feature]) -> Flags | None:
    """The group that begins a list of features, if all flags of its question are there, next to each other, alike."""
    if first.question is None or first.words:
        return None
    own = [one for one in features if isinstance(one, Flag) and one.question == first.question]
    values = [one.name.removeprefix(f"{first.question}{SEPARATOR}") for one in own]
    labels = {value: one.label for value, one in zip(values, own, strict=True) if one.label is not None}
    try:
        group = Flags(
            first.question, values, missing=first.missing, label=first.question_label, labels=labels, help=first.help
        )
    except SchemaError:  # a label that is another tick's name, which only flags by themselves may have
        return None
    alike = group.features == tuple(features[: len(own)]) and not any(one.words for one in own)
    return group if alike else None


def _group_table(group: Flags) -> dict[str, Any]:
    parts = {
        "name": group.name, "flags": list(group.values), "missing": group.missing, "label": group.label,
        "labels": dict(group.labels), "help": group.help,
    }  # fmt: skip
    return {key: part for key, part in parts.items() if part}


def _json(tables: list[dict[str, Any]]) -> str:
    """The JSON form, in which edges are text, as JSON has no infinite numbers."""
    told = [table | ({"edges": [*map(number_text, table["edges"])]} if "edges" in table else {}) for table in tables]
    return json.dumps({"features": told}, indent=1, ensure_ascii=False) + "\n"


def toml(features: Iterable[Feature], notes: Mapping[str, str]) -> str:
    """The TOML form: first what the keys mean, then notes about no question, then the questions with theirs."""
    tables = list(_tables(list(features)))
    named = {name for table in tables for name in (table["name"], table.get("question"))}
    lines = [
        "# The questions of a survey, one [[features]] table each. The keys of a table:",
        *(f"#   {key:<14} {what}" for key, what in KEYS.items()),
        "# A table's order is that of the questions. Names and answers are part of the plan: do not change them later.",
    ]
    lines += ["", *others] if (others := [_comment(note) for name, note in notes.items() if name not in named]) else []
    left = dict(notes)
    for table in tables:
        own = [left.pop(table[key]) for key in ("question", "name") if table.get(key) in left]
        note = [_comment(one) for one in own]
        lines += ["", *note, "[[features]]", *(f"{key} = {_toml_value(part)}" for key, part in table.items())]
    return "\n".join(lines) + "\n"


def _comment(note: str) -> str:
    """A note as a comment, in one line."""
    return "# " + "".join(letter if letter.isprintable() else " " for letter in note)


def _toml_value(part: Any) -> str:
    """A text, a list of texts or numbers, or a table of texts, as TOML on one line."""
    if isinstance(part, Mapping):
        return "{ " + ", ".join(f"{_toml_text(key)} = {_toml_text(text)}" for key, text in part.items()) + " }"
    if isinstance(part, list):
        return "[" + ", ".join(map(_toml_value, part)) + "]"
    return _toml_text(part) if isinstance(part, str) else number_text(part)


def _toml_text(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does but for letters beyond 16 bits, which are left as they are."""
    return json.dumps(text, ensure_ascii=False)
