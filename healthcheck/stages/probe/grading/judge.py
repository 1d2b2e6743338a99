"""math-verify as a judge: one child process for many comparisons, restarted when it hits a limit."""

from __future__ import annotations

import atexit
import contextlib
import enum
import importlib.metadata
import importlib.util
import json
import os
import select
import signal
import subprocess
import threading
import time
from functools import lru_cache
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.grading import math_child
from healthcheck.system import extras, programs
from healthcheck.system.processes import started
from healthcheck.text.messages import msg

PACKAGE = "math-verify"
MAX_CHARS = 400
"""Longer expressions are not judged: parsing time grows fast with depth."""
DEADLINE_S = 60.0
"""More than the child's own limit, which counts CPU time."""
START_S = 120.0
MAX_NO_END = 20
"""The most comparisons that may time out; then the process judges no more: each costs seconds and a new child."""
_TOOK_TOO_LONG = {-signal.SIGVTALRM, -signal.SIGKILL}
_MODULES = ("math_verify", "latex2sympy2_extended", "sympy", "mpmath", "antlr4")


class Verdict(enum.Enum):
    """The result of a comparison."""

    EQUAL = math_child.EQUAL
    DIFFERENT = math_child.DIFFERENT
    UNREADABLE = math_child.UNREADABLE
    TOO_LONG = "too long"
    NO_END = "no end"
    NOT_JUDGED = f"not judged, after {MAX_NO_END} comparisons without an end"


def installed() -> bool:
    """Whether math-verify is installed."""
    return importlib.util.find_spec("math_verify") is not None


def name() -> str:
    """The judge's name with its version."""
    return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"


@lru_cache(maxsize=2**16)
def compare(gold: str, answer: str) -> Verdict:
    """Whether two expressions in LaTeX are equal.

    Raises:
        UsageError: math-verify is not installed.
    """
    if not installed():
        raise UsageError(
            msg(
                "expressions are judged by {package}, which is not installed: {install_command}",
                package=PACKAGE,
                install_command=extras.install_command(PACKAGE),
            )
        )
    if max(len(gold), len(answer)) > MAX_CHARS or "__" in gold + answer:
        return Verdict.TOO_LONG
    return _child().ask(gold, answer)


class Child:
    """The process that compares; started on first use, and again after it was killed."""

    def __init__(self, max_no_end: int = MAX_NO_END) -> None:
        """After `max_no_end` comparisons without an end, no more are judged."""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._no_ends_left = max_no_end

    def ask(self, gold: str, answer: str) -> Verdict:
        """Compare within the limits. A child whose limit earlier comparisons used up is restarted once."""
        line = json.dumps({"gold": gold, "answer": answer}).encode() + b"\n"
        with self._lock:
            if not self._no_ends_left:
                return Verdict.NOT_JUDGED
            for _ in range(2):
                process = self._process or self._start()
                reply = _exchange(process, line, DEADLINE_S)
                if reply:
                    return Verdict(reply)
                if self._end() in _TOOK_TOO_LONG:
                    break
            self._no_ends_left -= 1
            return Verdict.NO_END

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        specs = [importlib.util.find_spec(module) for module in _MODULES]
        folders = dict.fromkeys(
            str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin
        )
        child = programs.isolated(math_child.__name__, folders=folders)
        process = started(child, cwd="/", env={}, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._process = process
        if _exchange(process, b"", START_S) != math_child.READY:
            self._end()
            raise UsageError(
                msg(
                    "{package} is installed, but does not start: reinstall it ({install_command})",
                    package=PACKAGE,
                    install_command=extras.install_command(PACKAGE),
                )
            )
        return process

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.kill()
        process.communicate()
        return process.returncode


def _exchange(process: subprocess.Popen[bytes], line: bytes, seconds: float) -> str:
    """Send a line to a process and return its next line; "" if none comes in time."""
    assert process.stdin
    assert process.stdout
    until, reply = time.monotonic() + seconds, b""
    try:
        process.stdin.write(line)
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    while not reply.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(until - time.monotonic(), 0))
        more = os.read(process.stdout.fileno(), 100) if ready else b""
        if not more:
            return ""
        reply += more
    return reply.decode().strip()


@lru_cache(maxsize=1)
def _child() -> Child:
    """The only child of this process."""
    child = Child()
    atexit.register(child.close)
    return child
