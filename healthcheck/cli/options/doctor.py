"""The options of `npu-adapter doctor`."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import exit_statuses


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = exit_statuses(
        {0: "everything that the kit needs is there", 1: "something that it needs is missing", 2: "wrong usage"}
    )
    output.json_argument(parser, "the list")
