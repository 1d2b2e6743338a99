"""The options of `npu-adapter probe`."""

from __future__ import annotations

import argparse

from healthcheck import contract
from healthcheck.cli import output, sampling
from healthcheck.cli.parsing import begin_help
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import declare_additions
from healthcheck.text.messages import msg

EVERYDAY = (
    "--config", "--dataset", "--problems", "--samples", "--temperature", "--max-tokens", "--model", "--concurrency",
    "--reference", "--margin", "--threshold", "--out", "--resume", "--json", "--quiet",
)  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(
        parser,
        f"http://127.0.0.1:{contract.PORT}",
        f"http://127.0.0.1:{contract.PORT} --reference gpu-run --out npu-run",
        f"http://127.0.0.1:{contract.PORT} --resume npu-run",
        everyday=EVERYDAY,
    )
    root = msg("the server's root, such as http://127.0.0.1:{port}", port=contract.PORT)
    parser.add_argument("url", metavar="URL", help=root)
    sampling.files(parser)
    sampling.arguments(parser)
    declare_additions(parser, "probe")
    output.extensions_argument(parser)
    written = parser.add_argument_group(msg("output"))
    written.add_argument(
        "--out",
        type=new_place,
        metavar="DIR",
        help=msg("run folder (default: report/probe-YYYYmmdd-HHMMSS)"),
    )
    written.add_argument(
        "--resume", type=place, metavar="DIR", help=msg("continue the run in this folder")
    )
    output.arguments(written)
