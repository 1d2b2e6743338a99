"""The options of `npu-adapter explain`."""

from __future__ import annotations

import argparse

from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "", "plan/port")
    parser.epilog = exit_statuses({0: msg("printed"), 2: msg("there is no such check")})
    parser.add_argument(
        "id",
        nargs="?",
        metavar="CHECK-ID",
        help=msg(
            "such as plan/port; a stage, such as plan, lists its checks; without it, all are listed"
        ),
    )
