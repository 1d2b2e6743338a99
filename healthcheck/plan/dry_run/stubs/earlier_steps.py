"""Earlier steps of the submission that a real run would do: installations, and files that they may create."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from healthcheck.plan.dry_run.stubs import note
from healthcheck.repo import pip_words

_PATTERN = re.compile(r"[*?]|\[[^\]]*\][\w.-]")
_VERSION_CONTROL = re.compile(r"\b(?:git|hg|svn|bzr)\+")
_ASKS = {"--version", "-V", "-v", "version", "--help", "-h", "help"}
_MAKES_NOTHING = {
    "npu-smi", "hccn_tool", "ray", "apt-get", "apt", "yum", "dnf", "apk", "add-apt-repository", "ldconfig",
    "update-alternatives", "venv", "virtualenv", "ensurepip",
}  # fmt: skip
"""Recorded programs that create no files in the submission's folder; any other program may."""
_GIT_READS = {"rev-parse", "describe", "log", "branch", "status", "diff", "remote", "config"}


class Step(NamedTuple):
    """A command that another process recorded, and its working directory."""

    kind: str
    folder: str
    program: str
    arguments: list[str]


def installations() -> Iterator[tuple[str, list[str]]]:
    """Each `pip install`: the working directory, and the words after `install`."""
    for step in _earlier():
        words = pip_words.to_install(step.program, step.arguments)
        if words is not None:
            yield step.folder, list(words)


def may_be_there(place: str) -> bool:
    """Whether `place`, which the dry run lacks, may exist in the real run.

    The image has files of its own, so only below the submission's folder is an absence certain; and there not once
    a step that was recorded and not done (a download, a build, a clone) may have made the file. A pattern that
    matched nothing counts as a file that such a step makes.
    """
    outside = not _in_the_submission(os.path.realpath(os.path.expanduser(place)))
    return outside or _PATTERN.search(place) is not None or any(map(_step_may_make_files, _earlier()))


def _in_the_submission(place: str) -> bool:
    folder = os.path.dirname(place)
    while folder != "/" and not os.path.exists(f"{folder}/deploy.sh"):
        folder = os.path.dirname(folder)
    return folder != "/"


def _earlier() -> Iterator[Step]:
    for pid, kind, folder, program, *arguments in note.recorded():
        if pid != str(os.getpid()):
            yield Step(kind, folder, program, arguments)


def _step_may_make_files(step: Step) -> bool:
    return _may_make_files(step.kind, step.program, step.arguments)


def _may_make_files(kind: str, program: str, arguments: list[str]) -> bool:
    if kind == "server" or (arguments and set(arguments) <= _ASKS):
        return False
    if program.startswith("python") and arguments[:1] == ["-m"] and len(arguments) > 1:
        return _may_make_files(kind, arguments[1], arguments[2:])
    command = next((word for word in arguments if not word.startswith("-")), "")
    if pip_words.is_pip(program):
        return command in {"download", "wheel"} or any(map(_VERSION_CONTROL.search, arguments))
    if program == "git":
        return command not in _GIT_READS
    return program not in _MAKES_NOTHING or command in {"download", "source"}
