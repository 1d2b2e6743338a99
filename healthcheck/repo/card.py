"""The model card: the YAML front matter of README.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck import yaml_text

FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
MAX_FRONT_MATTER = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The front matter of a model card; empty if there is none.

    Attributes:
        present: whether README.md has front matter.
        error: why it cannot be read, "" if it can.
    """

    present: bool = False
    error: str = ""
    pipeline_tag: str = ""


def read_card(readme: bytes | None) -> Card:
    """The card of a README.md; an unreadable one is a card with an error, never an exception."""
    text = (readme or b"").decode("utf-8", "replace")
    found = FRONT_MATTER.match(text[:MAX_FRONT_MATTER])
    if not found:
        return Card()
    try:
        data = yaml_text.load(found.group(1))
    except yaml_text.YamlError as error:
        return Card(present=True, error=str(error))
    if data is None:
        return Card(present=True)
    if not isinstance(data, dict):
        return Card(present=True, error="the front matter is not a mapping")
    return Card(present=True, pipeline_tag=_word(data.get("pipeline_tag")) or _word(data.get("task")))


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
