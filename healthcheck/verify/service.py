"""Profiles of services, in TOML (docs/service-profile.md): what they demand, and what is known of their machines.

The public page's profile is the default of each key. What a file says is a rule, with its own sentence or the
page's with its figure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from healthcheck import contract
from healthcheck.ascend import hardware, stacks
from healthcheck.contract import FIGURES, PUBLIC, UNDOCUMENTED, Service
from healthcheck.errors import UsageError
from healthcheck.report.words import plain
from healthcheck.stages.repo.settings import Settings
from healthcheck.stages.repo.tree import read_inside
from healthcheck.system import toml_text
from healthcheck.system.files import read_bounded
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import Message, msg

MAX_BYTES = 1024**2
MAX_CHARACTERS = 500
"""Of a text that reports quote."""
_TEXTS = ("name", "source", "read_on")
SHELLS = ("sh", "dash", "bash")


def _is_whole(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 0 < value <= most


def _fits(pattern: str) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None
    )


def _is_release(value: object) -> bool:
    return isinstance(value, str) and bool(stacks.choose(value))


def _is_npu(value: object) -> bool:
    return isinstance(value, str) and len({kind.family for kind in hardware.find(value)}) == 1


def _are_tasks(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(each in PUBLIC.tasks for each in value)


_TAKES: Mapping[str, tuple[Message, Callable[[Any], bool]]] = {
    "entry_point": (
        msg("a plain name of a file at the repository's root"),
        _fits(r"\w[\w.-]{0,99}"),
    ),
    "served_name": (
        msg("$MODEL_PATH, or a name without blanks"),
        _fits(r"\$MODEL_PATH|[\w/][\w./:@+-]*"),
    ),
    "port": (msg("a port from 1 to 65535"), _is_whole(65535)),
    "chat_path": (msg("a path that begins with /"), _fits(r"/[!-~]*")),
    "weight_limit_gb": (msg("a whole number of gigabytes"), _is_whole(10**6)),
    "tasks": (msg("a list of some of {tasks}", tasks=", ".join(PUBLIC.tasks)), _are_tasks),
    "samples": (msg("a whole number from 1 on"), _is_whole(10**4)),
    "release": (msg("a release of vllm-ascend, such as 0.23.0"), _is_release),
    "npu": (msg("a kind of NPU, such as 910B4"), _is_npu),
    "npus": (msg("a whole number from 1 on"), _is_whole(10**4)),
    "start_up_seconds": (msg("a whole number from 1 on"), _is_whole(10**6)),
    "network": (msg("true or false"), lambda value: isinstance(value, bool)),
    "shell": (msg("one of {shells}", shells=", ".join(SHELLS)), lambda value: value in SHELLS),
    "user": (msg("the name of a user"), _fits(r"[a-z_][a-z0-9_-]{0,31}")),
    "max_tokens": (msg("a whole number from 1 on"), _is_whole(10**7)),
    "temperature": (
        msg("a number from 0 to 2"),
        lambda value: type(value) in (int, float) and 0 <= value <= 2,
    ),
    "concurrency": (msg("a whole number from 1 on"), _is_whole(10**5)),
}
"""What each key takes."""


def from_file(path: Path) -> Service:
    """The profile in a file.

    Raises:
        UsageError: it cannot be read, or says something that no profile can say.
    """
    return parsed(read_bounded(path.expanduser(), MAX_BYTES), str(path))


def of_repository(root: Path, settings: Settings) -> Service:
    """The profile that a repository names for itself, a file in it; the one in force if it names none.

    Raises:
        UsageError: as for `from_file`; or the repository does not have the file.
    """
    if not settings.service:
        return contract.service()
    data = read_inside(root, settings.service, MAX_BYTES)
    if data is None:
        raise UsageError(
            msg(
                "{file}: the repository does not have the file {service}",
                file=settings.file,
                service=settings.service,
            )
        )
    return parsed(data, settings.service)


def completed(settings: Settings) -> Settings:
    """The settings of a repository, of which the profile in force knows better what the service has."""
    known = contract.service()
    return replace(
        settings,
        stack=known.release or settings.stack,
        npu=known.npu or settings.npu,
        npus=known.npus or settings.npus,
    )


def parsed(data: bytes, file: str) -> Service:
    """The profile that a TOML document describes; `file` is its name.

    Raises:
        UsageError: it is not TOML, has an unknown key, or a value that its key does not take.
    """
    table = dict(toml_text.load(data, file))
    known = _table(table.pop("known", {}), file, "known", UNDOCUMENTED)
    sentences = _table(table.pop("sentences", {}), file, "sentences", (*FIGURES, *UNDOCUMENTED))
    about = _table(table, file, "", (*_TEXTS, *FIGURES))
    texts = {name: str(about.pop(name, "")) for name in _TEXTS}
    for name, value in (about | known).items():
        what, takes = _TAKES[name]
        if not takes(value):
            raise UsageError(
                msg(
                    "{file}: {key} is {value}, not {what}",
                    file=file,
                    key=key(name),
                    value=repr(value),
                    what=what,
                )
            )
    for name, value in (texts | sentences).items():
        if (
            not isinstance(value, str)
            or len(value) > MAX_CHARACTERS
            or plain(value) != value
            or "\n" in value
        ):
            raise UsageError(
                msg(
                    "{file}: {key} is {value}, not a line of text",
                    file=file,
                    key=key(name),
                    value=repr(value)[:200],
                )
            )
    values = texts | about | known
    if "tasks" in about:
        values["tasks"] = tuple(about["tasks"])
    values["source"] = texts["source"] or file
    given = frozenset({*about, *known, *sentences})
    digest = hashlib.sha256(data).hexdigest()
    return Service(file=file, sha256=digest, sentences=sentences, given=given, **values)


def _table(table: object, file: str, name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The values of a table by the names of the attributes of `Service`."""
    if not isinstance(table, dict):
        raise UsageError(
            msg("{file}: {name} is {value}, not a table", file=file, name=name, value=repr(table))
        )
    keys = {key(each): each for each in names}
    for each in table:
        if each not in keys:
            where = f"[{name}] {each}" if name else each
            listed, near = (
                ", ".join(keys),
                hint(each, [*keys, *map(key, UNDOCUMENTED), "known", "sentences"]),
            )
            reason = msg(
                "{file}: {key} is not known; the keys are {keys}{hint}",
                file=file,
                key=where,
                keys=listed,
                hint=near,
            )
            raise UsageError(reason)
    return {keys[each]: value for each, value in table.items()}


def key(name: str) -> str:
    """The key of an attribute in the file."""
    return name.replace("_", "-")


def value(found: object) -> str:
    """A value as the file has it; TOML writes these as JSON does."""
    return json.dumps(found, ensure_ascii=False)
