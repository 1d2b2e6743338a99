"""What the benchmarks share: commands with time and memory, medians with ranges, bounds, a section of the report.

Every benchmark is called in one way, `.venv/bin/python benchmarks/NAME.py`: it prints its section as Markdown and
ends with status 1 where a bound was missed. `make bench` (run.py) runs all of them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""An installed kit has its bytecode beside it."""
KIT = (sys.executable, "-m", "healthcheck")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one run of a command took; its own processes are counted, those that it leaves behind are not.

    Attributes:
        cpu_s: user and system time of all its processes.
        peak_mb: of its largest process, in 10^6 bytes.
        output: standard output and error, the last 4000 characters.
    """

    status: int
    seconds: float
    cpu_s: float
    peak_mb: float
    output: str


def timed(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: int = 300,
) -> Usage:
    """Run one command to its end, or kill it when its time is over (status -9)."""
    with tempfile.TemporaryDirectory() as folder:
        result, output = Path(folder, "result.json"), Path(folder, "output.txt")
        wrapped = [
            sys.executable,
            "-I",
            "-S",
            ROOT / "benchmarks/timed.py",
            result,
            str(timeout_s),
            *command,
        ]
        with output.open("wb") as file:
            subprocess.run(
                wrapped, check=True, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=cwd,
                env={**os.environ, **COMPILED, **(env or {})},
            )  # fmt: skip
        text = output.read_text("utf-8", "replace")[-4000:]
        return Usage(**json.loads(result.read_text("utf-8")), output=text)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median with the range: `0.16 (0.15-0.19)`."""
    low, middle, high = (
        format(value, form) for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low}-{high})" if low != high else middle


def ratios(these: Sequence[float], those: Sequence[float]) -> list[float]:
    """Pair by pair, as they were measured one after the other: a busy moment falls on both."""
    return [this / that for this, that in zip(these, those, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A promise, what was seen, and whether it was kept."""

    promise: str
    seen: str
    kept: bool

    def line(self) -> str:
        return f"- [{'x' if self.kept else ' '}] {self.promise}: {self.seen}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One benchmark's part of the report."""

    title: str
    about: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bounds: Sequence[Bound] = ()
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        table = [self.header, ["---", *["---:"] * (len(self.header) - 1)], *self.rows]
        parts = [
            f"## {self.title}",
            self.about,
            "\n".join(f"| {' | '.join(row)} |" for row in table),
        ]
        parts += ["\n".join(bound.line() for bound in self.bounds)] if self.bounds else []
        return "\n\n".join([*parts, *self.notes]) + "\n"


def main(benchmark: Callable[[], Section]) -> None:
    """Print the section of a benchmark; the exit status says whether its bounds were kept."""
    section = benchmark()
    print(section.markdown())
    sys.exit(0 if all(bound.kept for bound in section.bounds) else 1)
