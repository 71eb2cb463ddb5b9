"""The order of the rooms, and the imports of a source that point the wrong way in it or go round in circles."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

# A room imports only itself and rooms in lines before its own; modules at the root are rooms of one.
ORDER = (
    ("client",),
    ("keeping",),
    ("errors",),
    ("files",),
    ("text",),
    ("kernels",),
    ("survey",),
    ("reports",),
    ("counts",),
    ("inference",),
    ("charts",),
    ("tables",),
    ("estimates",),
    ("simulate", "paper"),
    ("analyses",),
    ("page", "validation"),
    ("collect",),
    ("cli",),
    ("__main__",),
)
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
# Methods of an early noun whose work lies in a later room go through this module: it may import every room, and every
# room may import it, inside functions.
LATE = "deniable.late"


def room_of(module: str) -> str:
    """The room of a module such as "deniable.survey.plan", or the module itself if it stands at the root."""
    return module.split(".")[1] if "." in module else ""


def imports_of(source: str, module: str, modules: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Every module of the package that a source imports, and whether it does so when it is loaded itself.

    An import under TYPE_CHECKING or inside a function is not made on loading.
    """

    def walk(node: ast.AST, loading: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, loading) for alias in child.names if alias.name.split(".")[0] == "deniable")
            elif isinstance(child, ast.ImportFrom):
                yield from ((name, loading) for name in _from(child, module, modules))
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from walk(child, loading=False)
            else:
                yield from walk(child, loading and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    yield from walk(ast.parse(source), True)


def _from(node: ast.ImportFrom, module: str, modules: Mapping[str, str]) -> Iterator[str]:
    home = node.module or ""
    if node.level:
        above = module.split(".")[: -node.level]
        home = ".".join([*above, home]) if home else ".".join(above)
    if home.split(".")[0] != "deniable":
        return
    for alias in node.names:
        yield f"{home}.{alias.name}" if f"{home}.{alias.name}" in modules else home


def wrong_way(sources: Mapping[str, str]) -> list[str]:
    """Each import that points the wrong way, as "importer -> imported"; sources by the modules' full names."""
    found = []
    for module, source in sources.items():
        if module in ("deniable", LATE):  # the root resolves its names lazily, and names their homes for type checkers
            continue
        for other, loading in imports_of(source, module, sources):
            if not _allowed(module, other, loading):
                found.append(f"{module} -> {other}")
    return found


def _allowed(module: str, other: str, loading: bool) -> bool:
    here, there = room_of(module), room_of(other)
    if other == LATE:
        return not loading
    if there == "":  # the root package itself, for its version
        return here not in ("client", "keeping", "errors", "files")
    if here == there:
        return True
    return PLACE[there] < PLACE[here]


def cycles(sources: Mapping[str, str]) -> list[str]:
    """Modules that import each other in a circle when they are loaded, if there are any."""
    graph = {
        module: {other for other, loading in imports_of(source, module, sources) if loading and other != module}
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        return list(circle.args[1])
    return []
