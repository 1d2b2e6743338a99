"""Adds up short notes. Any sandboxed program can write a note; no note makes a server appear."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Container, Sequence

from healthcheck.sandbox import processes, protocol
from healthcheck.sandbox.channel import Channel
from healthcheck.sandbox.timers import Timers, seconds_of

_REFUSED_OFTEN = 6
"""A port polled this often is being waited for; a check whether it is free asks less often."""
_MOST = 200
_ENDS_S = 1.0
"""After its time limit, a sleep waits this long for the signal that ends it."""


class Notes:
    """Sleeps, time limits and refused requests.

    Args:
        loading: no server ever becomes ready, and the clocks of the script advance as it sleeps.
        marks: the words that a stub may write as notes.
    """

    def __init__(self, channel: Channel, *, loading: bool, marks: Container[str]) -> None:
        self._channel, self._loading, self._known_marks = channel, loading, marks
        self._refused: Counter[int] = Counter()
        self._ending: deque[tuple[float, int]] = deque(maxlen=_MOST)
        self.timers = Timers()
        self.napping: set[int] = set()
        self.marks: set[str] = set()
        self.slept_s = 0.0
        self.asked = False

    def read(self, word: str, more: Sequence[str]) -> None:
        first = number(more[0]) if more else 0
        if word == "slept":
            self._slept(*[*more, "", "", "", "", ""][:5])
        elif word == "limit":
            self.timers.note(first, "".join(more[1:2]))
        elif word == "naps" and len(self.napping) < _MOST:
            self.napping.add(first)
        elif word == "woke":
            self.napping.discard(first)
        elif word == "refused" and len(self._refused) < _MOST:
            self._refused[first] += 1
        elif word == "waited":
            self._channel.shown.add(protocol.WAITED, ".")
        elif word in self._known_marks:
            self.marks.add(word)

    def _slept(self, text: str, naps: str, pid: str, timer: str, limit: str) -> None:
        seconds = seconds_of(text)
        self.slept_s += seconds
        if number(naps) and len(self.napping) < _MOST:
            self.napping.add(number(naps))
        if not self._loading:
            return
        self._channel.shown.pass_s(self.slept_s)
        if self.timers.passes(number(timer), seconds, seconds_of(limit)):
            self.napping.add(number(pid))
            self._ending.append((time.monotonic() + _ENDS_S, number(pid)))
        else:
            self.answer(number(pid))

    def answer(self, pid: int) -> None:
        """Let the writer of a note continue, if it still exists."""
        if pid and processes.exists(pid):
            self._channel.answer_note()

    def pass_time(self) -> None:
        """Signal timers that are due; let sleeps continue that a timer should have ended."""
        self.timers.ring()
        while self._ending and self._ending[0][0] < time.monotonic():
            self.answer(self._ending.popleft()[1])

    def forget_all_but(self, running: Container[int]) -> None:
        """Forget processes that are gone."""
        self.napping = {pid for pid in self.napping if pid in running}

    def refused(self, listening: Container[int]) -> list[int]:
        """Ports that a program polled without an answer and that are not in `listening`."""
        often = sorted(
            port for port, count in self._refused.items() if port and count >= _REFUSED_OFTEN
        )
        return [port for port in often if port not in listening]


def number(text: str) -> int:
    """Parse a process id or a port; 0 for anything else."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,8}", text) else 0
