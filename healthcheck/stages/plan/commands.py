"""Quotes recorded commands and names in messages, with limits: the submission chooses their length."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from healthcheck.stages.plan import calls
from healthcheck.system.processes import shortened
from healthcheck.text.redact import redacted, without_secrets

COMMAND_CHARACTERS = 1500
NAME_CHARACTERS = 200
QUOTED_CHARACTERS = 300


def command_text(argv: Sequence[str]) -> str:
    """The command as a person would type it, without secrets, cut to the length of a message."""
    words = [word for word in argv if not word.startswith("#route ")]
    if calls.is_python_call(words):
        return f"{words[0].removeprefix(calls.CALL)[:NAME_CHARACTERS]}.run(…) in Python"
    text = shlex.join(redacted(words, without_secrets))
    text = text if len(text) <= COMMAND_CHARACTERS else f"{text[:COMMAND_CHARACTERS]}…"
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def quoted(text: str) -> str:
    """A model, a name or a message in quotes."""
    return shortened(repr(text), QUOTED_CHARACTERS)
