"""Finds out how vLLM passes `content` to a chat template: as text, or as a list of parts.

Source: vllm/renderers/hf.py of vLLM 0.18.0 to 0.23.0. With --chat-template-content-format auto, vLLM passes a list
of parts only if a `for` in the template goes over the content of a message. It converts what the client sends.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from jinja2 import nodes


class ContentFormat(enum.Enum):
    """The type of `content` in a template, by vLLM's names."""

    TEXT = "string"
    PARTS = "openai"


class _UnreadableError(Exception):
    """vLLM gives up on such a template, and passes text."""


def detected(tree: nodes.Template, *, by_name: bool) -> ContentFormat:
    """The format that vLLM passes to a template.

    Args:
        tree: the template.
        by_name: a loop over a variable `content` counts as well, as since vLLM 0.22.1.
    """
    try:
        messages = [*_loop_variables(tree, {"messages", *_aliases(tree)})]
        for loop in tree.find_all(nodes.For):
            named = by_name and isinstance(loop.iter, nodes.Name) and loop.iter.name == "content"
            if named or any(_is_content(_source(loop.iter), name) for name in messages):
                _name(loop.target)
                return ContentFormat.PARTS
    except _UnreadableError:
        return ContentFormat.TEXT
    return ContentFormat.TEXT


def _aliases(tree: nodes.Template) -> Iterator[str]:
    """The variables that messages, or some of them, are assigned to."""
    known, waiting = {"messages"}, ["messages"]
    while waiting:
        name = waiting.pop(0)
        for assignment in tree.find_all(nodes.Assign):
            if _is_variable(_source(assignment.node), name):
                alias = _name(assignment.target)
                if alias not in known:
                    known.add(alias)
                    waiting.append(alias)
                    yield alias


def _loop_variables(tree: nodes.Template, messages: set[str]) -> Iterator[str]:
    for loop in tree.find_all(nodes.For):
        if any(_is_variable(_source(loop.iter), name) for name in messages):
            yield _name(loop.target)


def _name(target: nodes.Node) -> str:
    if not isinstance(target, nodes.Name):
        raise _UnreadableError
    return target.name


def _source(node: nodes.Node | None) -> nodes.Node | None:
    """An expression without its filters, tests and slices."""
    while node is not None:
        is_slice = isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
        if not is_slice and not isinstance(node, nodes.Filter | nodes.Test):
            break
        node = getattr(node, "node", None)
    return node


def _is_variable(node: nodes.Node | None, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.ctx == "load" and node.name == name


def _is_content(node: nodes.Node | None, name: str) -> bool:
    """Whether an expression is the content of the variable `name`."""
    if isinstance(node, nodes.Getattr):
        return _is_variable(node.node, name) and node.attr == "content"
    if isinstance(node, nodes.Getitem):
        is_key = isinstance(node.arg, nodes.Const) and node.arg.value == "content"
        return is_key and _is_variable(node.node, name)
    return False
