"""`make bench`: every benchmark in turn, as benchmarks/RESULTS.md; status 1 where a bound was missed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from healthcheck import __version__

HERE = Path(__file__).resolve().parent
NAMES = (
    "startup", "own_cost", "static_verification", "endpoint_stage", "sampling", "peers", "real_engine",
    "samples_to_verdict", "losses", "equal_servers", "kept_errors", "power", "report_page", "grading",
    "fleet_scale",
)  # fmt: skip
LONGEST_S = 400
HEAD = """\
# Measurements

Written by `make bench`; to repeat it, run `make peers` once (it installs the other tools and the real engine, 8 GB)
and then `make bench` on an otherwise idle machine. One benchmark alone: `.venv/bin/python benchmarks/NAME.py`.
Figures are medians with their range (lowest-highest) from this one run; where two programs are compared they ran in
turn, and the ratio is taken pair by pair. Figures in seconds are this machine's, ratios carry further.
"""


def main() -> int:
    load, began = os.getloadavg()[0], time.monotonic()
    parts = [section(name) for name in NAMES]
    bounds = [line for part in parts for line in part.splitlines() if line.startswith("- [")]
    missed = [line for line in bounds if line.startswith("- [ ]")]
    machine = (
        f"{time.strftime('%Y-%m-%d %H:%M')}, npu-adapter-kit {__version__}, Python {platform.python_version()}, "
        f"{processor()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, {platform.system()} {platform.release()}; "
        f"load {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end; "
        f"{(time.monotonic() - began) / 60:.0f} minutes in all."
    )
    promises = "\n".join(
        ["## Promises", "", f"{len(bounds) - len(missed)} of {len(bounds)} kept.", "", *bounds]
    )
    (HERE / "RESULTS.md").write_text(
        "\n\n".join([HEAD.rstrip(), machine, promises, *parts]) + "\n", "utf-8"
    )
    print("\n".join(bounds))
    return int(bool(missed))


def section(name: str) -> str:
    """What one benchmark printed; one that failed is a bound that was missed."""
    print(f"{name} ...", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py"],
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        text, status, error = done.stdout, done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        text, status, error = "", -9, f"no end after {LONGEST_S} s"
    if text.startswith("## ") and status in {0, 1}:
        return text.rstrip()
    last = error.strip().splitlines()[-1:] or [f"status {status}"]
    return f"## {name}\n\n- [ ] the benchmark {name} runs to its end: {last[0]}"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        "processor",
    )


def memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


if __name__ == "__main__":
    sys.exit(main())
