"""The command `npu-adapter runner` and its options; `examining` implements it."""

from __future__ import annotations

import argparse
import importlib

from healthcheck.cli import number_types, output
from healthcheck.cli.parsing import begin_help
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import Command, Group
from healthcheck.extensions.runner.asked import SOAK_MINUTES, Depth
from healthcheck.text.messages import msg


def _arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "", "--npus 8 --level 3 --out machine")
    parser.add_argument(
        "--npus",
        type=number_types.integer,
        metavar="N",
        help=msg("how many NPU devices there must be (default: any)"),
    )
    parser.add_argument(
        "--allow-none",
        action="store_true",
        help=msg("the machine is meant to have no NPUs: skip their checks"),
    )
    parser.add_argument(
        "--stack",
        default="",
        metavar="ROW",
        help=msg("the vllm-ascend release to compare versions with (default: the nearest)"),
    )
    parser.add_argument("--level", type=int, choices=[depth.value for depth in Depth],
                        help=msg("how closely to look: 1 takes seconds and leaves the devices alone, "
                        "2 minutes (default), 3 adds the soak"))  # fmt: skip
    soak = msg(
        "how long all devices compute at level 3, which it implies (default: {soak_minutes})",
        soak_minutes=SOAK_MINUTES,
    )
    parser.add_argument("--soak", type=number_types.positive, metavar="MINUTES", help=soak)
    parser.add_argument("--baseline", type=place, metavar="FILE",
                        help=msg("compare with the report.json of an earlier run"))  # fmt: skip
    parser.add_argument("--out", type=new_place, metavar="DIR",
                        help=msg("write report.html, report.json, summary.md"))  # fmt: skip
    output.extensions_argument(parser)
    output.arguments(parser)
    recorded = parser.add_argument_group(msg("recordings"))
    recorded.add_argument("--save", type=new_place, metavar="FILE",
                          help=msg("also record the machine, for an issue: without secrets, names of hosts and "
                          "users, addresses and serial numbers"))  # fmt: skip
    recorded.add_argument("--replay", type=place, metavar="FILE",
                          help=msg("judge a machine that --save recorded, instead of this one"))  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    status: int = importlib.import_module("healthcheck.extensions.runner.examining").run(options)
    return status


COMMAND = Command(
    summary=msg("check that this machine can run adapters"),
    arguments=_arguments,
    run=_run,
    group=Group.CHECK,
)
