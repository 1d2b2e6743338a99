# ruff: noqa: INP001 - scripts are no package
"""Extractors for Babel: the messages of the kit's files, as babel.cfg names them; Jinja has its own extractor.

Messages are the templates passed to `msg` and `plural`, the separators passed to `joined`, the pages of checks,
paragraph by paragraph, and the messages in data files. Babel's own extractor for Python reads tokens: it misses
a message in an f-string, and one that is an argument of `joined`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import BinaryIO

from healthcheck.report.page import SAID_BY_SCRIPTS
from healthcheck.scaffold.template import questions
from healthcheck.stages.service.catalogue import catalogue, message_of
from healthcheck.text.language import translated

Place = int | str
"""The index of an argument, or its keyword."""
TEXTS: Mapping[str, tuple[Place, ...]] = {
    "msg": (0,),
    "joined": (0,),
}
PLURAL = "plural"
Found = tuple[int, str, str | list[str], list[str]]
_FILE = re.compile(r"[./:]\w")
"""Matches the name of a file or an address; other sources are words."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs and list items of a text, each as one line: what `translated` looks up."""
    found: list[str] = []

    def note(message: str) -> str:
        found.append(message)
        return message

    translated(text, note)
    return found


def of_python(
    file: BinaryIO, keywords: Collection[str], tags: Collection[str], options: object
) -> Iterator[Found]:
    """Line, function, message and comments of each message, as Babel expects them."""
    del keywords, tags, options
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Call):
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            given = {
                **dict(enumerate(node.args)),
                **{word.arg: word.value for word in node.keywords},
            }
            for place in TEXTS.get(name, ()):
                for text in _texts(given.get(place)):
                    yield node.lineno, "", text, []
            if name == PLURAL:
                yield node.lineno, PLURAL, [*_texts(given[0]), *_texts(given[1])], []
        elif isinstance(node, ast.FunctionDef) and any(
            _declares(each) for each in node.decorator_list
        ):
            for text in paragraphs(inspect.cleandoc(ast.get_docstring(node) or "")):
                yield node.lineno, "", text, []


def of_failures(
    file: BinaryIO, keywords: Collection[str], tags: Collection[str], options: object
) -> Iterator[Found]:
    """The causes and fixes of the known failures, and their headings and sources, which the site shows."""
    del keywords, tags, options
    for heading in re.findall(r"^# --- ([\w ,]+?) -*$", file.read().decode(), re.MULTILINE):
        yield 1, "", heading, []
    for failure in catalogue().failures:
        yield from (
            (1, "", message_of(text).template, []) for text in (str(failure.cause), failure.fix)
        )
        yield from ((1, "", source, []) for source in failure.sources if not _FILE.search(source))


def of_rules(
    file: BinaryIO, keywords: Collection[str], tags: Collection[str], options: object
) -> Iterator[Found]:
    """What happens with the combinations of options that are known to fail."""
    del keywords, tags, options
    yield from ((1, "", rule["because"], []) for rule in json.load(file)["rules"])


def of_questions(
    file: BinaryIO, keywords: Collection[str], tags: Collection[str], options: object
) -> Iterator[Found]:
    """The questions of the template, and the labels of their answers."""
    del file, keywords, tags, options
    for question in questions():
        yield from ((1, "", text, []) for text in (question.help, *question.labels))


def of_scripts(
    file: BinaryIO, keywords: Collection[str], tags: Collection[str], options: object
) -> Iterator[Found]:
    """The texts of the page's script: the first argument of its `say`."""
    del keywords, tags, options
    for number, line in enumerate(file.read().decode().splitlines(), 1):
        yield from ((number, "", text, []) for text in SAID_BY_SCRIPTS.findall(line))


def _declares(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") in {
        "check",
        "npu_check",
    }


def _texts(node: ast.expr | None) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip():
        yield node.value
