"""Texts for users and docstrings keep to the words of docs/glossary.md: no turn of phrase that a reader has to translate."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck.stages.service.catalogue import catalogue as known_failures
from healthcheck.verify import catalogue
from tests.docs.blocks import ROOT
from tests.support.commands import whole_parser

AVOIDED = re.compile(
    r"(?<!there )\b(?:is|are|was) no (?!longer\b|more\b|less\b|worse\b)|\banew\b|\bdearer\b|\bgravest\b|\bby and by\b"
    r"|\bin vain\b|rehears|\bstand-?ins?\b|\bstood in\b|\basks?\b[^.]{0,40}\bagain and again\b|\bsee to\b|\b(?:could|can) ?not be told\b"
    r"|\bfor want of\b|\bwithout a word\b|\bset back\b|\bdo without it\b|\bslip of the pen\b|\bbring it along\b",
    re.IGNORECASE,
)
"""Say: is not a, again, slower or costlier, most severe, incrementally, never succeeds, dry run, stub, poll, fix …"""
QUOTED = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
PYTHON = sorted(
    path
    for path in (ROOT / "healthcheck").rglob("*.py")
    if not {"stubs", "inside"} & set(path.parts)
)


def avoided(text: str) -> list[str]:
    """The turns in a text, each with what stands around it; code in it is somebody else's."""
    prose = QUOTED.sub("``", text)
    return [
        prose[max(0, match.start() - 40) : match.end() + 40] for match in AVOIDED.finditer(prose)
    ]


def texts_of_checks() -> Iterator[tuple[str, str]]:
    for page in catalogue.pages():
        for text in (page.title, page.why, page.body):
            yield page.id, text


def help_texts() -> Iterator[tuple[str, str]]:
    for name, parser in _parsers(whole_parser()):
        yield name, parser.format_help()


def _parsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield parser.prog, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)


def messages(path: Path) -> Iterator[str]:
    """The string literals of a module that have more than one word, but for docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in documented else None
        if isinstance(text, str) and " " in text:
            yield text


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a module, and the texts below its constants."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value.value


@pytest.mark.parametrize(
    "text",
    [
        "it asks again and again",
        "a.json is no file",
        "There was a rehearsal.",
        "see to “x”",
        "a stand-in for curl",
    ],
)
def test_a_turn_is_found(text: str) -> None:
    assert avoided(text)


@pytest.mark.parametrize(
    "text", ["there is no file", "There is no server", "the limit is no longer needed", "`anew`"]
)
def test_plain_english_is_left_alone(text: str) -> None:
    assert not avoided(text)


def test_titles_reasons_and_pages_of_the_checks() -> None:
    found = [f"{id_}: {turn}" for id_, text in texts_of_checks() for turn in avoided(text)]
    assert found == []


def test_help_of_every_command() -> None:
    found = [f"{name}: {turn}" for name, text in help_texts() for turn in avoided(text)]
    assert found == []


def test_messages() -> None:
    texts = ((path.relative_to(ROOT), text) for path in PYTHON for text in messages(path))
    found = [f"{path}: {turn}" for path, text in texts for turn in avoided(text)]
    assert found == []


def test_docstrings() -> None:
    paths = [
        path
        for folder in ("healthcheck", "adapter")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    found = [
        f"{path}: {turn}" for path in paths for text in docstrings(path) for turn in avoided(text)
    ]
    assert len(paths) > 400
    assert found == []


def test_causes_and_repairs_of_known_failures() -> None:
    texts = [
        (each.id, text) for each in known_failures().failures for text in (each.cause, each.fix)
    ]
    assert texts
    assert [f"{id_}: {turn}" for id_, text in texts for turn in avoided(text)] == []
