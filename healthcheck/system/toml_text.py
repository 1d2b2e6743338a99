"""Bounded TOML. The only user of tomllib, whose time and memory grow with the square of a key's length."""

from __future__ import annotations

import re
import sys

from healthcheck.errors import UsageError
from healthcheck.text.messages import msg

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_KEY_PARTS = 32
"""Real files have half a dozen."""
MAX_DEPTH = 100
"""Nested arrays and inline tables; Python's own reader gives up at some hundreds, others crash."""
MAX_PARTS = 100_000
"""Parts of keys, arrays and tables in a document: each costs up to a thousand bytes."""
MAX_KEY_CHARS = 10_000
"""Outside quotation marks; Python refuses numbers of half as many digits."""
_APART = re.compile(
    r'""".*?(?:"{3,5}|\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|"[^"\n]*"?|\'[^\'\n]*\'?|#[^\n]*', re.DOTALL
)
"""Strings and comments. An unterminated one extends to the end of the line or text, so the scan stays linear."""
_PIECE = re.compile(r"[^,={}\[\]\n]+")
_BRACKET = re.compile(r"[{}\[\]]")


class TomlError(UsageError):
    """The text is not TOML; the message names its file."""


class TomlBoundError(TomlError):
    """The text may be TOML but exceeds the bounds."""


def load(data: bytes | str, name: str) -> dict[str, object]:
    """Parse a TOML document; messages call it `name`.

    Raises:
        TomlBoundError: the document exceeds the bounds.
        TomlError: the document is not TOML.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        _check_bounds(text, name)
        return tomllib.loads(text)
    except (
        ValueError
    ) as error:  # UnicodeDecodeError, TOMLDecodeError, and a number of thousands of digits
        raise TomlError(msg("{name} is not TOML: {error}", name=name, error=error)) from error


def _check_bounds(text: str, name: str) -> None:
    text = text.replace("\\\\", "__").replace(
        '\\"', "__"
    )  # every quotation mark that remains counts
    bare = _APART.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)
    if bare.count(".") + bare.count("[") + bare.count("{") > MAX_PARTS:
        raise TomlBoundError(
            msg(
                "{name} has more than {max_parts} tables, arrays and dots, and is not read",
                name=name,
                max_parts=MAX_PARTS,
            )
        )
    for piece in _PIECE.finditer(bare):
        if piece[0].count(".") >= MAX_KEY_PARTS or len(piece[0].strip()) > MAX_KEY_CHARS:
            said = msg(
                "{name} has a key of more than {max_key_parts} parts or {max_key_chars} characters in line "
                "{line}, and is not read",
                name=name,
                max_key_parts=MAX_KEY_PARTS,
                max_key_chars=MAX_KEY_CHARS,
                line=_line(bare, piece),
            )
            raise TomlBoundError(said)
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            line = _line(bare, bracket)
            told = msg(
                "{name} is not TOML: more than {max_depth} arrays and tables in each other in line {line}",
                name=name,
                max_depth=MAX_DEPTH,
                line=line,
            )
            raise TomlError(told)


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1
