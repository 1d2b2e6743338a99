"""Start-up: CPU time of `npu-adapter --help`, beside that of an empty Python, in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

ROUNDS = 15
LIMIT_S = 0.3


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of one run, in seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    empty, kit = [], []
    for _ in range(ROUNDS):
        empty.append(cpu_seconds([sys.executable, "-c", "pass"]))
        kit.append(cpu_seconds([sys.executable, "-m", "healthcheck", "--help"]))
    ratio = statistics.median(kit) / statistics.median(empty)
    print(f"npu-adapter --help: {statistics.median(kit):.3f} s CPU (range {min(kit):.3f} to {max(kit):.3f}), "
          f"{ratio:.1f} times an empty Python; limit {LIMIT_S} s")  # fmt: skip
    return 0 if statistics.median(kit) <= LIMIT_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
