"""Survey files: every key read, every schema written and read again, what is wrong refused by name."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.cli.design import KEYS as PLAN_KEYS
from deniable.cli.design import NOTES
from deniable.survey.questions.survey_file import KEYS, feature_from_json
from tests.support.designs import DESIGNS, SKIPPED
from tests.support.situations import PLANS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "survey-file.md"
SCHEMAS = {title: plan.schema for title, plan in {**PLANS, **DESIGNS}.items()} | {
    "odd words": dn.Schema(
        [
            dn.Flag('a "b" \\ ünï 🎈', label="'single' and \"double\"", help="= [x] # no comment", missing="\\n"),
            dn.Choice("v", ['"', "\\", "'", "{}"], labels={'"': "quote", "\\": "back"}, missing="'"),
            dn.Choice.bins("n", [-float("inf"), -1e-7, 0.1, 1e22], labels={"under -1e-07": "low"}),
        ]
    ),
    "flags one by one": dn.Schema(
        [
            dn.Flag("d: tea", "d", missing="x"),
            dn.Flag("other"),
            dn.Flag("d: beer", "d", label="Beer"),
            dn.Flag("e: a", "e", question_label="E?"),
            dn.Flag("e: b", "e"),
            dn.Flag("g: a", "g", label="b", question_label="G"),
            dn.Flag("g: b", "g", label="c", question_label="G"),
        ]
    ),
}


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_what_is_saved_is_read_again(schema: dn.Schema, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"survey{suffix}"
    schema.save(path)
    assert dn.Schema.load(path) == schema
    dn.Schema.load(path).save(tmp_path / f"again{suffix}")
    assert (tmp_path / f"again{suffix}").read_bytes() == path.read_bytes()


def test_groups_and_ranges_are_written_as_people_write_them(tmp_path: Path) -> None:
    SKIPPED.save(tmp_path / "survey.toml")
    text = (tmp_path / "survey.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)["features"]
    assert [table["name"] for table in tables] == ["smoker", "age", "income", "drinks", "last", "invited"]
    assert tables[3] == {
        "name": "drinks",
        "flags": ["tea", "beer"],
        "missing": "skipped",
        "label": "What do you drink?",
        "labels": {"tea": "Tea"},
    }
    assert tables[2] == {"name": "income", "edges": [0, 10, float("inf")], "missing": "no answer"}
    comments = [line for line in text.splitlines() if line.startswith("#")]
    for key, what in KEYS.items():
        assert any(line.split()[1:2] == [key] and line.endswith(what) for line in comments)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dn.SchemaError, match="survey.yaml: a schema is written to a .toml or a .json file"):
        SKIPPED.save(tmp_path / "survey.yaml")
    assert not list(tmp_path.iterdir())
    with pytest.raises(dn.SchemaError, match="survey.yaml: a schema is a .toml or a .json file"):
        dn.Schema.load(tmp_path / "survey.yaml")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": (
        {"name": "a", "lable": "A?"},
        "feature 'a': unknown key 'lable'; .* if you like question, missing, label",
    ),
    "labels of a flag": ({"name": "a", "labels": {"true": "yes"}}, "labels is not for a yes/no question"),
    "question of a choice": (
        {"name": "a", "values": ["x", "y"], "question": "q"},
        "question is not for a question with",
    ),
    "group's label of ranges": (
        {"name": "a", "edges": [0, 1, 2], "question_label": "q"},
        "is not for a question with edges",
    ),
    "labels a list": ({"name": "a", "values": ["x", "y"], "labels": ["X"]}, "labels must be a table of texts"),
    "missing a number": ({"name": "a", "missing": 9}, "missing of 'a' must be text; found 9"),
    "values and flags": ({"name": "a", "values": ["x", "y"], "flags": ["z"]}, "has flags beside values or edges"),
}


@pytest.mark.parametrize(("table", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_named_with_the_file(table: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(json.dumps({"features": [table]}), encoding="utf-8")
    with pytest.raises(dn.SchemaError, match=f"survey.json: .*{message}"):
        dn.Schema.load(tmp_path / "survey.json")


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_has_every_key_and_no_other() -> None:
    questions, plans = PAGE.read_text(encoding="utf-8").split("## What the plan should be")
    assert re.findall(r"^\| `(\w+)` \|", questions, re.M) == list(KEYS)
    told = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", plans, re.M)))
    assert sorted(told) == sorted([*PLAN_KEYS, *NOTES])


def test_the_examples_of_the_page_are_survey_files_that_use_every_key(tmp_path: Path) -> None:
    used: set[str] = set()
    texts = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    for place, text in enumerate(texts):
        (tmp_path / f"{place}.toml").write_text(text, encoding="utf-8")
        schema = dn.Schema.load(tmp_path / f"{place}.toml")
        assert dn.Plan(schema, epsilon=2.0).schema == schema
        tables = tomllib.loads(text)["features"]
        used |= {key for table in tables for key in table}
        for table in tables:
            feature_from_json(table)
            with pytest.raises(dn.SchemaError, match="unknown key 'colour'"):
                feature_from_json(table | {"colour": "red"})
    assert used == set(KEYS)


DEEP = {
    "a key": (".".join("a" * 20_000) + " = 1\n", "a key has more than 100 parts"),
    "a table": ("[" + ".".join("a" * 20_000) + "]\n", "a key has more than 100 parts"),
    "in a question": ("[[features]]\nname." + ".".join("a" * 20_000) + " = 1\n", "a key has more than 100 parts"),
    "lists": ("features = " + "[" * 20_000 + "]" * 20_000, "too deeply"),
}


@pytest.mark.parametrize(("text", "message"), DEEP.values(), ids=DEEP.keys())
def test_what_is_nested_without_end_is_refused_at_once(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "survey.toml").write_text(text)
    with pytest.raises(dn.SchemaError, match=message):
        dn.Schema.load(tmp_path / "survey.toml")
