"""What completion at a prompt offers of a value: `dir()` without the names that are the package's own business."""

from collections.abc import Callable


def hiding(*internal: str) -> Callable[[object], list[str]]:
    """A method `__dir__` that leaves some names out, which can be used all the same."""
    hidden = frozenset(internal)
    return lambda value: [name for name in object.__dir__(value) if name not in hidden]
