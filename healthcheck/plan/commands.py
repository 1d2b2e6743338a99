"""Recorded commands and names as a message quotes them: the submission chooses how long they are."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from healthcheck.plan.dry_run.stubs import calls
from healthcheck.processes import shortened

COMMAND_CHARACTERS = 1500
NAME_CHARACTERS = 200
QUOTED_CHARACTERS = 300
_KEYS = {"--api-key", "--api-keys"}


def command_text(argv: Sequence[str]) -> str:
    """The command as a person would type it, without its key, cut where it is too long for a message."""
    words = [word for word in argv if not word.startswith("#route ")]
    if words and words[0].startswith(calls.CALL):
        return f"{words[0].removeprefix(calls.CALL)[:NAME_CHARACTERS]}.run(…) in Python"
    text = shlex.join(without_key(words))
    text = text if len(text) <= COMMAND_CHARACTERS else f"{text[:COMMAND_CHARACTERS]}…"
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def without_key(argv: Sequence[str]) -> list[str]:
    """The words with *** in place of the API key."""
    words = list(argv)
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if name.replace("_", "-") in _KEYS:
            words[index : index + (1 if equals else 2)] = [f"{name}=***"] if equals else [name, "***"]
    return words


def quoted(text: str) -> str:
    """A model, a name or a message in quotes."""
    return shortened(repr(text), QUOTED_CHARACTERS)
