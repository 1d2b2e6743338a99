"""The tree of errors that the kit raises on purpose, and the exit statuses of its commands.

KitError            what went wrong, in a sentence for the person who ran the command
├── UsageError      wrong arguments or unreadable input: ExitStatus.WRONG_USAGE
├── Blocked         something outside the submission was in the way: ExitStatus.INCONCLUSIVE
└── KitFailure      the kit itself could not do its work: ExitStatus.KIT_FAILED
"""

from __future__ import annotations

import enum

from healthcheck.text.messages import Message, msg


class ExitStatus(enum.IntEnum):
    """How a command of the kit ends; a command without a verdict says in its help what its own mean.

    Attributes:
        READY: also what a command without a verdict ends with when it did its work.
        INCONCLUSIVE: the evidence does not settle it, or something else was in the way.
        KIT_FAILED: the kit could not do its own work, or could not write its output.
    """

    READY = 0
    NOT_READY = 1
    WRONG_USAGE = 2
    INCONCLUSIVE = 3
    KIT_FAILED = 4


class KitError(Exception):
    """Root of the kit's own errors; its text is a sentence for the user."""


class UsageError(KitError):
    """The command was given something it cannot use."""


class Blocked(KitError):  # noqa: N818 - an outcome more than an error
    """Something that is not the submission's fault was in the way (a port taken, no NPU)."""


class KitFailure(KitError):  # noqa: N818 - says whose failure it is
    """The kit could not do its own work (a full disk, a missing system call)."""


REASONS = (
    msg("No such file or directory"),
    msg("Not a directory"),
    msg("Is a directory"),
    msg("Permission denied"),
    msg("Operation not permitted"),
    msg("File name too long"),
    msg("No space left on device"),
    msg("Read-only file system"),
    msg("Address already in use"),
    msg("Cannot assign requested address"),
    msg("Connection refused"),
)
"""What the system says most; anything else that it says stays as it is."""


def reason_of(error: OSError) -> Message:
    """Why the system refused, in its own words, which are known in other languages too."""
    return Message(error.strerror or str(error))
