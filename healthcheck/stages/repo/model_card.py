"""The model card: the YAML front matter of README.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck.system import yaml_text
from healthcheck.text.messages import msg

FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
MAX_FRONT_MATTER_CHARS = 64 * 1024

_TASK_KEYS = ("pipeline_tag", "task")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The front matter of a model card; empty if there is none.

    Attributes:
        present: whether README.md has front matter.
        error: why the front matter cannot be read, "" if it can.
        task: the value of `pipeline_tag`, or else of `task`; "" if neither is a string.
        task_key: the key that the task came from.
    """

    present: bool = False
    error: str = ""
    task: str = ""
    task_key: str = ""


def read_card(readme: bytes | None) -> Card:
    """Read the card of a README.md; sets `error` instead of raising."""
    text = (readme or b"").decode("utf-8", "replace")
    found = FRONT_MATTER.match(text)
    if not found:
        return Card()
    if found.end(1) > MAX_FRONT_MATTER_CHARS:
        limit = MAX_FRONT_MATTER_CHARS
        why = msg(
            "the front matter is longer than {max_front_matter_chars} characters",
            max_front_matter_chars=limit,
        )
        return Card(present=True, error=why)
    try:
        data = yaml_text.load(found.group(1))
    except yaml_text.YamlError as error:
        return Card(present=True, error=str(error))
    if data is None:
        return Card(present=True)
    if not isinstance(data, dict):
        return Card(present=True, error=msg("the front matter is not a mapping"))
    key = next((key for key in _TASK_KEYS if _word(data.get(key))), "")
    return Card(present=True, task=_word(data.get(key)), task_key=key)


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
