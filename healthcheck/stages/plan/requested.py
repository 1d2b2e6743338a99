"""Determines the packages that the submission installs, by requirements.txt or by recorded commands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.dry_run.stubs.installed import requested as requested_packages
from healthcheck.stages.plan.image import STUBS_FOLDER
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.repo import pip_words

_PLACED = re.compile(r"(?:site|dist)-packages|getsite|purelib|\.pth\b|\bsetup\.py\b")
_LEADS_ON = re.compile(r"^\s*(?:-[ref]|--(?:requirement|editable|find-links)\b)", re.MULTILINE)
"""A line of a requirements file that installs packages without their names."""
_FETCHES = {
    "git",
    "wget",
    "curl",
    "aria2c",
    "conda",
    "uv",
    "uvx",
    "poetry",
    "pipenv",
    "pipx",
    "hf",
    "modelscope",
}
_OF_ADDRESSES = {"wget", "curl", "aria2c"}
_ASKS = {"clone", "sync", "install", "download", "run"}
_HERE = re.compile(r"localhost|127\.0\.0\.1|0\.0\.0\.0")
_SYSTEM = {"apt", "apt-get", "yum", "dnf", "apk"}


def packages(plan: LaunchPlan) -> frozenset[str]:
    """The names of the installed packages in lower case with underscores, like modules."""
    return pip_words.packages(plan.required).union(*map(installed_by, plan.commands))


def libraries() -> frozenset[str]:
    """Modules that adapters import from the image or from packages in requirements.txt."""
    return frozenset((STUBS_FOLDER / "libraries.txt").read_text(encoding="ascii").split())


def brings_unknown(plan: LaunchPlan) -> bool:
    """Whether a recorded command or the script may install modules and programs of unknown names."""
    lists = (
        text for command in filter(is_install, plan.commands) for text in command.texts.values()
    )
    return (
        _PLACED.search(plan.script) is not None
        or any(map(_fetches, plan.commands))
        or any(map(_LEADS_ON.search, lists))
    )


def _fetches(command: RecordedCommand) -> bool:
    words = set(command.argv[1:])
    here = any(_HERE.search(word) for word in words)
    asks = (
        any("://" in word for word in words)
        if command.program in _OF_ADDRESSES
        else bool(_ASKS & words)
    )
    return (command.program in _FETCHES and asks and not here) or (
        command.program in _SYSTEM and "install" in words
    )


def needs_packages(plan: LaunchPlan, command: RecordedCommand) -> bool:
    """Whether the command installs system packages, and its failure ends deploy.sh."""
    asks = command.program in _SYSTEM and bool({"install", "update"} & set(command.argv))
    return asks and deploy_sh.stops_at_errors(plan.script, command.where)


def placeholders(plan: LaunchPlan) -> tuple[str, ...]:
    """The programs that the script ran before its server, and of which the dry run only had a placeholder."""
    before = itertools.takewhile(lambda each: not each.serves, plan.commands)
    ran = (each.argv[2] for each in before if each.argv[:2] == (calls.GUESSED, calls.PROGRAM))
    return tuple(dict.fromkeys(ran))


def packages_of_unknown_programs(plan: LaunchPlan) -> tuple[str, ...]:
    """The packages that the script or requirements.txt installs, and whose programs are unknown.

    The stub of pip reads the programs of projects and wheels in the submission.
    """
    words = (
        *plan.required,
        *(word for command in plan.commands for word in _requirements(command)),
    )
    named = pip_words.packages(word for word in words if "/" not in word or "://" in word)
    python = (name for name in sorted(named) if name not in libraries())
    unknown = [name for name in python if not programs.is_known(name, programs.OF_PYTHON)]
    for command in plan.commands:
        if command.program in _SYSTEM:
            asked = requested_packages(list(command.argv[1:]))
            unknown += [name for name in asked if not programs.is_known(name, programs.OF_SYSTEM)]
    return tuple(dict.fromkeys(unknown))


def is_install(command: RecordedCommand) -> bool:
    """Whether the command is an installation by pip, under any name of pip."""
    return pip_words.to_install(command.program, command.argv[1:]) is not None


def installed_by(command: RecordedCommand) -> frozenset[str]:
    """The packages that a pip command installs, by name or from requirements files."""
    return pip_words.packages(_requirements(command))


def _requirements(command: RecordedCommand) -> Iterator[str]:
    words = pip_words.to_install(command.program, command.argv[1:])
    if words is not None:
        yield from (word for word in pip_words.operands(words) if word not in command.texts)
        for text in command.texts.values():
            yield from pip_words.of_lines(text.splitlines())
