"""No code decides by the words of a message: a translation or an edit of a sentence would change a verdict."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import healthcheck

ROOT = Path(healthcheck.__file__).parent
TEXTS = {"because", "expected", "fix", "headline", "seen", "stopped", "title", "uncommitted", "why"}
"""Attributes of findings, results, reports and runs that hold a sentence for a person."""
READS = {
    "casefold", "count", "endswith", "find", "index", "lower", "partition", "removeprefix", "removesuffix",
    "rfind", "rpartition", "split", "startswith",
}  # fmt: skip


def _decisions(tree: ast.AST) -> Iterator[int]:
    """The lines where code looks for words in such a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in READS and _is_text(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = any(isinstance(side, ast.Constant) and side.value for side in sides)
            if words and any(map(_is_text, sides)):
                yield node.lineno


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in TEXTS


def test_no_code_decides_by_the_words_of_a_message() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted(ROOT.rglob("*.py"))
        for line in _decisions(ast.parse(file.read_text("utf-8")))
    ]
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        'result.because.endswith(" failed")',
        'report.stopped == "interrupted"',
        '"failed" in finding.seen',
        "run.stopped.startswith(each.value)",
    ],
)
def test_such_a_decision_would_be_found(code: str) -> None:
    assert list(_decisions(ast.parse(code))) == [1]
