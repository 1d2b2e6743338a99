"""AISBench's configuration files: Python text of `name=dict(...)` assignments. Read without running it.

Only literals, lists, tuples, dictionaries and calls of `dict` with keywords are understood; whatever else stands
there is None.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping

from healthcheck.records import JsonValue

MAX_CHARS = 4_000_000


def parse(text: str) -> dict[str, JsonValue]:
    """The top-level sections of a configuration; empty if the text is not such a file."""
    if len(text) > MAX_CHARS:
        return {}
    try:
        module = ast.parse(text)
        return {
            statement.targets[0].id: _value(statement.value)
            for statement in module.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def render(sections: Mapping[str, JsonValue]) -> str:
    """A configuration in AISBench's manner: sections and keys in alphabetical order."""
    return "".join(f"{name}={_literal(sections[name], 1)}\n" for name in sorted(sections))


def _value(node: ast.expr) -> JsonValue:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (bool, int, float, str)) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _value(node.operand)
        return -operand if isinstance(operand, (int, float)) else None
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        return {
            key.value: _value(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {word.arg: _value(word.value) for word in node.keywords if word.arg}
    return None


def _is_word(name: str) -> bool:
    """Whether it can be a keyword of a call and comes back as it was; Python normalises beyond ASCII."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _literal(value: JsonValue, depth: int) -> str:
    indent = "    " * depth
    if isinstance(value, dict):
        if not all(map(_is_word, value)):
            inner = (f"{indent}{name!r}: {_literal(value[name], depth + 1)}" for name in sorted(value))
            return "{\n" + ",\n".join(inner) + "}"
        inner = (f"{name}={_literal(value[name], depth + 1)}" for name in sorted(value))
        return "dict(" + f",\n{indent}".join(inner) + ")"
    if isinstance(value, list):
        return "[\n" + "".join(f"{indent}{_literal(item, depth + 1)},\n" for item in value) + f"{indent}]"
    return repr(value)
