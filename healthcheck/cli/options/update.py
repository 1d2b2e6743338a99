"""The options of `npu-adapter update`."""

from __future__ import annotations

import argparse
from pathlib import Path

from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "", "my-adapter")
    parser.description = msg(
        "Bring a repository of your own up to date with the template it was made from.\n"
        "Not for one of a stranger: the template that its answers name is fetched, and\n"
        "the filters of its git configuration run."
    )
    meanings = {
        0: msg("merged, or up to date already"),
        1: msg("conflicts: files that you and the template changed in the same place"),
        2: msg("it cannot be updated: the reason is said"),
    }
    parser.epilog = exit_statuses(meanings)
    parser.add_argument(
        "repository", metavar="REPO", nargs="?", type=place, default=Path(), help=msg("default: .")
    )
