"""How a GitHub runner parses the lines of a step, after ActionCommand.cs and OutputManager.cs of actions/runner.

.NET compares by culture there, which ignores some characters: a prefix with one of them inside is found too, and
the rest is cut by the prefix's own length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

REGISTERED = {
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice", "remove-matcher",
    "save-state", "set-env", "set-output", "stop-commands", "warning",
}  # fmt: skip


def commands(output: str) -> Iterator[str]:
    """The lines that a runner takes for a command: lines end with CR, LF or both."""
    for line in re.split(r"\r\n|\r|\n", output):
        if any(_is_command(line, ignorable) for ignorable in (True, False)):
            yield line


def _is_command(line: str, ignorable: bool) -> bool:
    return _new(line.lstrip(), ignorable) or _old(line, ignorable)


def _new(line: str, ignorable: bool) -> bool:
    if _found(line, "::", 0, ignorable) != 0:
        return False
    end = _found(line, "::", 2, ignorable)
    return end >= 2 and _registered(line[2:end])


def _old(line: str, ignorable: bool) -> bool:
    begin = _found(line, "##[", 0, ignorable)
    end = line.find("]", begin) if begin >= 0 else -1
    return end >= 0 and _registered(line[begin + 3 : end])


def _registered(text: str) -> bool:
    return text.split(" ", 1)[0].lower() in REGISTERED


def _found(line: str, prefix: str, begin: int, ignorable: bool) -> int:
    """Where the prefix is from `begin` on, -1 if it is not there; `ignorable` skips weightless characters."""
    if not ignorable:
        return line.find(prefix, begin)
    places = [at for at in range(begin, len(line)) if not _weightless(line[at])]
    at = "".join(line[place] for place in places).find(prefix)
    if at < 0:
        return -1
    return begin if at == 0 else places[at]


def _weightless(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Cf", "Cc", "Mn"} and character not in "\t\n\r\v\f\x85"
    )
