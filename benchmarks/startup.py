"""Start-up: what the help of every command costs in CPU time and memory, beside an empty Python."""

from __future__ import annotations

import statistics
import sys

from measure import KIT, Bound, Section, main, ratios, spread, timed

from healthcheck.cli import COMMANDS

ROUNDS = 5
LIMIT_S = 0.25
VERIFY, VERIFY_LIMIT_S = "npu-adapter verify", 0.2
LIMIT = 14
EMPTY = "an empty Python"


def startup() -> Section:
    commands: dict[str, tuple[str, ...]] = {
        EMPTY: (sys.executable, "-c", "pass"),
        "npu-adapter": (*KIT, "--help"),
    }
    commands |= {f"npu-adapter {name}": (*KIT, name, "--help") for name in COMMANDS}
    for command in commands.values():
        timed(command)  # the first run of a fresh clone compiles
    runs = {name: [timed(command) for _ in range(ROUNDS)] for name, command in commands.items()}
    cpu = {name: [run.cpu_s for run in taken] for name, taken in runs.items()}
    rows = [
        [f"{name} --help" if name != EMPTY else name, spread(cpu[name]),
         spread(ratios(cpu[name], cpu[EMPTY]), ".1f"), f"{max(run.peak_mb for run in taken):.0f}"]
        for name, taken in runs.items()
    ]  # fmt: skip
    relative = {
        name: statistics.median(ratios(cpu[name], cpu[EMPTY])) for name in runs if name != EMPTY
    }
    slowest = max(relative, key=lambda name: relative[name])
    failed = [name for name, taken in runs.items() if any(run.status for run in taken)]
    return Section(
        title="Start-up",
        about=f"CPU seconds of {ROUNDS} runs: median (range).",
        header=("command", "CPU s", "times an empty Python", "peak MB"),
        rows=rows,
        bounds=[
            Bound(
                promise=f"no `--help` takes more than {LIMIT_S} s of CPU",
                seen=f"{spread(cpu[slowest])} s ({slowest})",
                kept=statistics.median(cpu[slowest]) <= LIMIT_S,
            ),
            Bound(
                promise=f"`{VERIFY} --help` takes at most {VERIFY_LIMIT_S} s of CPU",
                seen=f"{spread(cpu[VERIFY])} s",
                kept=statistics.median(cpu[VERIFY]) <= VERIFY_LIMIT_S,
            ),
            Bound(
                promise=f"no `--help` takes more than {LIMIT} times what an empty Python does",
                seen=f"{relative[slowest]:.1f} ({slowest})",
                kept=relative[slowest] <= LIMIT,
            ),
            Bound(
                promise="every command has its help",
                seen=", ".join(failed) or "all",
                kept=not failed,
            ),
        ],
    )


if __name__ == "__main__":
    main(startup)
