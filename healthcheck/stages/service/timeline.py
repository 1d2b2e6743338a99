"""The phase of a start, read from a growing log: for the progress line and the report's timeline."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from healthcheck.stages.service.records import Phase
from healthcheck.stages.service.text import plain, without_prefixes
from healthcheck.text.messages import msg

READ_BYTES = 2**20
"""The most bytes of the log to read at once; the middle of a faster growing log is skipped."""
TAIL_LINES = 40
LINE_CHARACTERS = 400

STEPS = (
    (r"^(Collecting |Downloading |Installing collected packages|Requirement already satisfied)",
     msg("installing packages")),
    (r"Initializing a V1 LLM engine|vLLM API server version|non-default args:", msg("starting the engine")),
    (r"Starting to load model|Loading (safetensors|pt) checkpoint shards|Loading model weights",
     msg("loading weights")),
    ((r"Loading weights took|Model loading took|torch\.compile takes|Start compiling|Dynamo bytecode transform|"
     r"[Cc]ompil(ing|ed) (a|the) graph"),
     msg("compiling and measuring memory")),
    ((r"KV cache (size|space)|Maximum concurrency for|Available KV cache memory|Capturing cudagraphs|"
     r"Capturing (CUDA|ACL|NPU)? ?graphs?"),
     msg("capturing graphs")),
    (r"Graph capturing finished|init engine .* took", msg("starting the server")),
    (r"Starting vLLM (API )?server|Started server process|Application startup complete|Uvicorn running on",
     msg("answering the first request")),
)  # fmt: skip
"""The phases of a start: a pattern of the lines that come first in each, and what the server does from there on."""
_PERCENT = re.compile(r"(\d{1,3})% ?(?:Completed|\|)")
_SERVES_ON = re.compile(
    r"(?i)(?:running on|server \d* ?on|listening (?:on|at)|serving (?:http )?(?:on|at))"
    r"[^\n]{0,60}?(?::|\bport[ =:]{0,2})(\d{2,5})\b"
)


@dataclass(slots=True)
class Timeline:
    """Follows one log file. `look` reads the new part and updates the attributes.

    Attributes:
        phases: in the order of their first sign.
        percent: progress of the current phase, None if its lines do not show it.
        announced: ports on which a server listens, according to the log.
        size_bytes: of the log so far.
    """

    log: Path
    phases: list[Phase] = field(default_factory=list)
    percent: int | None = None
    announced: set[int] = field(default_factory=set)
    size_bytes: int = 0
    last_line: str = ""
    _held: str = ""
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))

    def look(self, now_s: float) -> tuple[str, ...]:
        """Read the new part of the log, `now_s` seconds after the launch; returns its complete lines."""
        lines = self._new_lines()
        for line in lines:
            self._take(line, now_s)
        return lines

    def tail(self) -> tuple[str, ...]:
        """The last lines of the log, including an unfinished one."""
        return tuple(self._tail) + ((self._held[:LINE_CHARACTERS],) if self._held.strip() else ())

    def describe(self) -> str:
        """The current phase of the start."""
        if not self.phases:
            return msg("no output yet") if not self.size_bytes else msg("running")
        percent = msg(" {percent} %", percent=self.percent) if self.percent is not None else ""
        return msg("{name}{percent}", name=self.phases[-1].name, percent=percent)

    def usually_next(self) -> str:
        """The phase that usually follows; "" if none does."""
        names = [str(name) for _, name in STEPS]
        reached = self.phases[-1].name if self.phases else names[-1]
        return next((then for name, then in pairwise(names) if name == reached), "")

    def _new_lines(self) -> tuple[str, ...]:
        try:
            size = self.log.stat().st_size
            if size == self.size_bytes:
                return ()
            with self.log.open("rb") as file:
                file.seek(max(self.size_bytes if size > self.size_bytes else 0, size - READ_BYTES))
                data = file.read(READ_BYTES)
        except OSError:
            return ()
        self.size_bytes = size
        text = self._held + without_prefixes(plain(data.decode("utf-8", "replace")))
        *lines, held = text.split("\n")
        self._held = held[-LINE_CHARACTERS:]
        self._bar(held)
        return tuple(line[:LINE_CHARACTERS] for line in lines if line.strip())

    def _take(self, line: str, now_s: float) -> None:
        self._tail.append(line)
        self.last_line = line
        self.announced.update(int(port) for port in _SERVES_ON.findall(line))
        begun = next((name for pattern, name in STEPS if re.search(pattern, line)), None)
        if begun and begun not in {phase.name for phase in self.phases}:
            self.phases.append(Phase(name=begun, at_s=round(now_s, 1)))
            self.percent = None
        self._bar(line)

    def _bar(self, text: str) -> None:
        found = _PERCENT.findall(text)
        if found:
            self.percent = min(100, int(found[-1]))
