"""Which kernels a job gets: plain or compiled."""

import json
import subprocess
import sys

import pytest

from deniable.kernels import LOADING, compiled, plain
from tests.support.kernel_twins import COMPARISONS

CHOSEN = """
import json, sys
from deniable.kernels import tools_for
chosen = []
for seconds in json.loads(sys.argv[1]):
    tools = tools_for(seconds).__name__.removeprefix("deniable.kernels.")
    chosen.append([tools, "numba" in sys.modules])
print(json.dumps(chosen))
"""


def chosen(*seconds: float) -> list[list[object]]:
    """The kernels that jobs of so many seconds get, one after the other in a new process, and if numba is loaded."""
    command = [sys.executable, "-c", CHOSEN, json.dumps(seconds)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


PLAIN, STILL_PLAIN, COMPILED = ["plain", False], ["plain", True], ["compiled", True]


def test_compiled_code_is_loaded_once_numpy_would_have_worked_as_long_as_loading_takes() -> None:
    assert LOADING == 0.5
    assert chosen(0.25, 0.2, 0.04, 0.02, 0.0049, 0.005, 0.3) == [*[PLAIN] * 3, COMPILED, STILL_PLAIN, *[COMPILED] * 2]
    assert chosen(0.5, 0.0049, 0.5) == [COMPILED, STILL_PLAIN, COMPILED]


def test_jobs_too_small_for_compiled_code_never_load_it_however_many() -> None:
    assert chosen(*[0.0049] * 1000, 0.49) == [PLAIN] * 1001


def test_compiled_and_plain_kernels_have_the_same_names() -> None:
    functions = {name for name, value in vars(plain).items() if callable(value) and value.__module__ == plain.__name__}
    assert {name for name in functions if not name.startswith("_")} == set(compiled.__all__)
    assert {function for function, _ in COMPARISONS.values()} == set(compiled.__all__)


READ_ONLY = """
import sys, tempfile
from numba.core import caching
told = caching.CacheImpl._locator_classes[0]  # none of a folder beside the sources, or of the user's
assert "UserProvided" in told.__name__
caching.CacheImpl._locator_classes = [told]
if sys.argv[1] == "no":
    def refuse(*_, **__):
        raise PermissionError
    tempfile.mkdtemp = refuse
from deniable.kernels import tools_for
print(tools_for(1.0).__name__)
"""


@pytest.mark.parametrize(("temporary", "kernels"), [("yes", "compiled"), ("no", "plain")])
def test_without_a_folder_for_compiled_code_there_are_kernels_all_the_same(temporary: str, kernels: str) -> None:
    """numba refuses to load what it cannot keep, as in a container that can only be read."""
    command = [sys.executable, "-c", READ_ONLY, temporary]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"deniable.kernels.{kernels}"
