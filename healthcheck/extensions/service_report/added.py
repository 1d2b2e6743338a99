"""`probe --client` and `verify --client`: the evaluation client itself asks the server."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from healthcheck.api import Addition
from healthcheck.cli.number_types import positive
from healthcheck.text.messages import msg

OPTION = "--client"
HEADING = msg("the evaluation client itself (see docs/service-report.md)")


def arguments(group: argparse._ArgumentGroup) -> None:
    """Declare `--client` and what belongs to it."""
    group.add_argument(
        OPTION,
        choices=("aisbench",),
        metavar="NAME",
        help=msg("have aisbench, the service's client, ask the server, and read its report"),
    )
    group.add_argument(
        "--aisbench-python",
        default="",
        metavar="PYTHON",
        help=msg(
            "the Python, or the virtual environment, that has it (default: this Python, else ais_bench on PATH)"
        ),
    )
    group.add_argument(
        "--client-deadline",
        type=positive,
        default=3600.0,
        metavar="S",
        help=msg("seconds for it (default: 3600)"),
    )


def _of_verify(options: argparse.Namespace) -> object:
    from healthcheck.extensions.service_report import with_client  # noqa: PLC0415 - --help needs none of it

    return with_client.in_a_run(options)


def _of_probe(options: argparse.Namespace) -> Callable[[], int]:
    from healthcheck.extensions.service_report import with_client  # noqa: PLC0415 - as above

    return lambda: with_client.probe(options)


ADDITIONS = (
    Addition(
        command="verify", option=OPTION, heading=HEADING, arguments=arguments, asked=_of_verify
    ),
    Addition(command="probe", option=OPTION, heading=HEADING, arguments=arguments, asked=_of_probe),
)
