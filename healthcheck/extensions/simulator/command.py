"""The command `npu-adapter simulate` and its options; `serving` implements it."""

from __future__ import annotations

import argparse

from healthcheck import contract
from healthcheck.cli import number_types
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.core.extensions import Command, Group
from healthcheck.extensions.simulator import DIALECTS
from healthcheck.extensions.simulator.manners import Manner
from healthcheck.extensions.simulator.solvers import SOLVERS
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "--port 9000 --accuracy easy=.9,medium=.7,hard=.5", "--fault no-done")
    meanings = {
        0: msg("it served until a signal came"),
        2: msg("wrong usage"),
        3: msg("it cannot listen there: usually the port is in use"),
    }
    parser.epilog = exit_statuses(meanings)
    parser.add_argument(
        "--host", default="127.0.0.1", help=msg("address to listen on (default %(default)s)")
    )
    parser.add_argument(
        "--port",
        type=number_types.port,
        default=contract.PORT,
        help=msg("0 takes a free one (default %(default)s)"),
    )
    parser.add_argument(
        "--model", default="simulated", metavar="NAME", help=msg("the served model name")
    )
    parser.add_argument("--dialect", default="vllm", choices=sorted(DIALECTS), metavar="NAME",
                        help=msg("whose habits on the wire (--list shows all; default %(default)s)"))  # fmt: skip
    parser.add_argument("--manner", default=Manner.PLAIN.value, choices=[manner.value for manner in Manner],
                        metavar="NAME",
                        help=msg("how the model writes (--list shows all; default %(default)s)"))  # fmt: skip
    parser.add_argument("--fault", action="append", default=[], metavar="NAME",
                        help=msg("may be given more than once (--list shows all)"))  # fmt: skip
    parser.add_argument(
        "--accuracy",
        default="",
        metavar="easy=.9,medium=.7,hard=.5",
        help=msg("share of right samples"),
    )
    parser.add_argument(
        "--correlation",
        type=number_types.share,
        default=0.0,
        help=msg("between the samples of a problem, 0 to 1"),
    )
    parser.add_argument(
        "--solver",
        default="",
        choices=sorted(SOLVERS),
        help=msg("a solver of known behaviour instead"),
    )
    parser.add_argument(
        "--tokens-per-second",
        type=number_types.number(low=0),
        default=0.0,
        help=msg("of each stream; 0 is at once"),
    )
    parser.add_argument("--first-token-s", type=number_types.number(low=0), default=0.0, metavar="S",
                        help=msg("seconds before the first token"))  # fmt: skip
    parser.add_argument(
        "--context",
        type=number_types.count,
        default=8192,
        metavar="TOKENS",
        help=msg("context length"),
    )
    parser.add_argument(
        "--incompetent", action="store_true", help=msg("answer nonsense to everything")
    )
    parser.add_argument("--seed", type=number_types.integer, default=0)
    parser.add_argument(
        "--problems",
        type=number_types.count,
        default=400,
        metavar="N",
        help=msg("problems it knows of each tier"),
    )
    parser.add_argument(
        "--problems-seed",
        type=number_types.integer,
        default=0,
        help=msg("the seed that the probe draws its problems from"),
    )
    parser.add_argument(
        "--list", action="store_true", help=msg("list dialects, manners and faults, then stop")
    )


def _run(options: argparse.Namespace) -> int:
    from healthcheck.extensions.simulator import serving  # noqa: PLC0415 - --help needs no server

    return serving.run(options)


_SUMMARY = msg("serve a simulated endpoint with a known accuracy and chosen faults")
COMMAND = Command(summary=_SUMMARY, arguments=arguments, run=_run, group=Group.MEASURE)
