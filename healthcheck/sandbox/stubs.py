"""Whether a process is the stub that it says it is: what the kernel says of it, not what it sends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from healthcheck.sandbox import processes
from healthcheck.sandbox.guest import Guest, Role

_COMMAND_BYTES = 1 << 20
_OPTIONS = ["-I", "-S", "-B", "-X", "utf8"]


class Stubs:
    """The programs of a dry run that may record something.

    Args:
        kit: the folder of the stubs, before the script starts.
        guest: names the scripts below it and their roles.
    """

    def __init__(self, kit: str, guest: Guest) -> None:
        self._kit, self._folder, self._roles = kit, guest.scripts and f"{kit}/{guest.scripts}", guest.roles
        self._python = os.stat(f"{kit}/py/bin/python3")

    def author(self, pid: int) -> int:
        """The process whose record this one sends: itself, or the shell that it tells for; 0 for no stub."""
        words = self._words(pid)
        if not words:
            return 0
        return processes.parent(pid) if self._roles.get(words[0]) is Role.TELLS_FOR_ITS_PARENT else pid

    def is_a_server(self, pid: int, argv: Sequence[str]) -> bool:
        """Whether this process of the dry run serves with these arguments.

        One that a shell started has them in its own command line, so that they have to agree. A Python one may
        serve what its program told it.
        """
        script, *arguments = self._words(pid) or [""]
        if pid not in processes.family(os.getpid()):
            return False
        role = self._roles.get(script)
        return role is Role.SERVES_ANYTHING or (role is Role.SERVES_ITS_WORDS and arguments == list(argv))

    def _words(self, pid: int) -> list[str]:
        """The script and the arguments of a process that runs one of ours in our interpreter; none of another's."""
        try:
            program = os.stat(f"/proc/{pid}/exe")
        except OSError:
            return []
        words = processes.command(pid, _COMMAND_BYTES)
        folder, _, script = words[6].rpartition("/") if len(words) > 7 else ("", "", "")
        ours = folder and folder == self._folder and words[1:6] == _OPTIONS and words[7] == self._kit
        return [script, *words[8:]] if ours and os.path.samestat(program, self._python) else []
