"""Findings about packages that `pip install --no-index` does not find in the folders of the commit."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.check import note, unsettled, warn
from healthcheck.core.commands import Commanded, command_of, words_of
from healthcheck.core.records import Finding
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand
from healthcheck.stages.plan.requested import is_install
from healthcheck.stages.plan.script import causes, deploy_sh
from healthcheck.stages.plan.servers.served import SETTLED_LATER, with_alternative
from healthcheck.stages.repo import pip_words
from healthcheck.text.messages import joined, msg

_EXPECTED = msg("each package of a pip command with --no-index is in a folder of the commit")
_IGNORED = re.compile(r"WARNING: Location '(?P<folder>[^']+)' is ignored: ")
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfound:
    """The packages that one pip command does not find.

    Attributes:
        where: the line of the command; "" if unknown.
        certain: pip ends with an error, whatever the image has.
        folders: the folders of --find-links, from the submission's folder on; empty without the option.
    """

    packages: tuple[str, ...]
    where: str
    certain: bool
    folders: tuple[str, ...]


def unfound(plan: LaunchPlan) -> list[Unfound]:
    """The recorded packages, by pip command."""
    found: list[Unfound] = []
    where = ""
    for is_record, group in itertools.groupby(
        plan.commands, lambda each: each.program == calls.WITHOUT_INDEX
    ):
        commands = list(group)
        if is_record:
            found.append(_unfound(plan, commands, where))
        else:
            where = next((each.where for each in reversed(commands) if _is_pip(each)), "")
    return found


def _is_pip(command: RecordedCommand) -> bool:
    return is_install(command) or pip_words.is_pip(command.program) or "pip" in command.argv[:3]


def _unfound(plan: LaunchPlan, records: list[RecordedCommand], where: str) -> Unfound:
    return Unfound(
        packages=tuple(dict.fromkeys(each.argv[1] for each in records)),
        where=where,
        certain=any(each.argv[2] == calls.CERTAIN for each in records),
        folders=tuple(_in_the_commit(plan, each) for each in records[0].argv[3:]),
    )


def _in_the_commit(plan: LaunchPlan, folder: str) -> str:
    return plan.in_repository(folder.removeprefix("file://")).rstrip("/")


def is_reported(plan: LaunchPlan, message: str) -> bool:
    """Whether a message of pip is about a folder in which it does not find a package."""
    ignored = _IGNORED.match(message)
    folders = {folder for each in unfound(plan) for folder in each.folders}
    return ignored is not None and _in_the_commit(plan, ignored["folder"]) in folders


def findings(plan: LaunchPlan) -> Iterator[Finding]:
    """Findings about a script that starts its server nevertheless, in the dry run."""
    for each in unfound(plan):
        seen, fix = reason(each), repair(plan, each)
        if each.certain:
            seen = msg("{reason}; the script continues without it", reason=seen)
            yield warn(expected=_EXPECTED, seen=seen, fix=fix, where=each.where)
            continue
        unknown = msg("{reason}, unless the service's image has it, which is unknown", reason=seen)
        if deploy_sh.ends_on_failure(plan.script, each.where):
            later = with_alternative(words_of(fix), command_of(fix), SETTLED_LATER)
            yield unsettled(
                expected=_EXPECTED,
                seen=unknown,
                fix=later,
                command=command_of(fix),
                where=each.where,
            )
        else:
            yield note(unknown, where=each.where)


def reason(of: Unfound) -> str:
    """Why pip fails, as a sentence."""
    names = ", ".join(of.packages[:_MOST_NAMES])
    if not of.folders:
        return msg(
            "pip fails for {packages}: --no-index forbids an index, and no --find-links names a folder",
            packages=names,
        )
    folders = joined(", ", of.folders)
    return msg(
        "pip fails for {packages}: {folders} has no wheel of it in the commit",
        packages=names,
        folders=folders,
    )


def repair(plan: LaunchPlan, of: Unfound) -> str:
    """How to let pip find the packages: commit the folder, or fill it first."""
    if not of.folders:
        return msg("commit the wheels in a folder, and pass it to pip as --find-links")
    folder = of.folders[0]
    commit = causes.commit(folder)
    if any(
        f"{each}/".startswith(f"{folder}/") or f"{folder}/".startswith(each)
        for each in plan.unshipped
    ):
        return commit
    packages = shlex.join(of.packages[:_MOST_NAMES])
    return Commanded(
        msg("download the wheels on a machine with the service's architecture and Python"),
        f"pip download -d {shlex.quote(folder)} {packages} && {commit.command}",
    )
