"""`verify --numerics`."""

from __future__ import annotations

import argparse

from healthcheck.api import Addition, switch
from healthcheck.text.messages import msg

OPTION = "--numerics"


def _asked(_: argparse.Namespace) -> object:
    from healthcheck.extensions.numerics.measuring import IN_A_RUN  # noqa: PLC0415 - --help needs none of it

    return IN_A_RUN


ADDITIONS = (
    Addition(
        command="verify",
        option=OPTION,
        heading=msg("measurements of the server (see docs/numerics.md and docs/features.md)"),
        arguments=switch(
            OPTION, msg("also compare log-probabilities that must agree (about 300 requests)")
        ),
        asked=_asked,
        everyday=(OPTION,),
    ),
)
