"""Rows whose answer is code: HumanEval's (a function, `check`), MBPP's (asserts), APPS's (inputs, outputs)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

_MOST_TEXTS, _MOST_OUTPUT_CHARS = 1000, 2**20
_DEFINED = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)


def problem(identity: str, row: Mapping[str, object]) -> Problem | None:
    """The problem of a row of code; None for other rows.

    Raises:
        UsageError: it is a row of code that cannot be graded.
    """
    if row.get("test") and row.get("entry_point"):
        return _human_eval(identity, row)
    if row.get("test_list"):
        return _mbpp(identity, row)
    return _apps(identity, row) if row.get("input_output") else None


def _human_eval(identity: str, row: Mapping[str, object]) -> Problem:
    name, prompt, tests = (_text(row, column) for column in ("entry_point", "prompt", "test"))
    if not name.isidentifier() or "def check(" not in tests:
        raise UsageError(
            msg("its entry_point is to name a function, and its test to define check(candidate)")
        )
    solution = prompt + str(row["canonical_solution"]) if row.get("canonical_solution") else ""
    return _code(identity, prompt, solution, (name, prompt, f"{tests}\n\ncheck({name})\n"))


def _mbpp(identity: str, row: Mapping[str, object]) -> Problem:
    asked, solution = _text(row, "text", "prompt", "question"), _text(row, "code")
    tests = "\n".join(_texts(row, "test_list"))
    name = next(
        (name for name in reversed(_DEFINED.findall(solution)) if re.search(rf"\b{name}\b", tests)),
        "",
    )
    if not name:
        raise UsageError(msg("its test_list calls no function that its code defines"))
    setup = (
        "\n".join([*_texts(row, "test_imports"), str(row.get("test_setup_code") or "")]).strip()
        + "\n"
    )
    question = f"{asked}\n\n```python\n{tests}\n```"
    return _code(identity, question, solution, (name, setup, f"{setup}{tests}\n"))


def _apps(identity: str, row: Mapping[str, object]) -> Problem:
    tests = _json(row, "input_output")
    if not isinstance(tests, Mapping) or tests.get("fn_name"):
        raise UsageError(
            msg("its input_output is to have “inputs” and “outputs” alone: no function is called")
        )
    inputs, outputs = _texts(tests, "inputs"), _texts(tests, "outputs")
    if not 0 < len(inputs) == len(outputs) or sum(map(len, outputs)) > _MOST_OUTPUT_CHARS:
        raise UsageError(
            msg(
                "it has {inputs} inputs and {outputs} outputs: expected are as many, of {most} characters",
                inputs=len(inputs),
                outputs=len(outputs),
                most=_MOST_OUTPUT_CHARS,
            )
        )
    solutions = _texts({"solutions": _json(row, "solutions")}, "solutions")
    pairs = tuple(text for pair in zip(inputs, outputs, strict=True) for text in pair)
    found = _code(
        identity, _text(row, "question", "prompt"), solutions[0] if solutions else "", pairs
    )
    return replace(found, family="program", kind=AnswerKind.PROGRAM)


def _code(identity: str, question: str, solution: str, references: tuple[str, ...]) -> Problem:
    worked = f"```python\n{solution.rstrip()}\n```" if solution.strip() else ""
    return Problem(
        id=identity, family="code", tier="", question=question, answer=solution, kind=AnswerKind.CODE,
        worked=worked, references=references,
    )  # fmt: skip


def _text(row: Mapping[str, object], *names: str) -> str:
    """The first of these columns that has a text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    raise UsageError(msg("its {names} is to be a text", names=" or ".join(map(repr, names))))


def _texts(row: Mapping[str, object], name: str) -> list[str]:
    """A list of texts; empty if the row has none."""
    value = row.get(name) or []
    if (
        not isinstance(value, list)
        or len(value) > _MOST_TEXTS
        or not all(isinstance(one, str) for one in value)
    ):
        raise UsageError(
            msg(
                "its {name} is to be a list of at most {most} texts",
                name=repr(name),
                most=_MOST_TEXTS,
            )
        )
    return value


def _json(row: Mapping[str, object], name: str) -> object:
    """The content of a column, which APPS writes as JSON inside a text."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        return value
    try:
        return json_text.load_few(value.encode("utf-8", "surrogatepass"), object, 3 * _MOST_TEXTS)
    except JsonError as error:
        raise UsageError(
            msg("its {name} is to be JSON: {error}", name=repr(name), error=error)
        ) from error
