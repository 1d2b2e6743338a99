"""What the command line of curl or wget sends: the method, the body, and the words that are neither."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_BODY_BYTES = 1024**2
_DATA = re.compile(r"--data(?:-ascii|-binary|-urlencode)?|--json|-[a-zA-Z]*d")
_RAW, _FILE = re.compile(r"--data-raw|--(?:post|body)-data"), re.compile(r"--(?:post|body)-file")
_METHOD = re.compile(r"--request|--method|-[a-zA-Z]*X")
_OTHER = re.compile(
    r"--header|-[a-zA-Z]*H|--write-out|-[a-zA-Z]*w|--noproxy|--(?:pre)?proxy|-[a-zA-Z]*x|--resolve|--connect-to"
    r"|--interface|--bind-address|--referer|-[a-zA-Z]*e|--user-agent|-[a-zA-Z]*[AU]|--user|-[a-zA-Z]*u"
)
"""Options whose value may look like an address."""


class HttpRequest(NamedTuple):
    """`words` are the arguments without the values that are sent."""

    method: str
    body: bytes
    words: list[str]


def parse(arguments: Sequence[str]) -> HttpRequest:
    method, body, words = "", [], []
    for option, value, taken in _options(arguments):
        words.append(option)
        if _METHOD.fullmatch(option):
            method = value
        elif _RAW.fullmatch(option):
            body.append(value.encode("utf-8", "surrogateescape"))
        elif _FILE.fullmatch(option):
            body.append(_read(value))
        elif _DATA.fullmatch(option):
            body.append(_read(value[1:]) if value.startswith("@") else value.encode("utf-8", "surrogateescape"))
        elif taken and not _OTHER.fullmatch(option):
            words.append(value)
    return HttpRequest(method=method or ("POST" if body else "GET"), body=b"&".join(body), words=words)


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Each word with its value, after a `=`, glued to it or as the next word, and whether it has one."""
    rest = list(arguments)
    with_value = (_DATA, _RAW, _FILE, _METHOD, _OTHER)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        glued = re.match(r"(-[dHXw])(.+)", word)
        if not any(pattern.fullmatch(option) for pattern in with_value):
            yield (glued[1], glued[2], True) if glued else (word, "", False)
        elif equals:
            yield option, value, True
        else:
            yield option, rest.pop(0) if rest else "", True


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_BODY_BYTES)
        with open(name, "rb") as file:
            return file.read(_BODY_BYTES)
    except OSError:
        return b""
