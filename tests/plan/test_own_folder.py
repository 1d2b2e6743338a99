"""A repair uses a variable with the folder of deploy.sh only if the script sets it in any case."""

from __future__ import annotations

import pytest

from healthcheck.stages.plan.script.own_folder import own_folder

FOLDER = '"$(cd "$(dirname "$0")" && pwd)"'
SERVE = 'exec vllm serve "$MODEL_PATH" --chat-template chat.jinja\n'


@pytest.mark.parametrize(
    "before",
    [f"here={FOLDER}\n", f"export here={FOLDER}\n", f"readonly here={FOLDER}\ncd /tmp\n"],
)
def test_the_variable_of_the_script_is_used(before: str) -> None:
    text = f"#!/bin/bash\n{before}{SERVE}"
    folder = own_folder(text, text.find("chat.jinja"))
    assert (folder.name, folder.edits) == ("here", ())


@pytest.mark.parametrize(
    ("before", "below"),
    [
        (f"start() {{\n  local here={FOLDER}\n  echo $here\n}}\n", ""),
        (f"start() {{\n  here={FOLDER}\n}}\n", ""),
        (f'if [ -n "$DEBUG" ]; then\n  here={FOLDER}\nfi\n', ""),
        (f"false && here={FOLDER}\n", ""),
        (f"(here={FOLDER})\n", ""),
        (f"here={FOLDER} env\n", ""),
        (f"here={FOLDER}\nhere=/tmp\n", ""),
        (f"here={FOLDER}\nunset here\n", ""),
        (f"here={FOLDER}\nread -r here < place\n", ""),
        (f"here={FOLDER}\nfor here in a b; do echo; done\n", ""),
        (f"cd /tmp\nhere={FOLDER}\n", ""),
        ("", f"here={FOLDER}\n"),
    ],
)
def test_a_variable_that_may_lack_the_folder_is_not_used(before: str, below: str) -> None:
    text = f"#!/bin/bash\n{before}{SERVE}{below}"
    folder = own_folder(text, text.find("chat.jinja"))
    assert folder.name == "HERE"
    assert [edit.line for edit in folder.edits] == [1]


def test_an_inserted_variable_has_a_name_of_its_own() -> None:
    text = f"HERE=1\nREPOSITORY=2\nADAPTER_FOLDER=3\n{SERVE}"
    assert own_folder(text, text.find("chat.jinja")).name == "HERE_2"
