"""Planting a bug: a text of a module's source is replaced, and the code of its functions exchanged for a while."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

PARTS = ("__code__", "__defaults__", "__kwdefaults__")


class Bug(NamedTuple):
    """A text of a module that is replaced by another one."""

    module: str  # below deniable
    old: str
    new: str


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """The bug, for everybody who has imported the functions already; afterwards all is as before."""
    module = importlib.import_module(f"deniable.{bug.module}")
    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    assert source.count(bug.old) == 1, f"the text to replace stands {source.count(bug.old)} times in {bug.module}"
    wrong = dict(vars(module))
    exec(compile(source.replace(bug.old, bug.new), inspect.getfile(module), "exec"), wrong)
    own = {name: thing for name, thing in vars(module).items() if _is_own(thing, module.__name__)}
    pairs = [pair for name, thing in own.items() for pair in _functions(thing, wrong[name])]
    changed = [
        (right, other) for right, other in pairs if any(getattr(right, part) != getattr(other, part) for part in PARTS)
    ]
    kept = [(right, {part: getattr(right, part) for part in PARTS}) for right, _ in changed]
    numbers = {name: thing for name, thing in vars(module).items() if name.isupper() and isinstance(thing, int)}
    assert changed or any(wrong[name] != number for name, number in numbers.items()), "nothing was planted"
    try:
        for right, other in changed:
            for part in PARTS:
                setattr(right, part, getattr(other, part))
        vars(module).update({name: wrong[name] for name in numbers})
        _forget()
        yield
    finally:
        _forget()
        vars(module).update(numbers)
        for right, parts in kept:
            for part, thing in parts.items():
                setattr(right, part, thing)


def _forget() -> None:
    """Empty every cache of the package, which may hold what other code made."""
    for name, module in list(sys.modules.items()):
        if name.startswith("deniable"):
            for thing in vars(module).values():
                if isinstance(thing, _lru_cache_wrapper):
                    thing.cache_clear()


def _is_own(thing: Any, module: str) -> bool:
    return isinstance(thing, FunctionType | type) and thing.__module__ == module


def _functions(right: Any, wrong: Any) -> Iterator[tuple[FunctionType, FunctionType]]:
    """A function, or those of a class, beside its namesake."""
    if isinstance(right, FunctionType):
        yield right, wrong
        return
    for name, thing in vars(right).items():
        one, other = _bare(thing), _bare(vars(wrong).get(name))
        if isinstance(one, FunctionType) and isinstance(other, FunctionType):
            yield one, other


def _bare(thing: Any) -> Any:
    """The function behind a property, a cached one or a class method."""
    for part in ("fget", "func", "__func__"):
        thing = getattr(thing, part, None) or thing
    return thing
