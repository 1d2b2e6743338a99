"""The phase of a start, read from a growing log: for the progress line and the report's timeline."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
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
     msg("installing packages"), msg("loading the engine")),
    (r"Initializing a V1 LLM engine|vLLM API server version|non-default args:",
     msg("starting the engine"), msg("loading weights")),
    (r"Starting to load model|Loading (safetensors|pt) checkpoint shards|Loading model weights",
     msg("loading weights"), msg("compiling, then measuring memory")),
    (r"Loading weights took|Model loading took",
     msg("weights loaded"), msg("compiling, then measuring memory")),
    (r"Dynamo bytecode transform|[Cc]ompil(ing|ed) (a|the) graph|torch\.compile takes|Start compiling",
     "compiling", msg("measuring memory, capturing graphs")),
    (r"KV cache (size|space)|Maximum concurrency for|Available KV cache memory",
     msg("cache made"), msg("capturing graphs (minutes on an NPU), then the server")),
    (r"Capturing (CUDA|ACL|NPU)? ?graphs?|Capturing cudagraphs", msg("capturing graphs"), msg("the server")),
    (r"Graph capturing finished|init engine .* took",
     msg("engine ready"), msg("the server, then the first answer")),
    (r"Starting vLLM (API )?server|Started server process|Application startup complete|Uvicorn running on",
     msg("server started"), msg("the first answer")),
)  # fmt: skip
"""The phases of a start: a pattern of their lines, their names, and what usually follows."""
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
    _then: str = ""
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
        """The current phase of the start, and the usual next one."""
        if not self.phases:
            return msg("no output yet") if not self.size_bytes else msg("running")
        percent = msg(" {percent} %", self.percent) if self.percent is not None else ""
        return msg("{name}{percent} · usually next: {then}", self.phases[-1].name, percent, self._then)

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
        for pattern, name, then in STEPS:
            if re.search(pattern, line):
                if name not in {phase.name for phase in self.phases}:
                    self.phases.append(Phase(name=name, at_s=round(now_s, 1)))
                    self.percent = None
                self._then = then
                break
        self._bar(line)

    def _bar(self, text: str) -> None:
        found = _PERCENT.findall(text)
        if found:
            self.percent = min(100, int(found[-1]))
