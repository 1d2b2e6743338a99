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
    """The exit statuses of the kit's commands; the help of a command without a verdict explains its own.

    Attributes:
        READY: also for a command without a verdict that did its work.
        INCONCLUSIVE: the evidence does not settle the verdict, or something outside the submission was in the way.
        KIT_FAILED: the kit could not do its own work, or could not write its output.
    """

    READY = 0
    NOT_READY = 1
    WRONG_USAGE = 2
    INCONCLUSIVE = 3
    KIT_FAILED = 4


class KitError(Exception):
    """Root of the kit's own errors: a sentence for the user, as a message."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


class UsageError(KitError):
    """The arguments or input of a command are unusable."""


class Blocked(KitError):  # noqa: N818 - an outcome more than an error
    """Something outside the submission was in the way (a port in use, no NPU)."""


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
"""The most common reasons that the system gives; others are not translated."""


def reason_of(error: OSError) -> Message:
    """The system's reason for an error, as a message that can be translated."""
    # socket.create_server adds the address to the system's words.
    return Message((error.strerror or str(error)).partition(" (while attempting to bind")[0])
