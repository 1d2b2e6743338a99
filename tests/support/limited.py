"""A Python of its own with limits of the kernel: what takes too much memory or time ends, and does not hang the tests."""

from __future__ import annotations

import resource
import subprocess
import sys

READER_BYTES = 300 * 2**20
"""What each reader of the kit may take, the interpreter and the imports included."""


def limited(*words: str, memory_bytes: int = READER_BYTES, cpu_s: int = 60) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; beyond the memory it has a MemoryError, beyond the time of the CPU it is killed."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))

    return subprocess.run(
        [sys.executable, *words], preexec_fn=limit, capture_output=True, text=True, errors="replace", check=False
    )
