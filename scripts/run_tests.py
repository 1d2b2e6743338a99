# ruff: noqa: INP001 - scripts are no package
"""Runs pytest; with SECOND_TRY=1, as in CI, one test that fails may be tried again.

    SECOND_TRY=1 .venv/bin/python scripts/run_tests.py --numprocesses 2
    .venv/bin/python scripts/run_tests.py --tried-again     what needed a second try since `--fresh`

A test that passes only then has a defect, or shows one: the last line names it. A second such test is a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CACHE = Path(".pytest_cache")
FAILED, TRIED_AGAIN = CACHE / "v/cache/lastfailed", CACHE / "tried-again"
MOST = 1
TESTS_FAILED = 1
"""pytest's exit status."""


def pytest(*options: str) -> int:
    """Run pytest and return its status; its processes share compiled modules."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options], check=False, env=environment
    ).returncode


def tried_again() -> list[str]:
    return TRIED_AGAIN.read_text("utf-8").splitlines() if TRIED_AGAIN.exists() else []


def run(options: list[str]) -> int:
    """Run the tests, and failed ones again if they are few; returns the status of the last run."""
    FAILED.unlink(missing_ok=True)
    status = pytest(*options)
    if status != TESTS_FAILED or not os.environ.get("SECOND_TRY"):
        return status
    failed = sorted(json.loads(FAILED.read_text("utf-8")))
    if len(failed) + len(tried_again()) > MOST:
        print(
            f"{len(failed)} failed, and {len(tried_again())} needed a second try before: at most {MOST} gets one"
        )
        return status
    TRIED_AGAIN.write_text("\n".join([*tried_again(), *failed]) + "\n", "utf-8")
    return pytest(*options, "--last-failed")


def main() -> int:
    """Run the tests or handle an option; returns pytest's status."""
    if sys.argv[1:] == ["--fresh"]:
        TRIED_AGAIN.unlink(missing_ok=True)
        return 0
    if sys.argv[1:] == ["--tried-again"]:
        for name in tried_again():
            print(f"needed a second try, find out why: {name}")
        return 0
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
