"""The command `npu-adapter diagnose` and its options; `diagnosing` implements it."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.core.extensions import Command, Group
from healthcheck.text.messages import msg


def _arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "deploy.log", "deploy.log --json -")
    parser.description = msg(
        "Find the cause of a failed launch in its log: a failure that the kit knows and\n"
        "that the last error shows, with the lines, the cause, the fix and the source.\n"
        "Where several known failures may be the cause, all of them are listed. Where\n"
        "none is known, the kit says of what kind the last error is, and no cause. The\n"
        "log may be of any size. In the folder of a repository, the fix names its\n"
        "adapter.toml, and no variable that it sets already."
    )
    meanings = {
        0: msg("a cause was found, or the kind of the last error"),
        2: msg("wrong usage, or a log that cannot be read"),
        3: msg("neither was found, or several possible causes"),
    }
    parser.epilog = exit_statuses(meanings)
    parser.add_argument(
        "log", type=place, metavar="LOGFILE", help=msg("the log; - reads standard input")
    )
    output.json_argument(parser, msg("the diagnosis"))


def _run(options: argparse.Namespace) -> int:
    from healthcheck.extensions.diagnose import diagnosing  # noqa: PLC0415 - --help reads no log

    return diagnosing.run(options)


_SUMMARY = msg("find the cause of a failed launch in its log")
COMMAND = Command(summary=_SUMMARY, arguments=_arguments, run=_run, group=Group.EXPLAIN)
