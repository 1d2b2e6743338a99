"""The value of an option is replaced in a Python program that starts the server."""

from __future__ import annotations

import ast

import pytest

from healthcheck.stages.weights.launcher import Launcher, revalued
from healthcheck.verify.fix import Repair, propose


def edited(text: str, option: str, value: str) -> str:
    """The program with the new value, or as it is without edits."""
    edits = revalued(Launcher(file="serve.py", text=text, line=1), option, value)
    repair = Repair(check="x", words="", edits=edits)
    changes = propose([repair], {"serve.py": text.encode()}).changes
    return changes[0].after.decode() if changes else text


@pytest.mark.parametrize("value", ['{"mode": 3}', "it's", "\"'\\", "a\\nb", "4"])
def test_the_new_value_is_a_literal_of_python(value: str) -> None:
    after = edited('args = ["--compilation-config", "{}"]\n', "compilation-config", value)
    assert ast.literal_eval(after.partition("= ")[2])[1] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('args = ["--enforce-eager", "--port", "8000"]\n', ""),
        ('args = ["--enforce-eager", "-tp", "2"]\n', "4"),
        ('args = {"--enforce-eager": True}\n', ""),
    ],
)
def test_an_option_without_a_value_gets_none(text: str, value: str) -> None:
    assert edited(text, "enforce-eager", value) == text
