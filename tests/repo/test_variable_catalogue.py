"""scripts/make_variable_catalogue.py: a release's own functions say which values they accept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.ascend.variables import TextKind, Variable, kind_of
from tests.support.template import ROOT

SCRIPT = ROOT / "scripts" / "make_variable_catalogue.py"
ENVS = """
import json
import os


def one_of(name, choices, fold=False):
    def read():
        value = os.getenv(name, choices[0])
        known = [each.lower() for each in choices] if fold else choices
        if (value.lower() if fold else value) not in known:
            raise ValueError(value)
        return value

    return read


def several(name, choices):
    def read():
        values = [each for each in os.getenv(name, "").split(",") if each]
        if not set(values) <= set(choices()):
            raise ValueError(values)
        return values

    return read


def json_or_file():
    value = os.getenv("JSON_OR_FILE", "{}")
    if os.path.exists(value):
        with open(value) as file:
            return json.load(file)
    return json.loads(value)


environment_variables = {
    "TEXT": lambda: os.getenv("TEXT", ""),
    "COUNT": lambda: int(os.getenv("COUNT", "3")),
    "SHARE": lambda: float(os.getenv("SHARE", "0.5")),
    "METHOD": one_of("METHOD", ["spawn", "fork"]),
    "PRECISION": one_of("PRECISION", ["highest", "high"], fold=True),
    "LABELS": several("LABELS", lambda: ["search", "python"]),
    "JSON_OR_FILE": json_or_file,
    "BROKEN": lambda: no_such_name,
    "MINE": lambda: os.environ.setdefault("COUNT", "not a number"),
}
"""
NUMBERS = ["bit", "int", "negative"]
ANSWERS = {
    "TEXT": {},
    "COUNT": {"takes": NUMBERS},
    "SHARE": {"takes": [*NUMBERS, "float"]},
    "METHOD": {"choices": ["spawn", "fork"]},
    "PRECISION": {"choices": ["highest", "high"], "any_case": True},
    "LABELS": {"takes": ["empty"], "choices": ["search", "python"], "many": True},
    "JSON_OR_FILE": {"takes": [*NUMBERS, "float", "truth", "json", "file"]},
    "BROKEN": {},
    "MINE": {},
}


@pytest.mark.process
def test_the_functions_of_a_release_say_what_they_accept(tmp_path: Path) -> None:
    (tmp_path / "envs.py").write_text(ENVS)
    catalogue = tmp_path / "vllm-1.0.json"
    option = {"flags": ["--one"], "kind": "int"}
    catalogue.write_text(json.dumps({"vllm": "1.0", "known": {}, "options": [option]}))
    command = [sys.executable, SCRIPT, tmp_path / "envs.py"]
    environment = {"COUNT": "of this machine"}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout) == ANSWERS
    assert "no answer for BROKEN: NameError" in printed.stderr
    subprocess.run([*command, catalogue], env=environment, capture_output=True, check=True)
    written = json.loads(catalogue.read_bytes())
    assert written == {"vllm": "1.0", "known": {}, "variables": ANSWERS, "options": [option]}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", "empty"),
        ("1", "bit"),
        (" 5 ", "int"),
        ("5s", "text"),
        ("-1", "negative"),
        ("0.5", "float"),
        ("1e3", "float"),
        ("True", "truth"),
        ('{"a": 1}', "json"),
        ("{'a': 1}", "text"),
        ("[" * 3000, "text"),
    ],
)
def test_a_value_has_a_kind(value: str, kind: str) -> None:
    assert kind_of(value) is TextKind(kind)


def test_a_variable_accepts_what_its_release_reads() -> None:
    count = Variable(takes=(TextKind.BIT, TextKind.INT))
    labels = Variable(takes=(TextKind.EMPTY,), choices=("search", "python"), many=True)
    precision = Variable(choices=("highest", "high"), any_case=True)
    file = Variable(takes=(TextKind.JSON, TextKind.FILE))
    accepted = [
        (Variable(), "anything"),
        (count, "5"),
        (count, "x" * 5000),
        (labels, ""),
        (labels, "search, python"),
        (precision, "HIGH"),
        (file, "conf/a.json"),
    ]
    refused = [
        (count, "5s"),
        (count, ""),
        (labels, "search,web"),
        (precision, "low"),
        (file, "{'a': 1}"),
    ]
    assert [(each, value) for each, value in accepted if not each.accepts(value)] == []
    assert [(each, value) for each, value in refused if each.accepts(value)] == []
