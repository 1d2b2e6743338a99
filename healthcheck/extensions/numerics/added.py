"""`verify --numerics`."""

from __future__ import annotations

import argparse

from healthcheck.api import Addition
from healthcheck.text.messages import msg


def _arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--numerics",
        action="store_true",
        help=msg("also compare log-probabilities that must agree (about 300 requests)"),
    )


def _asked(_: argparse.Namespace) -> object:
    from healthcheck.extensions.numerics.measuring import IN_A_RUN  # noqa: PLC0415 - --help needs none of it

    return IN_A_RUN


ADDITIONS = (
    Addition(
        command="verify",
        option="--numerics",
        heading=msg("measurements of the server (see docs/numerics.md and docs/features.md)"),
        arguments=_arguments,
        asked=_asked,
        everyday=("--numerics",),
    ),
)
