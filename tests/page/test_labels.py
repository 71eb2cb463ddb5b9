"""What people read on the page and in the terminal: labels in place of names, and all three answers to a flag."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.page import page
from deniable.survey.describe import distinct_titles
from tests.support.pages import read

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", missing="kept to themselves", label="Do you smoke?"),
        dn.Choice("age", ["young", "old"], label="How old are you?", labels={"old": "65 or older"}),
        dn.Flags("drinks", ["tea", "beer"], label="What do you drink?", labels={"tea": "Any tea"}),
    ]
)


@pytest.fixture(scope="module")
def counts() -> dn.Counts:
    rng = np.random.default_rng(1)
    kind = rng.integers(3, size=20_000)
    answers = {
        "smoker": np.array([True, False, None])[kind],
        "age": np.where(rng.random(20_000) < 0.2 + 0.3 * kind, "old", "young"),
        "drinks: tea": rng.random(20_000) < 0.3 + 0.2 * kind,
        "drinks: beer": rng.random(20_000) < 0.4,
    }
    return dn.count(dn.randomize(answers, dn.Plan(SCHEMA, epsilon=8.0), rng=rng), order=2)


def test_the_page_says_labels(counts: dn.Counts) -> None:
    text = read(page.page(counts)).text
    for label in ("Do you smoke?", "How old are you?", "65 or older", "What do you drink?", "Any tea"):
        assert label in text
    assert "kept to themselves" in text
    assert "yes or no, or kept to themselves" in text.replace("\u2068", "").replace("\u2069", "")


def test_tables_in_the_terminal_say_labels_and_files_say_names(
    counts: dn.Counts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "counts.npz")
    counts.save(path)
    assert main(["table", path, "smoker", "age"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[1].startswith("Do you smoke?")
    assert "How old are you?" in printed
    assert "65 or older" in printed
    assert main(["table", path, "smoker", "age", "--csv"]) == 0
    written = capsys.readouterr().out.splitlines()
    assert written[0].startswith("smoker,age,proportion")
    assert [line.split(",")[:2] for line in written[1:3]] == [["no", "young"], ["no", "old"]]
    assert main(["conditional", path, "age", "--given", "smoker"]) == 0
    assert "kept to themselves" in capsys.readouterr().out


def test_titles_that_would_be_mistaken_are_names() -> None:
    flags = [
        dn.Flag("a", label="Same?"),
        dn.Flag("b", label="Same?"),
        dn.Flag("c", label="a"),
        dn.Flag("d", label="D?"),
    ]
    assert distinct_titles(flags) == {"a": "a", "b": "b", "c": "c", "d": "D?"}


def test_the_page_of_arms_has_labels_in_the_list_of_arms() -> None:
    plan = dn.design(SCHEMA, epsilon=3.0, want=[("smoker", "age"), "drinks"], n=3_000)
    answers = dn.simulate.truth(
        SCHEMA, {"smoker": [0.5, 0.4, 0.1], "age": [0.5, 0.5], "drinks: tea": 0.5, "drinks: beer": 0.3}
    )
    text = read(page.page(dn.simulate.counts(answers, plan, np.random.default_rng(2), n=3_000))).text
    assert "Do you smoke? × How old are you?" in text
    assert "smoker × age" not in text


def test_pictures_have_labels_and_tables_names(counts: dn.Counts) -> None:
    pytest.importorskip("matplotlib")
    est = dn.estimate(counts, ["smoker", "age"])
    groups, old = est.among("smoker", [True, False]), "65 or older"
    means = est.mean_of("age", {"young": 20, "old": 70}, by="smoker")
    shown = [
        (est.table(), "Do you smoke? x How old are you?", ["Do you smoke? no", "Do you smoke? yes", "young", old]),
        (est.conditional("age", given="smoker"), "How old are you? given Do you smoke?", ["young", old]),
        (groups.table(), "Do you smoke? x How old are you?", ["young", old]),
        (means, "mean of age by Do you smoke?", ["yes", "no", "kept to themselves"]),
    ]
    for table, title, answers in shown:
        figure = table.plot()
        assert " ".join(figure._suptitle.get_text().split()) == title  # type: ignore[attr-defined]
        drawn = {label.get_text() for label in figure.axes[0].get_yticklabels()}
        assert set(answers) <= drawn
        assert {"smoker", "age"} & set(table.column_names)
        assert pickle.loads(pickle.dumps(table)).features == table.features
        among = any(text.get_text().startswith("Among those who answered") for text in figure.texts)  # type: ignore[attr-defined]
        assert among == (table.about.among != "")
    assert len(est.table().slice(0, 2).plot().axes[0].get_yticklabels()) == 3
