"""How the kit's code writes its messages: a constant template, and a keyword for each of its placeholders."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from healthcheck.text.messages import names

ROOT = Path(__file__).parents[2]
FOLDERS = ("healthcheck", "docs/site", "examples")
TEMPLATES = {"msg": 0, "plural": 1}
"""The functions that make messages, and which argument of each has all the placeholders."""
OF_THE_FUNCTIONS = {"healthcheck/text/messages.py", "healthcheck/contract.py"}
"""Modules that make messages of templates that they are given."""


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    """Each call that makes a message: its place, and the function."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name in OF_THE_FUNCTIONS:
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TEMPLATES:
                    yield f"{name}:{node.lineno}", node, node.func.id  # type: ignore[attr-defined]


def template_of(call: ast.Call, function: str) -> str | None:
    """The constant template of a call; None if it is not constant."""
    node = call.args[TEMPLATES[function]]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_a_template_is_constant() -> None:
    """Otherwise the catalogue of translations would not have it. Rules in data files have an extractor."""
    from_data = {"healthcheck/stages/weights/checks/plan_options_suit_chip.py"}
    open_ = [place for place, call, function in calls() if template_of(call, function) is None]
    assert {place.partition(":")[0] for place in open_} <= from_data, open_


def test_the_keywords_of_a_call_are_the_placeholders_of_its_template() -> None:
    wrong = []
    for place, call, function in calls():
        template = template_of(call, function)
        given = [keyword.arg for keyword in call.keywords]
        positional = len(call.args) - (3 if function == "plural" else 1)
        if positional or (given and set(given) != set(names(template or ""))):
            wrong.append(f"{place}: {template}")
    assert not wrong


def test_no_placeholder_has_a_number() -> None:
    """A translator reads the placeholder, and not the value: {label2} says nothing."""
    numbered = [
        f"{place}: {keyword.arg}"
        for place, call, _ in calls()
        for keyword in call.keywords
        if keyword.arg and keyword.arg[-1].isdigit()
    ]
    assert not numbered
