"""`npu-adapter update`: what changed in the template since a repository was made, merged into it."""

from __future__ import annotations

import argparse
from pathlib import Path

from healthcheck import scaffold
from healthcheck.cli.parsing import exit_statuses
from healthcheck.cli.places import place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = exit_statuses(
        {0: "updated, or up to date already", 2: "it cannot be updated: the reason is said"}
    )
    parser.add_argument("repository", metavar="REPO", nargs="?", type=place, default=Path(), help="default: .")


def run(options: argparse.Namespace) -> int:
    """Update and show what changed; the commit is the author's."""
    done = scaffold.update(options.repository)
    template = f"the template at {done.source}"
    if done.changes:
        print(f"updated from {done.before} to {done.after} of {template}; look at the changes and commit them:")
        print(done.changes, end="")
    else:
        print(f"already up to date with {template}, at {done.after}")
    return 0
