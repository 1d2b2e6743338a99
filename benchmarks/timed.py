"""Runs one command and writes what it took as JSON: python -I -S timed.py RESULT TIMEOUT COMMAND...

A program of its own and a small one: the peak memory of a process counts what its parent held when it was started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> None:
    result, timeout, *command = sys.argv[1:]
    began = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, setpgroup=0)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(int(timeout))
    _, status, usage = os.wait4(child, 0)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(
            {
                "status": os.waitstatus_to_exitcode(status),
                "seconds": time.perf_counter() - began,
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss * 1024 / 10**6,
            },
            file,
        )


if __name__ == "__main__":
    main()
