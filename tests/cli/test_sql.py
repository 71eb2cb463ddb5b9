"""`deniable sql`: the query that counts reports inside a database."""

from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.support.situations import MIXED


def test_the_query_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    MIXED.save(tmp_path / "plan.json")
    plan = str(tmp_path / "plan.json")
    assert main(["sql", plan, "flag", "grr", "--dialect", "postgres", "--table", "kept", "--packed", "r"]) == 0
    assert (
        capsys.readouterr().out == dn.sql(MIXED, ["flag", "grr"], dialect="postgres", table="kept", packed="r") + "\n"
    )
    assert main(["sql", plan, "--order", "2"]) == 0
    assert capsys.readouterr().out == dn.sql(MIXED, order=2) + "\n"
    for wrong, said in ((["flag", "--dialect", "oracle"], "the dialects"), ([], "give one of them")):
        assert main(["sql", plan, *wrong]) == 1
        assert said in capsys.readouterr().err
