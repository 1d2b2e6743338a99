"""Runs Python with limits of the kernel: code that takes too much memory or time ends instead of hanging."""

from __future__ import annotations

import resource
import subprocess
import sys

READER_BYTES = 300 * 2**20
"""The memory that each reader of the kit may use, interpreter and imports included."""


def limited(
    *words: str, memory_bytes: int = READER_BYTES, cpu_s: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; too much memory raises MemoryError, too much CPU time kills it."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))

    return subprocess.run(
        [sys.executable, *words],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
