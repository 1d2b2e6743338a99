"""Recognises a restart loop: one program starts and dies repeatedly, and no other program works."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from healthcheck.system.processes import Process

WITH_SAME_ERROR = 3
"""This many starts are a loop if the log has the same error equally often."""
WITHOUT_ERROR = 8
"""This many starts are a loop if the log has no error."""
_KEEPERS = re.compile(
    r"^(?:[\w./-]*/)?(?:ba|da|z|k|a)?sh\b|supervisord|s6-|runsv|tini|dumb-init|^(?:[\w./-]*/)?(?:sleep|tail|cat|tee|timeout)\b"
)
_ERROR = re.compile(
    r"^[\w.]*(?:Error|Exception)\b|^(?:\S+: )*(?:error|fatal)\b|command not found|No such file",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Restarts:
    """Records which programs have run. Shells, sleeps and process supervisors do not count as programs."""

    _seen: dict[str, set[tuple[int, float]]] = field(default_factory=dict)
    _errors: dict[str, int] = field(default_factory=dict)

    def look(self, tree: Sequence[Process], new_lines: Sequence[str]) -> None:
        """Record the running processes and the new lines of the log."""
        for process in tree:
            if not _KEEPERS.search(process.command):
                self._seen.setdefault(process.command, set()).add((process.pid, process.started_s))
        for line in new_lines:
            if _ERROR.search(line) and len(self._errors) < 1000:
                signature = re.sub(r"\d+", "#", line)[:200]
                self._errors[signature] = self._errors.get(signature, 0) + 1

    def loop(self, tree: Sequence[Process]) -> tuple[str, int] | None:
        """The restarted command line and its number of starts; None if there is no loop.

        A program that polls while another one loads is not a loop: the other one outlives the restarts.
        """
        repeated = max(self._errors.values(), default=0)
        for command, starts in self._seen.items():
            needed = WITH_SAME_ERROR if repeated >= WITH_SAME_ERROR else WITHOUT_ERROR
            if len(starts) < needed or sum(process.command == command for process in tree) > 1:
                continue
            last_but_one = sorted(started for _, started in starts)[-2]
            lasting = [
                process
                for process in tree
                if process.started_s < last_but_one
                and process.command != command
                and process.pid != os.getpid()
                and not _KEEPERS.search(process.command)
            ]
            if not lasting:
                return command, len(starts)
        return None
