"""The options of `npu-adapter man`."""

from __future__ import annotations

import argparse

from healthcheck.cli.parsing import exit_statuses
from healthcheck.messages import joined, msg

INSTALL = msg("""\
to read it now:  npu-adapter man | man -l -
to keep it:      mkdir -p ~/.local/share/man/man1
                 npu-adapter man > ~/.local/share/man/man1/npu-adapter.1""")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = joined("\n\n", [INSTALL, exit_statuses({0: msg("printed"), 2: msg("wrong usage")})])
