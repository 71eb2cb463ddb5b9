"""Errors and answers: whatever is given where something else belongs, no error shows a record, a frame or a long value.

Every public function, and every method of the usual objects, is given data in place of each of its arguments.
"""

import contextlib
import inspect
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn

SECRET = "secret-answer"
MOST = 500  # letters of an error
ROWS = {"a": [f"{SECRET} {k}" for k in range(100)], "b": list(range(100))}
GIVEN: dict[str, Any] = {
    "pandas": pd.DataFrame(ROWS),
    "polars": pl.DataFrame(ROWS),
    "arrow": pa.table(ROWS),
    "a series": pd.Series(ROWS["a"]),
    "records": [{"a": answer, "b": 1} for answer in ROWS["a"]],
    "columns": ROWS,
    "a list": ROWS["a"],
    "an array": np.array(ROWS["a"]),
    "a long text": SECRET + "x" * 70_000,
    "long bytes": b"x" * 70_000,
}
SCHEMA = dn.Schema([dn.Flag("a"), dn.Flag("b")])
PLAN = dn.Plan(SCHEMA, epsilon=1.0)
REPORTS = dn.randomize({"a": [True, False] * 1000, "b": [False] * 2000}, PLAN, rng=1)
COUNTS = dn.count(REPORTS, order=2)
ESTIMATE = dn.estimate(COUNTS, ["a", "b"])
RIGHT: tuple[Any, ...] = (SCHEMA, PLAN, REPORTS, COUNTS, ESTIMATE, {"a": [True], "b": [False]})
OF_FILES = ("save", "plot", "load", "output")  # a name of a file is shown in full, however long it is
ERRORS = (dn.DeniableError, Warning)
PUBLIC = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in ("design", "budget")))  # these work long on what is right
    for name in dn.__all__
    if callable(one := getattr(dn, name)) and not (inspect.isclass(one) and issubclass(one, ERRORS))
]


def calls(function: Callable[..., Any], given: Any) -> Iterator[Callable[[], Any]]:
    """The function with something wrong as its only argument, beside a right one, and as each option."""
    yield lambda: function(given)
    for right in RIGHT:
        yield lambda right=right: function(right, given)  # type: ignore[misc]
        yield lambda right=right: function(given, right)  # type: ignore[misc]
    with contextlib.suppress(ValueError, TypeError):
        options = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
        for option, right in itertools.product(options, RIGHT):
            if option not in OF_FILES:
                yield lambda option=option, right=right: function(right, **{option: given})  # type: ignore[misc]


def check(call: Callable[[], Any]) -> None:
    """What a call prints and what its error says, if it is one of ours, are short and tell at most one answer."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except dn.DeniableError as error:
            said.write(str(error))
        except Exception:  # Python's own, about arguments that are not there
            return
    text = said.getvalue()
    assert len(text) <= MOST, text[:MOST]
    assert text.count(SECRET) <= 1, text


@pytest.mark.parametrize("name", PUBLIC)
def test_no_function_shows_what_it_was_given(name: str) -> None:
    for given in GIVEN.values():
        if not isinstance(given, str | bytes) or name not in ("count", "randomize", "associations", "estimate"):
            for call in calls(getattr(dn, name), given):
                check(call)


@pytest.mark.parametrize("thing", RIGHT[:5], ids=lambda thing: type(thing).__name__)
def test_no_method_shows_what_it_was_given(thing: Any) -> None:
    methods = [getattr(thing, name) for name in dir(thing) if not name.startswith("_") and name not in OF_FILES]
    for method, given in itertools.product(filter(callable, methods), GIVEN.values()):
        check(lambda method=method, given=given: method(given))  # type: ignore[misc]
        check(lambda method=method, given=given: method("a", given))  # type: ignore[misc]


@pytest.mark.parametrize("load", [dn.Plan.load, dn.Schema.load, dn.Counts.load, dn.Reports.load])
def test_no_reader_of_files_shows_data_that_it_was_given(load: Callable[[Any], Any]) -> None:
    for given in GIVEN.values():
        if not isinstance(given, str | bytes):
            check(lambda given=given: load(given))  # type: ignore[misc]


def test_the_check_sees_a_frame_and_a_long_value() -> None:
    """The control."""

    def wrong(given: Any) -> None:
        raise dn.PlanError(f"found {given!r}")

    for given in GIVEN.values():
        with pytest.raises(AssertionError):
            check(lambda given=given: wrong(given))  # type: ignore[misc]
