"""Mutants of a module: its syntax tree with one small fault each.

    comparison   < becomes <= and >=, == becomes !=, `in` becomes `not in`, ...
    arithmetic   + becomes -, * becomes /, << becomes >>, & becomes |, ...
    constant     a number is one more or one less, True becomes False
    boolean      `and` becomes `or`, `not x` becomes x, a condition is negated
    dropped      a call, a raise or an augmented assignment is left out; a function returns None
    swapped      the first two arguments of a call change places; break becomes continue

Annotations, decorators, docstrings and what only type checkers read are left alone: they decide nothing at run time, or
nothing but how long something is remembered.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.MatMult: ast.Mult,
}
SAME_IN_ANY_ORDER = ("min", "max")  # of numbers
CONDITIONS = (ast.If, ast.While, ast.IfExp, ast.Assert)
UNREAD = ("annotation", "returns", "decorator_list")  # These fields of a node decide nothing at run time.


@dataclass(frozen=True)
class Mutant:
    """One fault: the place of a node in the order of `nodes`, and which of its variants."""

    path: Path
    place: int
    variant: int
    line: int
    last_line: int
    what: str  # as a programmer would say it

    def tree(self) -> ast.Module:
        """The module's syntax tree with the fault."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        node, parent, field, index = list(_nodes(tree))[self.place]
        new = list(_variants(node, parent))[self.variant][1]
        if index is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[index] = new
        return ast.fix_missing_locations(tree)

    @property
    def source(self) -> str:
        """The first line of what is changed, as it stands, without a comment."""
        return self.path.read_text(encoding="utf-8").splitlines()[self.line - 1].split("  #")[0].strip()

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}: {self.what}"


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file, in its order."""
    found = []
    for place, (node, parent, _, _) in enumerate(_nodes(ast.parse(path.read_text(encoding="utf-8")))):
        for variant, (what, _) in enumerate(_variants(node, parent)):
            at = node if hasattr(node, "lineno") else parent
            found.append(Mutant(path, place, variant, at.lineno, at.end_lineno or at.lineno, what))  # type: ignore[attr-defined]
    return found


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str, int | None]]:
    """Every node that may be exchanged, with its parent and where it stands there."""
    for field, value in ast.iter_fields(tree):
        if field in UNREAD or (isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.dump(tree.test)):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield child, tree, field, index
                yield from _nodes(child)


def _variants(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The faulty nodes that may stand instead of a node, each with what was done."""
    yield from _expressions(node)
    yield from _statements(node)
    if isinstance(parent, CONDITIONS) and node is parent.test and not _is_not(node):
        yield f"condition negated: {_text(node)}", ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]
    if isinstance(parent, ast.comprehension) and node in parent.ifs:
        yield f"condition negated: {_text(node)}", ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]


def _expressions(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    new = ast.Compare(left, [*ops[:at], other(), *ops[at + 1 :]], comparators)
                    yield f"comparison: {_text(node)} -> {_text(new)}", new
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not _is_text(left):
            changed = ast.BinOp(left, ARITHMETIC[type(op)](), right)
            yield f"arithmetic: {_text(node)} -> {_text(changed)}", changed
        case ast.BoolOp(op, values):
            other_op = ast.And() if isinstance(op, ast.Or) else ast.Or()
            yield f"boolean: {_text(node)} -> {_text(ast.BoolOp(other_op, values))}", ast.BoolOp(other_op, values)
        case ast.UnaryOp(ast.Not(), operand):
            yield f"boolean: {_text(node)} -> {_text(operand)}", operand
        case ast.Constant(bool() as value):
            yield f"constant: {value} -> {not value}", ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            for other_value in (value + 1, value - 1):
                yield f"constant: {value} -> {other_value}", ast.Constant(other_value)
        case ast.Call(func, [first, second, *others], keywords) if _text(func) not in SAME_IN_ANY_ORDER:
            if ast.dump(first) != ast.dump(second) and not isinstance(first, ast.Starred):
                call = ast.Call(func, [second, first, *others], keywords)
                yield f"swapped: {_text(node)} -> {_text(call)}", call


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Expr(ast.Constant() | ast.Yield() | ast.YieldFrom()):
            return
        case ast.Expr() | ast.Raise() | ast.AugAssign():
            yield f"dropped: {_text(node)}", ast.Pass()
        case ast.Return(value) if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            yield f"dropped: {_text(node)} -> return None", ast.Return(ast.Constant(None))
        case ast.Break():
            yield "swapped: break -> continue", ast.Continue()
        case ast.Continue():
            yield "swapped: continue -> break", ast.Break()


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_text(node: ast.AST) -> bool:
    """Whether an operand is a text, of which a sum or a share is an error at once."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _text(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(ast.parse(ast.unparse(node)))).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."
