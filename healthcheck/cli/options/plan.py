"""The options of `npu-adapter plan`, and what `new` takes of them."""

from __future__ import annotations

import argparse

from healthcheck.cli import number_types
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(
        parser, "--weights /data/Qwen3-8B --npu 910B4", "--weights /data/Qwen3-8B --npu A3 --npus 4"
    )
    parser.epilog = exit_statuses(
        {0: msg("printed"), 2: msg("wrong usage, or the weights do not fit there")}
    )
    machine_arguments(parser)
    parser.add_argument(
        "--stack",
        default="",
        metavar="RELEASE",
        help=msg("vllm-ascend release that serves, such as 0.23.0"),
    )


def machine_arguments(parser: argparse._ActionsContainer) -> None:
    """What the launch is planned for."""
    parser.add_argument(
        "--weights",
        type=place,
        metavar="DIR",
        help=msg("the weights, or config.json and the index of them alone"),
    )
    parser.add_argument(
        "--npu",
        default="",
        metavar="KIND",
        help=msg("the NPU that serves (default: a 910B or an A3)"),
    )
    parser.add_argument(
        "--npus",
        type=number_types.count,
        default=1,
        metavar="N",
        help=msg("how many of them (default: 1)"),
    )
