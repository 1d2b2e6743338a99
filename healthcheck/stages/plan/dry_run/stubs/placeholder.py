"""Stub for a program that this machine does not have: its output and its effect are unknown."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import note


def main() -> None:
    name, arguments = os.path.basename(sys.argv[2]), sys.argv[3:]
    note.record("exec", name, *arguments)
    note.record("python", calls.GUESSED, calls.PROGRAM, name)
    print(f"<unresolved: the output of {name}>")


if __name__ == "__main__":
    main()
