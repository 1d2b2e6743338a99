"""The tree of errors that the kit raises on purpose.

KitError            what went wrong, in a sentence for the person who ran the command
├── UsageError      wrong arguments or unreadable input: exit status 2
├── Blocked         something outside the submission was in the way: exit status 3
└── KitFailure      the kit itself could not do its work: exit status 4
"""

KIT_FAILED = 4
"""Exit status of a command that could not do its own work, or could not write its output."""


class KitError(Exception):
    """Root of the kit's own errors; its text is a sentence for the user."""


class UsageError(KitError):
    """The command was given something it cannot use."""


class Blocked(KitError):  # noqa: N818 - an outcome more than an error
    """Something that is not the submission's fault was in the way (a port taken, no NPU)."""


class KitFailure(KitError):  # noqa: N818 - says whose failure it is
    """The kit could not do its own work (a full disk, a missing system call)."""
