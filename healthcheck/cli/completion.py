"""`npu-adapter completion`: a completion script for a shell, which shtab makes from the parser."""

from __future__ import annotations

import argparse

from healthcheck import cli
from healthcheck.errors import UsageError
from healthcheck.system import extras

SHTAB = "shtab"


def run(options: argparse.Namespace) -> int:
    """Print the script.

    Raises:
        UsageError: shtab is not installed.
    """
    try:
        import shtab  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            "completion scripts need shtab: {install_command}", extras.install_command(SHTAB)
        ) from error
    print(shtab.complete(cli.whole_parser(), options.shell))
    return 0
