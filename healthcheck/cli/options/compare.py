"""The options of `npu-adapter compare`."""

from __future__ import annotations

import argparse

from healthcheck.cli import number_types, output
from healthcheck.cli.parsing import exit_statuses
from healthcheck.cli.places import new_place, place

MARGIN = 0.05


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("first", type=place, metavar="RUN_A", help="run folder of the reference, such as the GPU")
    parser.add_argument("second", type=place, metavar="RUN_B", help="run folder to compare with it")
    parser.epilog = exit_statuses(
        {
            0: "no worse than the margin",
            1: "worse",
            2: "wrong usage, or runs that cannot be compared",
            3: "undecided",
        }
    )
    margin = (
        f"loss of accuracy that does not matter, in points: 5 or 5%% (default); below 1 it is a share: {MARGIN}"
    )
    parser.add_argument("--margin", type=number_types.margin, default=MARGIN, metavar="POINTS", help=margin)
    output.json_argument(parser, "everything")
    parser.add_argument("--html", type=new_place, metavar="FILE", help="write a page with both runs side by side")
