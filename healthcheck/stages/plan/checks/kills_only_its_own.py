"""plan/kills-only-its-own: deploy.sh kills no process that it did not start."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, warn
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand
from healthcheck.stages.plan.script import deploy_sh, kills
from healthcheck.text.messages import msg

_BY_PATTERN = {"pkill", "killall", "skill"}
_CHILDREN = (
    "-P",
    "--parent",
    "-g",
    "--pgroup",
    "-s",
    "--session",
    "-0",
    "--signal=0",
    "-l",
    "--list",
)
"""Options of these programs that choose the script's own processes, or that send no signal."""


@check(
    "plan/kills-only-its-own",
    msg("deploy.sh kills only processes that it started"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "A pattern can match the process that runs deploy.sh; then the launch ends before there is a server."
    ),
    requires=("repo/deploy-sh-present",),
)
def kills_only_its_own(plan: LaunchPlan) -> Findings:
    """Before the server starts, deploy.sh kills no processes by name, by pattern or by port: `pkill -9 python`,
    `killall python3`, `ps … | xargs kill -9`, `kill -9 $(lsof -t -i:{port})`, `fuser -k {port}/tcp`. The program
    that runs deploy.sh may be such a process.

    Repair: remove the line. On the service's machine, nothing of an earlier launch runs. To end a process of its
    own, deploy.sh uses the number in `$!`.

    Example:
    ```sh
    pkill -9 python
    exec vllm serve "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    places = {command.where: command_text(command.argv) for command in _by_pattern(plan)}
    last = _line(plan.server.where) if plan.server else 0
    for number in kills.lines(plan.script):
        if not last or number <= last:
            places.setdefault(deploy_sh.place(number), deploy_sh.line_at(plan.script, number))
    for where, quoted in places.items():
        expected = msg(
            "before the server starts, deploy.sh kills nothing, or only processes that it started"
        )
        seen = msg("processes are killed by a pattern or a port: {command}", command=quoted)
        fix: str = msg("remove it: on the service's machine, nothing of an earlier launch runs")
        number = _line(where)
        line = deploy_sh.line_at(plan.script, number)
        if quoted.split()[0] in line:
            fix = msg("remove from line {number}: {line}", number=number, line=line)
        yield warn(expected=expected, seen=seen, fix=fix, where=where)


def _by_pattern(plan: LaunchPlan) -> Iterator[RecordedCommand]:
    """The recorded commands before the first server that kill by a pattern or a port."""
    for command in itertools.takewhile(lambda each: not each.serves, plan.commands):
        words = command.argv[1:]
        by_pattern = command.program in _BY_PATTERN and not any(
            word.startswith(_CHILDREN) for word in words
        )
        by_port = command.program == "fuser" and any(
            word.startswith("-") and "k" in word for word in words
        )
        if by_pattern or by_port:
            yield command


def _line(place: str) -> int:
    file, _, number = place.rpartition(":")
    return int(number) if file == contract.ENTRY_POINT and number.isdigit() else 0
