"""Small changes to a module that its tests should notice.

Comparisons, conditions, constants, arithmetic; a statement, an operand, an argument or a fact in a text that is not
there; a function that returns None. Of what people read (texts with blanks, docstrings) the words are left alone, and
so is what no run of the code can show: annotations, aliases and variables of types, `cast`, `@overload`, `__slots__`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
# Statements that may be missing, and the lists in which they stand.
_STATEMENTS = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
_BODIES = ("body", "orelse", "finalbody")
# Parts in which nothing that runs stands, and keywords whose values are words for people.
_TYPES = ("annotation", "returns", "bases", "decorator_list")
_WORDS = ("hint", "text", "says")
# What takes types in brackets, and what only a checker of types reads.
_GENERIC = ("dict", "frozenset", "list", "set", "tuple", "type")
_FOR_CHECKERS = ("TypeVar", "NewType", "cast")


class Mutant(NamedTuple):
    """A module with one change: where it is, what it is in words, the module as it was, and which of its changes."""

    line: int
    change: str
    module: str
    place: int

    @property
    def source(self) -> str:
        """The source with the change."""
        tree = ast.parse(self.module)
        change = _in_order(tree)[self.place]
        setattr(change.node, change.field, change.value)
        return ast.unparse(ast.fix_missing_locations(tree))

    @property
    def text(self) -> str:
        """The line as it was, without the blanks around it."""
        return self.module.splitlines()[self.line - 1].strip()


class _Change(NamedTuple):
    node: ast.AST
    words: str
    field: str
    value: object
    line: int = 0


def of(source: str) -> Iterator[Mutant]:
    """Every mutant of a module's source, in the order of its lines."""
    for place, change in enumerate(_in_order(ast.parse(source))):
        yield Mutant(_line(change), change.words, source, place)


def _in_order(tree: ast.Module) -> list[_Change]:
    return sorted(_changes(tree), key=_line)


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for node in _running(tree):
        yield from _missing(node)
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.If, ast.IfExp, ast.While, ast.comprehension)):
            yield from _conditions(node)
        elif isinstance(node, ast.Constant):
            yield from _constants(node)
        elif isinstance(node, ast.Call):
            yield from _arguments(node)
        else:
            yield from _values(node)


def _values(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]()
        yield _Change(node, f"{_name(node.op)} → {_name(other)}", "op", other)
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield _Change(node, "returns None", "value", ast.Constant(None))
    elif isinstance(node, ast.JoinedStr):
        for place, fact in enumerate(node.values):
            if isinstance(fact, ast.FormattedValue):
                words = f"without {_short(fact.value)} in the text"
                yield _Change(node, words, "values", [*node.values[:place], *node.values[place + 1 :]])
    elif isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load):
        for place in range(len(node.elts)):
            elements = [*node.elts[:place], *node.elts[place + 1 :]]
            yield _Change(node, f"without element {place}: {_short(node.elts[place])}", "elts", elements)


def _missing(node: ast.AST) -> Iterator[_Change]:
    for field in _BODIES:
        statements = getattr(node, field, None)
        if not isinstance(statements, list):
            continue
        for place, each in enumerate(statements):
            if isinstance(each, _STATEMENTS) and not _is_constant(each):
                rest = [*statements[:place], ast.Pass(), *statements[place + 1 :]]
                yield _Change(node, f"without the statement {_short(each)}", field, rest, each.lineno)


def _is_constant(node: ast.stmt) -> bool:
    """A docstring, or an `…`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_Condition = ast.Compare | ast.BoolOp | ast.If | ast.IfExp | ast.While | ast.comprehension


def _conditions(node: _Condition) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[place] = _COMPARISONS[type(operator)]()
            yield _Change(node, f"{_name(operator)} → {_name(ops[place])}", "ops", ops)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _Change(node, f"{_name(node.op)} → {_name(other)}", "op", other)
        for place, operand in enumerate(node.values):
            rest = [*node.values[:place], *node.values[place + 1 :]]
            yield _Change(node, f"without the operand {_short(operand)}", "values", rest)
    elif isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            yield _Change(node, f"without `if {_short(test)}`", "ifs", [*node.ifs[:place], *node.ifs[place + 1 :]])
    else:
        yield _Change(node, "condition turned", "test", ast.UnaryOp(ast.Not(), node.test))


def _line(change: _Change) -> int:
    """Where the change is, or its node begins; a comprehension has no line of its own."""
    node = change.node.target if isinstance(change.node, ast.comprehension) else change.node
    return change.line or int(getattr(node, "lineno", 0))


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """What runs, and is not for people or for types alone."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in _TYPES or isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in _WORDS:
                yield from (part for part in ast.walk(child) if isinstance(part, ast.JoinedStr))
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.AST) and not _is_for_types(child) and not _is_type(node, name):
                yield from _running(child)


def _is_for_types(node: ast.AST) -> bool:
    """Whether only a checker of types reads this, or no run can show it."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        # An alias of types, such as `Json = dict[str, Any]`, has a name like a class.
        is_alias = name != name.upper() and name[0].isupper() and _is_made_of_names(node.value)
        is_variable = isinstance(node.value, ast.Call) and _called(node.value) in _FOR_CHECKERS
        return is_alias or is_variable or name in ("TYPE_CHECKING", "__slots__")
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(ast.unparse(each).endswith("overload") for each in node.decorator_list)


def _is_type(node: ast.AST, field: str) -> bool:
    """Whether this part of a node is a type: what stands in the brackets of `list[str]`."""
    return isinstance(node, ast.Subscript) and field == "slice" and ast.unparse(node.value) in _GENERIC


def _is_made_of_names(value: ast.expr) -> bool:
    parts = (ast.Subscript, ast.BinOp, ast.BitOr, ast.Name, ast.Attribute, ast.List, ast.Tuple, ast.Load)
    is_text = isinstance(value, (ast.Constant, ast.List, ast.Tuple))
    return not is_text and all(
        isinstance(each, parts) or (isinstance(each, ast.Constant) and not isinstance(each.value, int))
        for each in ast.walk(value)
    )


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _constants(node: ast.Constant) -> Iterator[_Change]:
    value = node.value
    if isinstance(value, bool):
        yield _Change(node, f"{value} → {not value}", "value", not value)
    elif isinstance(value, int):
        yield _Change(node, f"{value} → {value + 1}", "value", value + 1)
    elif isinstance(value, str) and value.strip() and " " not in value:
        yield _Change(node, f"{value!r} → {value + 'X'!r}", "value", f"{value}X")


def _arguments(node: ast.Call) -> Iterator[_Change]:
    if _called(node) in _FOR_CHECKERS:
        return
    for place, keyword in enumerate(node.keywords):
        if keyword.arg not in _WORDS:
            rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
            yield _Change(node, f"without {_short(keyword)} in the call of {_short(node.func)}", "keywords", rest)
    # Without its last argument: of those before it, most calls fail at once, which tells nothing.
    if len(node.args) > 1:
        words = f"without {_short(node.args[-1])} in the call of {_short(node.func)}"
        yield _Change(node, words, "args", node.args[:-1])


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _short(node: ast.AST) -> str:
    text = ast.unparse(copy.deepcopy(node)).replace("\n", " ")
    return text if len(text) <= 40 else f"{text[:37]}…"
