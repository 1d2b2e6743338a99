"""Parses what pip installs from its arguments. The stubs use a copy of this module, without the rest of the kit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_PIP = re.compile(r"pip[\d.]*")
_LISTS = ("-r", "--requirement")
WITH_VALUE = frozenset({
    "-t", "--target", "-i", "--index-url", "--extra-index-url", "--trusted-host", "--prefix", "--root", "--src",
    "--platform", "--python-version", "--implementation", "--abi", "--no-binary", "--only-binary", "--python",
    "--upgrade-strategy", "--cache-dir", "--log", "--proxy", "--retries", "--timeout", "--config-settings", "-C",
    "--global-option", "--progress-bar", "--root-user-action", "--report", "--exists-action", "--cert",
    "--client-cert", "--use-feature", "--use-deprecated", "--keyring-provider", "--default-timeout", "-d",
    "--dest", "-w", "--wheel-dir", "-b", "--build", "--build-option", "-p", "--torch-backend", "--prerelease",
    "--index", "--default-index", "--index-strategy", "--override", "--overrides",
})  # fmt: skip
"""Options of pip and uv whose value is not a requirements file, a project or a place to look for packages."""
_NAMES_A_FILE = {*_LISTS, "-c", "--constraint", "-f", "--find-links"}
_EDITABLE = ("-e", "--editable")
_NAME = re.compile(r"\s*(?:\S*[/+])?([A-Za-z0-9][A-Za-z0-9._-]*)")
_ARCHIVE = re.compile(r"/(?:archive|tarball|zipball)/.*")
"""The end of an archive's URL, after the repository's."""
_AFTER_THE_NAME = re.compile(r"-\d.*|\.(?:git|whl|zip|tgz|tar)\b.*|\[.*")
"""The end of an archive's or repository's name, after the project's."""


def is_pip(program: str) -> bool:
    """Whether a program is pip, by its name or path."""
    return _PIP.fullmatch(program.rpartition("/")[2]) is not None


def to_install(program: str, arguments: Sequence[str]) -> Sequence[str] | None:
    """The arguments after `install`; None if the command is not an installation by pip, under any name of pip."""
    if "install" in arguments and (is_pip(program) or "pip" in arguments[:3]):
        return arguments[list(arguments).index("install") + 1 :]
    return None


def operands(words: Iterable[str]) -> Iterator[str]:
    """The requirements and projects among the arguments after `install`, including those of -e."""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _EDITABLE:
            yield value if equals else next(rest, "")
        elif word in WITH_VALUE or word in _NAMES_A_FILE:
            next(rest, "")
        elif word.startswith("-e"):
            yield word[2:]
        elif not word.startswith("-"):
            yield word


def of_lines(lines: Iterable[str]) -> Iterator[str]:
    """The requirements and projects in the lines of a requirements file, without options."""
    for line in lines:
        plain = line.strip()
        if plain.startswith("-"):
            yield from operands(plain.split(maxsplit=1))
        elif not plain.startswith("#"):
            yield plain


def packages(words: Iterable[str]) -> frozenset[str]:
    """The names of the packages in requirements, in lower case with underscores."""
    found = (match[1] for word in words if (match := _NAME.match(_ARCHIVE.sub("", word.partition(" @ ")[0]))))
    return frozenset(_AFTER_THE_NAME.sub("", name.lower()).replace("-", "_") for name in found)


def lists(words: Sequence[str]) -> Iterator[str]:
    """The requirements files (-r FILE) among the arguments of a command."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        option, equals, value = word.partition("=")
        if word in _LISTS or (option in _LISTS and equals):
            yield value if equals else after
        elif word.startswith("-r"):
            yield word[2:]
