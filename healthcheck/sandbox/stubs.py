"""Whether a process is the stub that it says it is: what the kernel says of it, not what it sends."""

from __future__ import annotations

import os
from collections.abc import Sequence

from healthcheck.sandbox import processes

_COMMAND_BYTES = 1 << 20
_OPTIONS = ["-I", "-S", "-B", "-X", "utf8"]
_FOLDER = "lib/healthcheck/plan/dry_run/stubs"
_SAYS_WHAT_IT_SERVES, _SERVES_ITS_WORDS, _TELLS_FOR_ANOTHER = "python.py", "server.py", "tell.py"


class Stubs:
    """The programs of a dry run that may record something.

    Args:
        kit: the folder of the stubs, before the script starts.
    """

    def __init__(self, kit: str) -> None:
        self._kit = kit
        self._python = os.stat(f"{kit}/py/bin/python3")

    def author(self, pid: int) -> int:
        """The process whose record this one sends: itself, or the shell that it tells for; 0 for no stub."""
        words = self._words(pid)
        if not words:
            return 0
        return processes.parent(pid) if words[0] == _TELLS_FOR_ANOTHER else pid

    def is_a_server(self, pid: int, argv: Sequence[str]) -> bool:
        """Whether this process of the dry run serves with these arguments.

        One that a shell started has them in its own command line, so that they have to agree. A Python one may
        serve what its program told it.
        """
        script, *arguments = self._words(pid) or [""]
        if pid not in processes.family(os.getpid()):
            return False
        return script == _SAYS_WHAT_IT_SERVES or (script == _SERVES_ITS_WORDS and arguments == list(argv))

    def _words(self, pid: int) -> list[str]:
        """The script and the arguments of a process that runs one of ours in our interpreter; none of another's."""
        try:
            program = os.stat(f"/proc/{pid}/exe")
        except OSError:
            return []
        words = processes.command(pid, _COMMAND_BYTES)
        folder, _, script = words[6].rpartition("/") if len(words) > 7 else ("", "", "")
        ours = words[1:6] == _OPTIONS and folder == f"{self._kit}/{_FOLDER}" and words[7] == self._kit
        return [script, *words[8:]] if ours and os.path.samestat(program, self._python) else []
