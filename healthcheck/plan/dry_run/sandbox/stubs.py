"""Whether a process is the stand-in that a record says it is: what the kernel says of it, not what a file says."""

from __future__ import annotations

import os
from collections.abc import Sequence

_SHELL = "/bin/sh"
_COMMAND_BYTES = 1 << 20
_IN_PYTHON = "lib/healthcheck/plan/dry_run/stubs/python.py"
_IN_SHELL = "server.sh"


def is_a_server(pid: int, argv: Sequence[str], kit: str) -> bool:
    """Whether this process can have recorded that it serves with these arguments; one that has ended may have.

    A shell stand-in has its arguments in its own command line, so that they have to agree. A Python one may serve
    what its program told it.
    """
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(_COMMAND_BYTES).split(b"\0")[:-1]]
        here = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return not os.path.exists(f"/proc/{pid}")
    if not words:
        return True  # it has just ended, and nobody waited for it yet
    if program == os.path.realpath(f"{kit}/py/bin/python3"):
        return f"{kit}/{_IN_PYTHON}" in words
    if program != os.path.realpath(_SHELL):
        return False
    if words[1:3] == ["-c", f". {kit}/{_IN_SHELL}"]:
        return words[4:] == list(argv[1:])
    script = os.path.realpath(os.path.join(here, words[1])) if len(words) > 1 else ""
    return script == os.path.realpath(f"{kit}/{_IN_SHELL}") and words[2:] == list(argv[1:])
