"""Finds the requirements of `pip install --no-index` that no given folder has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from healthcheck.stages.plan.dry_run.stubs import earlier_steps, image
from healthcheck.stages.repo import pip_words

_FILE_BYTES, _DEEPEST, _MOST_FILES = 256 * 1024, 8, 10_000
_TRUE = {"1", "y", "yes", "t", "true", "on"}
"""Values of a variable such as PIP_NO_INDEX that switch the option on. Source: pip's strtobool."""
_IGNORE_INSTALLED = {
    "--force-reinstall",
    "--ignore-installed",
    "-I",
    "--target",
    "--root",
    "--prefix",
}
_WITH_PIP = {"pip", "setuptools", "wheel"}
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<rest>(?:[<>=!~(;].*)?)$"
)
_DISTRIBUTION = re.compile(
    r"(?P<name>.+?)-\d[^-]*(?:-.+\.whl|\.whl|\.tar\.gz|\.tgz|\.tar\.bz2|\.tar\.xz|\.zip)"
)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SEPARATORS = re.compile(r"[-_.]+")


class Missing(NamedTuple):
    """A requirement that no folder has; `certain` if an installed package cannot satisfy it."""

    package: str
    certain: bool
    folders: tuple[str, ...]


def missing(command: str, arguments: Sequence[str]) -> Iterator[Missing]:
    """The requirements that pip has nowhere to take from, if it may not ask an index."""
    words = list(_all_words(arguments))
    options = {name for name, _ in words}
    if "--no-index" not in options and os.environ.get("PIP_NO_INDEX", "").lower() not in _TRUE:
        return
    folders = tuple(value for name, value in words if name == "--find-links")
    folders += tuple(os.environ.get("PIP_FIND_LINKS", "").split())
    if any(map(_is_unknown, folders)):
        return
    offered = {name for folder in folders for name in _distributions(folder)}
    ignores_installed = command != "install" or bool(_IGNORE_INSTALLED & options)
    there = frozenset() if ignores_installed else _installed()
    for word in dict.fromkeys(value for name, value in words if not name):
        found = _REQUIREMENT.match(word)
        if found is None or ";" in found["rest"]:
            continue
        package = _normal(found["name"])
        if package not in offered and package not in there:
            certain = ignores_installed or package in image.cuda_only()
            yield Missing(found["name"], certain and all(map(_is_known, folders)), folders)


def _all_words(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options and requirements of a command, those in requirements files included."""
    for name, value in pip_words.parsed(arguments):
        if name == "--requirement":
            yield from _of_file(value, ())
        else:
            yield name, value


def _of_file(path: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_FILE_BYTES)
    except OSError:
        return
    folder = os.path.dirname(path)
    for line in text.replace("\\\n", " ").splitlines():
        plain = _COMMENT.sub("", line).strip()
        if not plain.startswith("-"):
            requirement = plain.partition(" --")[0].strip()
            yield from [("", requirement)] if requirement else []
            continue
        for name, value in pip_words.parsed(plain.split()):
            if name == "--requirement" and path not in above and len(above) < _DEEPEST:
                yield from _of_file(os.path.join(folder, value), (*above, path))
            elif name == "--find-links" and os.path.exists(os.path.join(folder, value)):
                yield name, os.path.join(folder, value)
            elif name.startswith("--"):
                yield name, value


def _is_unknown(folder: str) -> bool:
    """Whether a real run may have more in a place than the dry run: an address, or a step before pip fills it."""
    address = "://" in folder and not folder.startswith("file://")
    return address or earlier_steps.may_make_files()


def _is_known(folder: str) -> bool:
    """Whether only the submission puts files there."""
    return not earlier_steps.may_be_there(os.path.join(_path(folder), "x"))


def _path(folder: str) -> str:
    return os.path.expanduser(folder.removeprefix("file://"))


def _distributions(folder: str) -> Iterator[str]:
    """The packages of the wheels and archives in a folder; of one file, if it is a file."""
    place = _path(folder)
    try:
        names = (
            os.listdir(place)[:_MOST_FILES] if os.path.isdir(place) else [os.path.basename(place)]
        )
    except OSError:
        return
    for name in names:
        if found := _DISTRIBUTION.fullmatch(name):
            yield _normal(found["name"])


def _installed() -> frozenset[str]:
    """The packages that the image has, or that an earlier step installs."""
    known = {*image.packages(), *image.dependencies(), *_WITH_PIP}
    earlier = {
        name
        for cwd, words in earlier_steps.installations()
        for name in earlier_steps.packages(cwd, words)
    }
    return frozenset(map(_normal, known | earlier))


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
