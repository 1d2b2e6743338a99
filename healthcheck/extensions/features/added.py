"""`verify --features`."""

from __future__ import annotations

import argparse

from healthcheck.api import Addition, switch
from healthcheck.text.messages import msg

OPTION = "--features"


def _asked(_: argparse.Namespace) -> object:
    from healthcheck.extensions.features.running import IN_A_RUN  # noqa: PLC0415 - --help needs none of it

    return IN_A_RUN


ADDITIONS = (
    Addition(
        command="verify",
        option=OPTION,
        heading=msg("measurements of the server (see docs/numerics.md and docs/features.md)"),
        arguments=switch(
            OPTION,
            msg(
                "also test tool calls, structured output and parameters (does not affect the verdict)"
            ),
        ),
        asked=_asked,
        everyday=(OPTION,),
    ),
)
