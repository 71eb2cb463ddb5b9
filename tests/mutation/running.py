"""Tests in a forked child of one warm process, which has imported everything but the package and its tests."""

import ast
import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutation.mutants import Mutant

# One process, no cache, and no warning that plugins are imported already: that is what a warm process is for.
ALONE = ("-x", "-n", "0", "-p", "no:cacheprovider", "--tb=line", "-W", "ignore::pytest.PytestAssertRewriteWarning")
WAITING = 10  # Seconds by the clock for each of the processor's, before a child that hardly works is ended.


class Faulty(MetaPathFinder, SourceFileLoader):
    """Imports one module with a fault in it; all others as they are."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        SourceFileLoader.__init__(self, name, str(mutant.path))
        self.tree: ast.Module = mutant.tree()

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        """Where the module is, if it is this one."""
        return spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """The module with its fault, compiled."""
        assert fullname == self.name
        return compile(self.tree, self.path, "exec")


def warm(modules: Sequence[str]) -> None:
    """Import modules that tests need, in this process, for all of its children."""
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What some work gives, as JSON, done in a child of its own process group; None if it takes longer than this.

    Seconds are the processor's, so that a busy machine kills no mutant; who waits for something has WAITING times as
    many by the clock. A child that a signal ends, as by memory that is not its own, gives None as well.
    """
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        child = os.fork()
        if not child:
            _child(work, Path(folder), seconds)
        end = time.monotonic() + WAITING * seconds
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            time.sleep(0.01)
        if os.WIFSIGNALED(ended[1]):
            return None
        answer = Path(folder, "answer.json")
        if not answer.exists():
            raise RuntimeError(Path(folder, "printed").read_text(encoding="utf-8", errors="replace")[-3000:])
        return json.loads(answer.read_text(encoding="utf-8"))


def _child(work: Callable[[], Any], folder: Path, seconds: float) -> None:
    os.setsid()
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    most = int(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    quiet = os.open(folder / "printed", os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    try:
        (folder / "answer.json").write_text(json.dumps(work()), encoding="utf-8")
    except BaseException:  # printed for the parent, in which nothing else of this process may run
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)


class _First:
    """Notes the first test that fails, or the first file of tests that cannot be imported."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} cannot be imported"


def tested(name: str, mutant: Mutant | None, tests: Sequence[str]) -> dict[str, Any]:
    """Run tests on a module with a fault: pytest's exit code, and what failed first."""
    if mutant is not None:
        sys.meta_path.insert(0, Faulty(name, mutant))
    examples_without_shrinking()
    first = _First()
    code = pytest.main([*ALONE, "-m", "not slow", *tests], plugins=[first])
    return {"code": int(code), "last": first.failed}


def examples_without_shrinking() -> None:
    """Examples of hypothesis are the same for all mutants, not judged by their time, and not made smaller."""
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutation", deadline=None, derandomize=True, database=None, phases=phases)
    settings.load_profile("mutation")


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a module below the package's folder."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
