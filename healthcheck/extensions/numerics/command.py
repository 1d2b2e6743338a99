"""`npu-adapter numerics`: its options; the implementation is imported when it runs."""

from __future__ import annotations

import argparse
import importlib

from healthcheck import contract
from healthcheck.cli import output
from healthcheck.cli.number_types import whole
from healthcheck.cli.parsing import begin_help
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import Command, Group
from healthcheck.extensions.numerics.records import NumericsSettings
from healthcheck.text.messages import msg

_DEFAULT = NumericsSettings(url="")


def _arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(
        parser,
        f"http://127.0.0.1:{contract.PORT} --out gpu-numerics",
        f"http://127.0.0.1:{contract.PORT} --reference gpu-numerics",
    )
    parser.add_argument(
        "url",
        metavar="URL",
        help=msg("the server's root, such as http://127.0.0.1:{port}", port=contract.PORT),
    )
    parser.add_argument(
        "--model", default="", help=msg("model name (default: the first that the server lists)")
    )
    parser.add_argument(
        "--reference", type=place, metavar="DIR",
        help=msg("compare token for token with the run in this folder, or with the weights in it, by transformers"),
    )  # fmt: skip
    parser.add_argument(
        "--reference-python",
        default="",
        metavar="PYTHON",
        help=msg("a Python with torch and transformers, for weights (default: this one)"),
    )
    parser.add_argument("--trust-remote-code", action="store_true",
                        help=msg("let code that comes with the weights of --reference run"))  # fmt: skip
    parser.add_argument("--pairs", type=whole(1), default=_DEFAULT.pairs, metavar="N",
                        help=msg("comparisons of each kind (default: %(default)s)"))  # fmt: skip
    parser.add_argument("--longest", type=whole(1), default=_DEFAULT.longest_tokens, metavar="TOKENS",
                        help=msg("longest prompt (default: %(default)s)"))  # fmt: skip
    parser.add_argument("--max-batch", type=whole(1), default=_DEFAULT.max_batch, metavar="N",
                        help=msg("largest batch: the server's --max-num-seqs (default: %(default)s)"))  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help=msg("choice of the prompts (default: %(default)s)")
    )
    written = parser.add_argument_group(msg("output"))
    written.add_argument(
        "--out",
        type=new_place,
        metavar="DIR",
        help=msg("run folder and reference (default: report/numerics-YYYYmmdd-HHMMSS)"),
    )
    output.arguments(written)


def _run(options: argparse.Namespace) -> int:
    status: int = importlib.import_module("healthcheck.extensions.numerics.measuring").run(options)
    return status


COMMAND = Command(
    summary=msg("check that a running server computes the same in every situation"),
    arguments=_arguments,
    run=_run,
    group=Group.MEASURE,
)
