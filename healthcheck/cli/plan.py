"""`npu-adapter plan`: the lines with which a plain deploy.sh launches given weights on a given machine."""

from __future__ import annotations

import argparse

from healthcheck.errors import ExitStatus
from healthcheck.scaffold import planner


def run(options: argparse.Namespace) -> int:
    """Print the lines."""
    print(planner.lines(planner.target(options, options.stack)))
    return ExitStatus.READY
