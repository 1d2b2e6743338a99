"""`verify --features`."""

from __future__ import annotations

import argparse

from healthcheck.api import Addition
from healthcheck.text.messages import msg


def _arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--features",
        action="store_true",
        help=msg(
            "also test tool calls, structured output and parameters (does not affect the verdict)"
        ),
    )


def _asked(_: argparse.Namespace) -> object:
    from healthcheck.extensions.features.running import IN_A_RUN  # noqa: PLC0415 - --help needs none of it

    return IN_A_RUN


ADDITIONS = (
    Addition(
        command="verify",
        option="--features",
        heading=msg("measurements of the server (see docs/numerics.md and docs/features.md)"),
        arguments=_arguments,
        asked=_asked,
        everyday=("--features",),
    ),
)
