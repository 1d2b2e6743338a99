"""`npu-adapter update`: what changed in the template since a repository was made, merged into it."""

from __future__ import annotations

import argparse
from pathlib import Path

from healthcheck import scaffold


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("repository", metavar="REPO", nargs="?", type=Path, default=Path(), help="default: .")


def run(options: argparse.Namespace) -> int:
    """Update and show what changed; the commit is the author's."""
    changes = scaffold.update(options.repository)
    print(f"updated; look at the changes and commit them:\n{changes}" if changes else "already up to date")
    return 0
