"""What tests of counting share: both sets of kernels, and a folder of files of reports."""

from pathlib import Path
from types import ModuleType

import pytest

from deniable.kernels import compiled, plain
from tests.support.situations import MIXED
from tests.support.surveys import parts_of, some_reports


@pytest.fixture(params=[plain, compiled], ids=["plain", "compiled"])
def tools(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr("deniable.counts.tally.tools_for", lambda _: request.param)
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for place, part in enumerate(parts_of(some_reports(MIXED, 1000), [0, 137, 512])):
        part.save(tmp_path / f"part{place}.parquet")
    return tmp_path
