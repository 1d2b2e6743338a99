"""`npu-adapter update`: what changed in the template since a repository was made, merged into it."""

from __future__ import annotations

import argparse

from healthcheck.errors import ExitStatus
from healthcheck.language import phrases_of_the_process
from healthcheck.scaffold import template
from healthcheck.scaffold.update import Update, update


def run(options: argparse.Namespace) -> int:
    """Merge and show what changed; the commit is the author's."""
    done = update(options.repository)
    say = phrases_of_the_process().say
    source = "the kit's template" if done.source == template.NAME else f"the template at {done.source}"
    if done.conflicts:
        print(say(f"CONFLICT: you and {source} ({_versions(done)}) changed the same lines of:"))
        print("".join(f"  {name}\n" for name in done.conflicts), end="")
        print(say("Each has both between <<<<<<< and >>>>>>>: choose, git add it, and commit. To undo all of it:"))
        print("  git reset --hard")
        return ExitStatus.NOT_READY
    if done.changes:
        told = f"updated from {source}, {_versions(done)}; look at the changes (git diff --cached) and commit them:"
        print(say(told))
        print(done.changes, end="")
    else:
        print(say(f"already up to date with {source}{f', {done.after}' if done.after else ''}"))
    return ExitStatus.READY


def _versions(done: Update) -> str:
    return (
        f"from {done.before} to {done.after}"
        if done.before and done.before != done.after
        else done.after or "as it is"
    )
