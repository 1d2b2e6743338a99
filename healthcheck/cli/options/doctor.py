"""The options of `npu-adapter doctor`."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "", "--json -")
    meanings = {
        0: msg("everything that the kit needs is there"),
        1: msg("something that it needs is missing"),
        2: msg("wrong usage"),
    }
    parser.epilog = exit_statuses(meanings)
    output.json_argument(parser, msg("the list"))
