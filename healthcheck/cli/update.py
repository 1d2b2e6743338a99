"""`npu-adapter update`: merges changes of the template into a repository that was made from it."""

from __future__ import annotations

import argparse

from healthcheck.errors import ExitStatus
from healthcheck.scaffold import template
from healthcheck.scaffold.update import Update, update
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg


def run(options: argparse.Namespace) -> int:
    """Merge and show the changes; committing is left to the author."""
    done = update(options.repository)
    say = translation_of_the_process().say
    own = done.source == template.NAME
    source = (
        msg("the kit's template") if own else msg("the template at {source}", source=done.source)
    )
    versions = _versions(done)
    if done.conflicts:
        print(
            say(
                msg(
                    "CONFLICT: you and {source} ({versions}) changed the same lines of:",
                    source=source,
                    versions=versions,
                )
            )
        )
        print("".join(f"  {name}\n" for name in done.conflicts), end="")
        both = msg(
            "Each has both between <<<<<<< and >>>>>>>: choose, git add it, and commit. To undo all of it:"
        )
        print(say(both))
        print("  git reset --hard")
        return ExitStatus.NOT_READY
    if done.changes:
        look = msg(
            "updated from {source}, {versions}; look at the changes (git diff --cached) and commit them:",
            source=source,
            versions=versions,
        )
        print(say(look))
        print(done.changes, end="")
    else:
        print(
            say(
                msg(
                    "already up to date with {source}{value}",
                    source=source,
                    value=f", {done.after}" if done.after else "",
                )
            )
        )
    return ExitStatus.READY


def _versions(done: Update) -> str:
    if done.before and done.before != done.after:
        return msg("from {before} to {after}", before=done.before, after=done.after)
    return done.after or msg("as it is")
