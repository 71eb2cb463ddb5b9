"""Examples in the docstrings of public names: they run, and print what stands below them."""

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.models.coefficients import Regression
from deniable.analyses.models.trend import Trend
from deniable.analyses.whole_survey.model import FitQuality, Model
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.posterior import Posterior
from deniable.inference.results import Answer, JointAnswer
from deniable.tables.table import Table


def public_names() -> dict[str, Any]:
    """Every promised name; a module's own promised names stand for it."""
    found: dict[str, Any] = {}
    for name in dn.__all__:
        thing = getattr(dn, name)
        if inspect.ismodule(thing):
            own = {
                key: value for key, value in vars(thing).items() if getattr(value, "__module__", "") == thing.__name__
            }
            found |= {f"{name}.{key}": value for key, value in own.items() if not key.startswith("_")}
        found[name] = thing
    return found


NAMES = public_names()
RESULTS = {
    kind.__name__: kind for kind in (Answer, JointAnswer, Posterior, Regression, Among, Trend, Table, Model, FitQuality)
}


def a_survey() -> dict[str, Any]:
    """What the example of `Estimate` makes, and other examples go on with: a plan, reports, counts and an estimate."""
    names: dict[str, Any] = {"dn": dn, "np": np}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(dn.Estimate) or ""):
        if not example.want:
            exec(example.source, names)
    return names


def examples() -> Iterator[doctest.DocTest]:
    """The examples of each public name, of each public method of a public class, and of the results that these give."""
    parser, survey = doctest.DocTestParser(), a_survey()
    for name, thing in {**NAMES, **RESULTS}.items():
        members = vars(thing).items() if inspect.isclass(thing) else ()
        things = {name: thing} | {f"{name}.{key}": member for key, member in members if not key.startswith("_")}
        for where, one in things.items():
            plain = one.__func__ if isinstance(one, classmethod | staticmethod) else one
            text = inspect.getdoc(plain.fget if isinstance(plain, property) else plain)
            if text and ">>>" in text:
                yield parser.get_doctest(text, dict(survey), where, None, None)


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_examples_print_what_stands_below_them(
    example: doctest.DocTest, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    failed, tried = runner.run(example, out=told.append)
    assert tried
    assert not failed, "".join(told)


def test_a_wrong_example_is_found() -> None:
    """The control."""
    wrong = doctest.DocTestParser().get_doctest(">>> np.arange(2).sum() + 1\n3\n", {"np": np}, "wrong", None, None)
    assert doctest.DocTestRunner().run(wrong, out=lambda _: None).failed == 1


def explained(thing: Any) -> bool:
    return bool(inspect.getdoc(thing) and "Examples\n--------\n>>>" in inspect.getdoc(thing).replace("\n\n", "\n"))


def test_every_public_name_has_an_example() -> None:
    """All but errors and modules."""
    without = [
        name
        for name, thing in NAMES.items()
        if not inspect.ismodule(thing)
        and not (inspect.isclass(thing) and issubclass(thing, Exception))
        and "." not in name
        and not explained(thing)
    ]
    assert without == []
