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
    assert main(["sql", plan, "flag", "--dialect", "oracle"]) == 1
    assert "the dialects" in capsys.readouterr().err
    for wrong in ([], ["flag", "--order", "2"]):
        with pytest.raises(SystemExit, match="2"):
            main(["sql", plan, *wrong])
        assert "give the features of a table, or --order 2 for every pair" in capsys.readouterr().err
