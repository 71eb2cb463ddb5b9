"""Which tests run which lines: each mutant is tried on the tests that run it, the quickest first."""

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.mutation.groups import HERE

CALLS = 30  # A function's lines are looked at in so many of its calls by one test: more show hardly any other.


class Covering:
    """A plugin of pytest that notes, for each test, the lines of some files that it ran, and its processor seconds."""

    def __init__(self, files: set[Path]) -> None:
        self.files = {str(path) for path in files}
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """A test with its fixtures, traced."""
        noted, files, calls = self.lines[item.nodeid], self.files, Counter[int]()

        def line_of(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                noted.add((frame.f_code.co_filename, frame.f_lineno))
            return line_of

        def called(frame: FrameType, *_: Any) -> Any:
            if frame.f_code.co_filename in files:
                calls[id(frame.f_code)] += 1
                noted.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))
                return line_of if calls[id(frame.f_code)] <= CALLS else None
            return None

        began = time.process_time()
        sys.settrace(called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.process_time() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Whether a test failed, which it must not without a fault."""
        if report.failed:
            self.failed.append(report.nodeid)

    def result(self) -> dict[str, Any]:
        """All that was noted, as JSON; and the modules that were imported meanwhile, to import them once for all."""
        others = [name for name, module in list(sys.modules.items()) if name != "__main__" and not _is_own(module)]
        return {
            "seconds": self.seconds,
            "lines": {test: sorted(lines) for test, lines in self.lines.items()},
            "failed": self.failed,
            "modules": others,
        }


def _is_own(module: Any) -> bool:
    """Whether a module is of this project, and may be, or import, what is mutated."""
    file = str(getattr(module, "__file__", None) or "")
    return file.startswith(str(HERE)) and "site-packages" not in file
