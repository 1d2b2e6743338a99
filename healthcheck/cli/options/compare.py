"""The options of `npu-adapter compare`."""

from __future__ import annotations

import argparse

from healthcheck.cli import number_types, output
from healthcheck.cli.parsing import exit_statuses
from healthcheck.cli.places import new_place, place
from healthcheck.text.messages import msg

MARGIN = 0.05


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=place, metavar="RUN_A", help="run folder of the reference, such as the GPU")
    parser.add_argument("second", type=place, metavar="RUN_B", help="run folder to compare with it")
    parser.epilog = exit_statuses(
        {
            0: msg("no worse than the margin"),
            1: msg("worse"),
            2: msg("wrong usage, or runs that cannot be compared"),
            3: msg("undecided"),
        }
    )
    margin = msg(
        "loss of accuracy that does not matter, in points: 5 or 5%% (default); below 1 it is a share: {margin}",
        MARGIN,
    )
    parser.add_argument("--margin", type=number_types.margin, default=MARGIN, metavar="POINTS", help=margin)
    output.json_argument(parser, msg("everything"))
    parser.add_argument("--html", type=new_place, metavar="FILE", help="write a page with both runs side by side")
