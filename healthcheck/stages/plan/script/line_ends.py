"""The command that repairs line ends."""

from __future__ import annotations

import posixpath
import re
import shlex

from healthcheck.core.commands import Commanded, file_words
from healthcheck.text.messages import msg

_SPECIAL_IN_PATTERN = re.compile(r"[*?\[\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\"\\]")


def line_end_repair(*files: str) -> Commanded:
    """How to end the lines of committed files in LF, now and after the next checkout."""
    names = file_words(*files)
    lines = [shlex.quote(f"{_pattern(file)} text eol=lf") for file in files]
    # The line end comes first: the last line of the file may lack its own.
    kept = f"printf '\\n%s\\n' {' '.join(lines)} >> .gitattributes"
    committed = f"git add {names} .gitattributes && git commit -m 'End lines in LF'"
    return Commanded(
        msg("end the lines of {file} in LF", file=", ".join(files)),
        f"sed -i 's/\\r$//' {names} && {kept} && {committed}",
    )


def _pattern(file: str) -> str:
    """The pattern of .gitattributes for one file, as a quoted string of C if it needs quotes."""
    path = posixpath.normpath(file)
    path = f"/{path}" if path.startswith("!") else path  # which would be a negative pattern
    pattern = _SPECIAL_IN_PATTERN.sub(lambda found: f"\\{found[0]}", path)
    if pattern == path and not re.search(r"[\s\"#]", path):
        return path
    quoted = _CONTROL.sub(_escaped, pattern)
    return f'"{quoted}"'


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\{character}" if character in '"\\' else f"\\{ord(character):03o}"
