"""The command `npu-adapter compare` and its options; `compare` implements it."""

from __future__ import annotations

import argparse

from healthcheck.cli import number_types, output
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.core.extensions import Command, Group
from healthcheck.text.messages import msg

MARGIN = 0.05


def margin_of(text: str) -> float:
    """A loss of accuracy as a share: 0.05, 5% and 5 (points) are the same. A number below 1 is a share."""
    percent = text.rstrip().endswith("%")
    value = number_types.number()(text.rstrip().removesuffix("%"))
    found = value / 100 if percent or value >= 1 else value
    if not 0 < found < 1:
        why = msg("{text} does not lie between 0 and 100 points: write 5, 5% or 0.05", text=text)
        raise argparse.ArgumentTypeError(why)
    return found


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "gpu-run npu-run", "gpu-run npu-run --margin 2 --json compared.json")
    parser.add_argument(
        "first",
        type=place,
        metavar="RUN_A",
        help=msg("run folder of the reference, such as the GPU"),
    )
    parser.add_argument(
        "second", type=place, metavar="RUN_B", help=msg("run folder to compare with it")
    )
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
        margin=MARGIN,
    )
    parser.add_argument("--margin", type=margin_of, default=MARGIN, metavar="POINTS", help=margin)
    output.json_argument(parser, msg("everything"))
    output.verbose_argument(parser)


def _run(options: argparse.Namespace) -> int:
    from healthcheck.extensions.compare import compare  # noqa: PLC0415 - --help reads no run

    return compare.run(options)


COMMAND = Command(
    summary=msg("compare two probe runs on the same problems"),
    arguments=arguments,
    run=_run,
    group=Group.MEASURE,
)
