"""Finds an option of the server in a committed Python program that deploy.sh starts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.weights.records import WeightsFacts

_STARTS_ITSELF = re.compile(r"\bvllm\s+serve\b|\bapi_server\b|\bsglang\b")
"""A command of deploy.sh that is the server, whatever Python files it mentions."""

_OPTION = re.compile(r"--?[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A Python program that starts the server.

    Attributes:
        line: the line that writes the option; 0 if it does not write it.
    """

    file: str
    text: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def launcher(facts: WeightsFacts, option: str) -> Launcher | None:
    """The program in the line of deploy.sh that starts the server; None if deploy.sh starts it itself."""
    plan = facts.plan
    number = deploy_sh.line_number(facts.where)
    if plan is None or facts.submission is None or not number:
        return None
    command = deploy_sh.line_at(plan.script, number)
    if _STARTS_ITSELF.search(command):
        return None
    for text in facts.submission.written:
        name = text.path.rpartition("/")[2]
        if name.endswith(".py") and not text.truncated and _names(command, name):
            source = text.data.decode("utf-8", "replace")
            return Launcher(file=text.path, text=source, line=_line_of(source, option))
    return None


def revalued(found: Launcher, option: str, value: str) -> tuple[Edit, ...]:
    """Replace the value of an option in a list or a dictionary of arguments; () if it is not there exactly once.

    An option without a value has none to replace: `value` is "", or another option follows.
    """
    try:
        tree = ast.parse(found.text)
        values = list(_values(tree, option))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if len(values) != 1 or not value or "\r" in found.text:
        return ()
    node = values[0]
    if isinstance(node, ast.Constant) and _OPTION.match(str(node.value)):
        return ()
    source = ast.get_source_segment(found.text, node)
    before = "".join(found.text.splitlines(keepends=True)[: node.lineno - 1])
    line = found.text[len(before) :].encode()[: node.col_offset].decode("utf-8", "replace")
    start = len(before) + len(line)
    if not source or found.text[start : start + len(source)] != source:
        return ()
    return (replaced(found.file, found.text, start, start + len(source), _literal(value)),)


def _literal(value: str) -> str:
    """A text as a literal of Python, between double quotes if it has none."""
    written = repr(value)
    return written if '"' in value else f'"{written[1:-1]}"'


def _names(command: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", command) is not None


def _line_of(source: str, option: str) -> int:
    """The first line of code that writes an option, as an argument or as a keyword; 0 without one."""
    dashes, name = re.escape(option).replace(r"\-", "[-_]"), option.replace("-", "_")
    written = re.compile(rf"--{dashes}(?![\w-])|(?<![\w-])[\"']?{name}[\"']?\s*[=:](?!=)")
    lines = enumerate(source.splitlines(), 1)
    return next((at for at, line in lines if written.search(line.partition("#")[0])), 0)


def _values(tree: ast.AST, option: str) -> Iterator[ast.expr]:
    """The values behind an option in lists, tuples and dictionaries."""
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, (ast.List, ast.Tuple)):
            pairs = list(zip(node.elts, node.elts[1:], strict=False))
        yield from (value for key, value in pairs if _is_option(key, option))


def _is_option(node: ast.expr | None, option: str) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and text.replace("_", "-") == f"--{option}"
