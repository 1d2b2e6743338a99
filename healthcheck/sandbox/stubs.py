"""Verifies that a process is the stub it claims to be, from what the kernel reports and not from what it sends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from healthcheck.sandbox import processes
from healthcheck.sandbox.guest import Guest, Role

_COMMAND_BYTES = 1 << 20
_OPTIONS = ["-I", "-S", "-B", "-X", "utf8"]


class Stubs:
    """The programs of a dry run that may send records.

    Args:
        kit: the folder of the stubs, before the script starts.
        guest: names the scripts below `kit` and their roles.
    """

    def __init__(self, kit: str, guest: Guest) -> None:
        self._kit, self._folder, self._roles = (
            kit,
            guest.scripts and f"{kit}/{guest.scripts}",
            guest.roles,
        )
        self._python = os.stat(f"{kit}/py/bin/python3")

    def is_one(self, pid: int) -> bool:
        """Whether this process of the dry run is a stub in Python."""
        return bool(self._words(pid)) and pid in processes.family(os.getpid())

    def is_a_server(self, pid: int, argv: Sequence[str]) -> bool:
        """Whether this process of the dry run serves with these arguments.

        A server that a shell started has the arguments on its own command line, so they have to agree. A Python
        server may take other arguments from its program.
        """
        script, *arguments = self._words(pid) or [""]
        if pid not in processes.family(os.getpid()):
            return False
        role = self._roles.get(script)
        return role is Role.SERVES_ANYTHING or (
            role is Role.SERVES_ITS_WORDS and arguments == list(argv)
        )

    def _words(self, pid: int) -> list[str]:
        """The script and arguments of a process that runs one of our stubs in our interpreter; otherwise empty."""
        try:
            program = os.stat(f"/proc/{pid}/exe")
        except OSError:
            return []
        words = processes.command(pid, _COMMAND_BYTES)
        folder, _, script = words[6].rpartition("/") if len(words) > 7 else ("", "", "")
        ours = (
            folder and folder == self._folder and words[1:6] == _OPTIONS and words[7] == self._kit
        )
        return [script, *words[8:]] if ours and os.path.samestat(program, self._python) else []
