"""Compares mathematical expressions with math-verify, in a separate process, for `judge`.

Reads lines of {"gold", "answer"} and writes one line for each: equal, different, or unreadable (the gold). If a
comparison takes too much CPU time, the kernel's timer ends the process: Python's own signal handlers do not run
while sympy is busy in C. The caller then starts another process.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from typing import Any

READY = "ready"
EQUAL, DIFFERENT, UNREADABLE = "equal", "different", "unreadable"
MEMORY_BYTES = 2**31
ONE_CPU_S = 3.0
ALL_CPU_S = 600
CLOSE = 1e-6


def main() -> None:
    """Serve until the end of the standard input."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_CPU_S, ALL_CPU_S))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable()
    compared("1", "1")  # imports the modules for the first comparison
    print(READY, file=replies, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_VIRTUAL, ONE_CPU_S)
        verdict = compared(asked["gold"], asked["answer"])
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(verdict, file=replies, flush=True)


def compared(gold: str, answer: str) -> str:
    """One of EQUAL, DIFFERENT, UNREADABLE."""
    from math_verify import verify  # type: ignore[import-untyped] # noqa: PLC0415 - after the limits are set

    expected = parsed(gold)
    if not expected:
        return UNREADABLE
    found = parsed(answer)
    try:
        same = any(
            verify(one, other, allow_set_relation_comp=True, timeout_seconds=None)
            and close(one, other)
            for one in expected
            for other in found
        )
    except (ArithmeticError, AttributeError, RecursionError, RuntimeError, TypeError, ValueError):
        same = False
    return EQUAL if same else DIFFERENT


def parsed(text: str) -> list[Any]:
    """The expressions that math-verify reads from LaTeX, without its fallback to the text itself."""
    from math_verify import LatexExtractionConfig, parse  # noqa: PLC0415

    found = parse(
        f"${text}$", [LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None
    )
    return list(found)


def close(one: Any, other: Any) -> bool:
    """Whether two numbers agree relative to their size: math-verify rounds to six places, 1e-7 to 0."""
    if not (getattr(one, "is_number", False) and getattr(other, "is_number", False)):
        return True
    first, second = complex(one), complex(other)
    return first == second or abs(first - second) <= CLOSE * max(abs(first), abs(second))
