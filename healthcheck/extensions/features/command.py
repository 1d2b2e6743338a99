"""`npu-adapter features`: its options; the implementation is imported when it runs."""

from __future__ import annotations

import argparse
import importlib

from healthcheck import contract
from healthcheck.cli import output
from healthcheck.cli.number_types import whole
from healthcheck.cli.parsing import begin_help
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import Command, Group
from healthcheck.text.messages import msg


def _arguments(parser: argparse.ArgumentParser) -> None:
    url = f"http://127.0.0.1:{contract.PORT}"
    begin_help(parser, url, f"{url} --requests samples.jsonl --n 200")
    parser.add_argument("url", metavar="URL", help=msg("the server's root, such as {url}", url=url))
    parser.add_argument(
        "--model", default="", help=msg("model name (default: the first that the server lists)")
    )
    told = msg("requests for the rate of tool calls: chat-completions bodies, one in a line")
    parser.add_argument("--requests", type=place, metavar="FILE", help=told)
    parser.add_argument(
        "--n",
        type=whole(1),
        metavar="N",
        help=msg("how many of them (default: all of the file, or 20)"),
    )
    told = msg("compare with the --json of an earlier run over the same requests")
    parser.add_argument("--reference", type=place, metavar="FILE", help=told)
    written = parser.add_argument_group(msg("output"))
    written.add_argument("--out", type=new_place, metavar="DIR", help=msg("folder for the report"))
    output.arguments(written)


def _run(options: argparse.Namespace) -> int:
    status: int = importlib.import_module("healthcheck.extensions.features.running").run(options)
    return status


COMMAND = Command(
    summary=msg("check tool calls, structured output and parameters of a server"),
    arguments=_arguments,
    run=_run,
    group=Group.MEASURE,
)
