"""The command `npu-adapter read` and its options; `read` implements it."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.core.extensions import Command, Group
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "report.zip", "report.zip --json -")
    parser.epilog = exit_statuses(
        {
            0: msg("figures could be recomputed; for a report.json: its run was ready"),
            1: msg("for a report.json: its run was not ready"),
            2: msg("wrong usage, or a report that cannot be read"),
            3: msg("nothing in the report allows it; for a report.json: inconclusive"),
        }
    )
    report = msg(
        "the zip file of the service, or the folder it was unpacked to; or a report.json of npu-adapter"
    )
    parser.add_argument("report", type=place, metavar="REPORT", help=report)
    output.json_argument(parser, msg("everything"))
    output.verbose_argument(parser)


def _run(options: argparse.Namespace) -> int:
    from healthcheck.extensions.service_report import read  # noqa: PLC0415 - --help reads no report

    return read.run(options)


COMMAND = Command(
    summary=msg("read a report of the service and recompute it"),
    arguments=arguments,
    run=_run,
    group=Group.EXPLAIN,
)
