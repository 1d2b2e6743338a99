"""What pip is asked to install, by its words. The stubs have a copy of this module, without the rest of the kit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_PIP = re.compile(r"pip[\d.]*")
_LISTS = ("-r", "--requirement")
_NAME = re.compile(r"\s*(?:\S*[/+])?([A-Za-z0-9][A-Za-z0-9._-]*)")
_AFTER_THE_NAME = re.compile(r"-\d.*|\.(?:git|whl|zip|tgz|tar)\b.*|\[.*")
"""What follows a project's name in those of its archives and repositories."""


def is_pip(program: str) -> bool:
    """Whether a program is pip, by its name or path."""
    return _PIP.fullmatch(program.rpartition("/")[2]) is not None


def to_install(program: str, arguments: Sequence[str]) -> Sequence[str] | None:
    """The words after `install`; None if this is not an installation by pip, by any of its names."""
    if "install" in arguments and (is_pip(program) or "pip" in arguments[:3]):
        return arguments[list(arguments).index("install") + 1 :]
    return None


def packages(words: Iterable[str]) -> frozenset[str]:
    """The packages that words and lines of requirements name: lower case, underscores."""
    found = (match[1] for word in words if (match := _NAME.match(word.partition(" @ ")[0])))
    return frozenset(_AFTER_THE_NAME.sub("", name.lower()).replace("-", "_") for name in found)


def lists(words: Sequence[str]) -> Iterator[str]:
    """The lists of packages (-r FILE) among the words of a command."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        option, equals, value = word.partition("=")
        if word in _LISTS or (option in _LISTS and equals):
            yield value if equals else after
        elif word.startswith("-r"):
            yield word[2:]
