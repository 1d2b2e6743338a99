"""Reads AISBench's configuration files, Python text of `name=dict(...)` assignments, without running them.

Only literals, lists, tuples, dictionaries and calls of `dict` with keywords are supported; anything else becomes
None.
"""

from __future__ import annotations

import ast

from healthcheck.core.records import JsonValue

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
