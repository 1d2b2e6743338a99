"""Parses what pip installs from its arguments. The stubs use a copy of this module, without the rest of the kit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_PIP = re.compile(r"pip[\d.]*")
_LIST, _EDITABLE, _GROUP = "--requirement", "--editable", "--group"
_FROM_SCRIPT = "--requirements-from-script"
_SHORT = {
    "-r": _LIST, "-e": _EDITABLE, "-c": "--constraint", "-f": "--find-links", "-t": "--target", "-i": "--index-url",
    "-C": "--config-settings", "-d": "--dest", "-w": "--wheel-dir", "-b": "--build", "-p": "--python",
}  # fmt: skip
_VALUED = frozenset({
    _LIST, _EDITABLE, _GROUP, "--constraint", "--find-links", _FROM_SCRIPT, "--build-constraint",
    "--target", "--index-url", "--pypi-url", "--extra-index-url", "--trusted-host", "--prefix",
    "--root", "--src", "--source", "--source-dir", "--source-directory", "--platform",
    "--python-version", "--implementation", "--abi", "--no-binary", "--only-binary", "--python",
    "--upgrade-strategy", "--cache-dir", "--log", "--log-file", "--local-log", "--proxy",
    "--retries", "--resume-retries", "--timeout", "--default-timeout", "--config-settings",
    "--global-option", "--build-option", "--progress-bar", "--root-user-action", "--report",
    "--exists-action", "--cert", "--client-cert", "--use-feature", "--use-deprecated",
    "--keyring-provider", "--dest", "--destination-dir", "--destination-directory", "--wheel-dir",
    "--build", "--uploaded-prior-to", "--torch-backend", "--prerelease", "--index",
    "--default-index", "--index-strategy", "--override", "--overrides", "--exclude-newer",
    "--resolution", "--link-mode", "--refresh-package", "--reinstall-package",
    "--upgrade-package", "--extra", "--allow-insecure-host", "--config-file", "--directory",
    "--project",
})  # fmt: skip
"""The options of pip (23.2 to 26.0) and uv (0.9) that take a value, by their long names."""
_SWITCHES = frozenset({
    "--break-system-packages", "--check-build-dependencies", "--compile", "--debug",
    "--disable-pip-version-check", "--dry-run", "--force-reinstall", "--help",
    "--ignore-installed", "--ignore-requires-python", "--isolated", "--no-build-isolation",
    "--no-cache-dir", "--no-clean", "--no-color", "--no-compile", "--no-dependencies",
    "--no-deps", "--no-index", "--no-input", "--no-python-version-warning", "--no-use-pep517",
    "--no-user", "--no-verify", "--no-warn-conflicts", "--no-warn-script-location", "--pre",
    "--prefer-binary", "--quiet", "--require-hashes", "--require-venv", "--require-virtualenv",
    "--upgrade", "--use-pep517", "--user", "--verbose", "--version", "--yes",
})  # fmt: skip
"""The other options of pip: an abbreviation must not fit two options."""
_ASKS_HELP = frozenset({"--help", "-h"})
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


def parsed(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The arguments of a pip command, each as the option's long name and its value.

    Operands have the name "", switches the value "". Parsed like optparse does for pip: options among the operands,
    `--name=value`, short options in one word (`-qr FILE`), abbreviated long options, and `--` before operands.
    """
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from (("", each) for each in rest)
        elif word.startswith("--"):
            option, equals, value = word.partition("=")
            name = _full_name(option)
            takes_next = name in _VALUED and not equals
            yield name, next(rest, "") if takes_next else value
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word, rest)
        else:
            yield "", word


def _short(word: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    for at, letter in enumerate(word[1:], 1):
        name = _SHORT.get(f"-{letter}")
        if name is not None:
            value = word[at + 1 :]
            yield name, value or next(rest, "")
            return
        yield f"-{letter}", ""


def _full_name(option: str) -> str:
    """The long option that `option` abbreviates; `option` itself if that is unknown or ambiguous.

    Only pip since 26.0 has --requirements-from-script, so it does not make --requirem ambiguous here.
    """
    known = _VALUED | _SWITCHES
    found = [name for name in known if name.startswith(option) and name != _FROM_SCRIPT]
    return found[0] if len(found) == 1 and option not in known else option


def gives_nothing(words: Sequence[str]) -> bool:
    """Whether pip refuses the arguments after `install`: no requirement of any form is among them.

    A requirements file counts, even an empty one. So does an operand that is an empty string.
    """
    options = {name for name, _ in parsed(words)}
    return options.isdisjoint({"", _LIST, _EDITABLE, _GROUP, _FROM_SCRIPT, *_ASKS_HELP})


def operands(words: Iterable[str]) -> Iterator[str]:
    """The requirements and projects among the arguments after `install`, including those of -e."""
    return (value for name, value in parsed(words) if name in {"", _EDITABLE})


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
    found = (
        match[1]
        for word in words
        if (match := _NAME.match(_ARCHIVE.sub("", word.partition(" @ ")[0])))
    )
    return frozenset(_AFTER_THE_NAME.sub("", name.lower()).replace("-", "_") for name in found)


def lists(words: Iterable[str]) -> Iterator[str]:
    """The requirements files (-r FILE) among the arguments of a command."""
    return (value for name, value in parsed(words) if name == _LIST)
