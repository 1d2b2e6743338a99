"""The options of `npu-adapter probe`."""

from __future__ import annotations

import argparse

from healthcheck.cli import output, sampling
from healthcheck.cli.options import servers
from healthcheck.cli.places import new_place, place


def arguments(parser: argparse.ArgumentParser) -> None:
    servers.arguments(parser)
    sampling.files(parser)
    sampling.arguments(parser)
    output.extensions_argument(parser)
    written = parser.add_argument_group("output")
    written.add_argument(
        "--out", type=new_place, metavar="DIR", help="run folder (default: report/probe-YYYYmmdd-HHMMSS)"
    )
    written.add_argument("--resume", type=place, metavar="DIR", help="continue the run in this folder")
    output.arguments(written)
