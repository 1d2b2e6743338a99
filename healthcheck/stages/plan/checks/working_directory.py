"""plan/working-directory: deploy.sh finds its files from any working directory."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, warn
from healthcheck.core.edits import inserted_below
from healthcheck.core.records import Edit
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.dry_run.runs import OTHER_FOLDER
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand, ShellRun
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.diagnosis import LIMITS
from healthcheck.stages.plan.script.own_folder import first_free_line
from healthcheck.stages.plan.script.stderr import Need, complaints, last_lines
from healthcheck.stages.plan.servers.served import STARTED
from healthcheck.system.processes import shortened
from healthcheck.text.messages import joined, msg

REPAIR = 'cd "$(dirname "$0")"'
_MOST_FILES = 8
_OF_THE_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


@check(
    "plan/working-directory",
    msg("deploy.sh finds its files from any working directory"),
    why=msg("The service does not document the working directory in which it runs deploy.sh."),
    requires=STARTED,
)
def working_directory(plan: LaunchPlan) -> Findings:
    """A relative path (`--chat-template chat.jinja`, `. ./env.sh`, `python3 start.py`, `pip install -r
    requirements.txt`) leads to a file of the repository only while the working directory is the repository's root.
    The service does not document its working directory, so a script that depends on it is a warning.

    The dry run starts deploy.sh once more, by its absolute path and from another folder, and compares the launch.
    A script without files of its own, or that changes into its own folder first, passes.

    Repair: insert `cd "$(dirname "$0")"` below the first line.

    Example:
    ```sh
    . ./env.sh
    exec vllm serve "$MODEL_PATH" --chat-template chat.jinja
    ```

    Use instead (both files are committed):

    ```sh
    cd "$(dirname "$0")"
    . ./env.sh
    exec vllm serve "$MODEL_PATH" --chat-template chat.jinja
    ```
    """
    run = plan.elsewhere_run
    if (
        run is None
        or run.ended_by in LIMITS
        or run.ended_by in {EndedBy.COPY, EndedBy.LOST, EndedBy.SETUP}
    ):
        return
    files = tuple(dict.fromkeys(_lost_files(plan, run)))
    seen = _seen(plan, run, files)
    if seen:
        yield warn(
            expected=msg(
                "the same launch from every working directory: the service does not document which one it uses"
            ),
            seen=seen,
            fix="",
            where=_place(plan, files),
            edits=(_change_of_folder(plan),),
        )


def _change_of_folder(plan: LaunchPlan) -> Edit:
    """Have deploy.sh change into its own folder before its other commands."""
    return inserted_below(contract.ENTRY_POINT, first_free_line(plan.script), REPAIR)


def _seen(plan: LaunchPlan, run: ShellRun, files: tuple[str, ...]) -> str:
    """The difference between the two launches; "" if there is none."""
    if files:
        listed = ", ".join(shortened(name, NAME_CHARACTERS) for name in files[:_MOST_FILES])
        if len(files) > _MOST_FILES:
            listed += ", …"
        return msg("from another working directory it does not find {files}", files=listed)
    if not run.servers:
        return msg(
            "from another working directory it starts no server: {last}",
            last=" / ".join(last_lines(run)),
        )
    here, there = _by_port(plan.servers), _by_port(run.servers)
    if here.keys() != there.keys():
        return msg(
            "from another working directory it starts other servers: {commands}",
            commands=_commands(run.servers),
        )
    changed = [
        there[port] for port, server in here.items() if _launched(server) != _launched(there[port])
    ]
    if changed:
        return msg(
            "from another working directory it starts another server: {command}",
            command=changed[0].command,
        )
    lost = sorted(
        {name for port in here for name in _variables(here[port]) - _variables(there[port])}
    )
    if lost:
        return msg(
            "from another working directory its server lacks the variables {names}",
            names=", ".join(lost),
        )
    return ""


def _lost_files(plan: LaunchPlan, run: ShellRun) -> Iterator[str]:
    """The files and modules that are only missing in the other working directory."""
    missing_here = {(each.kind, each.name) for each in complaints(plan.run.stderr, plan.script)}
    for each in complaints(run.stderr, plan.script):
        if each.kind in {Need.FILE, Need.MODULE} and (each.kind, each.name) not in missing_here:
            yield _relative(each.name)
    known = {name for server in plan.servers for name in _missing(server)}
    for server in run.servers:
        yield from (_relative(name) for name in _missing(server) if name not in known)


def _missing(server: ServerCommand) -> tuple[str, ...]:
    return (*server.missing_files, *server.missing_variables, *server.missing_code)


def _relative(name: str) -> str:
    """The name without the other working directory."""
    return re.sub(rf"[^\s=]*{OTHER_FOLDER}/", "", name)


def _by_port(servers: tuple[ServerCommand, ...]) -> dict[tuple[int | None, str], ServerCommand]:
    return {(server.port, server.engine.name): server for server in servers}


def _launched(server: ServerCommand) -> tuple[object, ...]:
    """What of a launch must not depend on the working directory."""
    return (server.api, server.host, server.model, server.served_names, frozenset(server.options))


def _variables(server: ServerCommand) -> frozenset[str]:
    return frozenset(server.env) - _OF_THE_SHELL


def _commands(servers: tuple[ServerCommand, ...]) -> str:
    return joined("; ", (server.command for server in servers[:_MOST_FILES]))


def _place(plan: LaunchPlan, files: tuple[str, ...]) -> str:
    """The first line of deploy.sh that mentions one of the files."""
    lines = (
        deploy_sh.find_line(plan.script, [name, posixpath.basename(name.split()[-1])])
        for name in files
    )
    return deploy_sh.place(min(filter(None, lines), default=None))
