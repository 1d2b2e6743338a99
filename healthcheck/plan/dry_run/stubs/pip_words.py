"""What pip is asked to install, by its words: read by stubs while a script runs, and by checks after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

PIP = re.compile(r"pip[\d.]*")
LISTS = ("-r", "--requirement")
_NAME = re.compile(r"\s*(?:\S*[/+])?([A-Za-z0-9][A-Za-z0-9._-]*)")
_AFTER_THE_NAME = re.compile(r"-\d.*|\.(?:git|whl|zip|tgz|tar)\b.*|\[.*")
"""What follows a project's name in those of its archives and repositories."""


def to_install(program: str, arguments: Sequence[str]) -> Sequence[str] | None:
    """The words after `install`; None if this is no installation by pip, under whatever name it was called."""
    if "install" in arguments and (PIP.fullmatch(program) or "pip" in arguments[:3]):
        return arguments[list(arguments).index("install") + 1 :]
    return None


def packages(words: Iterable[str]) -> frozenset[str]:
    """The packages that words and lines of requirements name: lower case, underscores."""
    found = (match[1] for word in words if (match := _NAME.match(word.partition(" @ ")[0])))
    return frozenset(_AFTER_THE_NAME.sub("", name.lower()).replace("-", "_") for name in found)


def lists(words: Sequence[str]) -> Iterator[str]:
    """The lists of packages (-r FILE) among the words after `install`."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        option, equals, value = word.partition("=")
        if word in LISTS or (option in LISTS and equals):
            yield value if equals else after
