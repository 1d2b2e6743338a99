"""Dry-run one script in one mode and print the result as JSON: `python dry_run_one.py JOB`."""

from __future__ import annotations

import json
import os
import resource
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, os.environ["LACKING_PACKAGE"])

from healthcheck.errors import Blocked
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode, RecordKind
from healthcheck.stages.plan.dry_run.stubbed_machine import ENTRY

MODES = {mode.value: partial(box.run, mode=mode) for mode in Mode}


def own_peak_kib() -> int:
    """The peak memory of this program in KiB; getrusage includes that before execve, as a fork of the tests."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    asked = json.loads(sys.argv[1])
    setting = box.Setting(
        source=Path(asked["repo"]),
        script="deploy.sh",
        entry=ENTRY,
        shell=("/bin/bash",),
        weights=Path(asked["weights"]),
        weights_name="weights",
        limits=Limits(
            wall_s=asked["wall_s"],
            disk_bytes=64 << 20,
            output_bytes=4 << 20,
            memory_bytes=400 << 20,
            process_address_bytes=500 << 20,
        ),
        answers=asked.get("answers", True),
    )
    try:
        sandbox = (
            MODES[asked["mode"]]
            if asked["mode"] in MODES
            else box.chosen(consent=asked["mode"] == "consent")
        )
        job, found = sandbox(setting)
    except Blocked as error:
        print(json.dumps({"blocked": str(error)}))
        return
    used = max(own_peak_kib(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    servers = [record for record in found.records if record.kind is RecordKind.SERVER]
    result = {
        "mode": job.mode.value,
        "ended_by": found.ended_by.value,
        "exit_status": found.exit_status,
        "stdout": found.stdout,
        "stderr": found.stderr,
        "trouble": found.trouble,
        "servers": [" ".join(record.argv) for record in servers],
        "alive": [" ".join(record.argv) for record in servers if record.alive],
        "texts": [text for record in found.records for text in record.texts.values()],
        "environments": [dict(record.env) for record in found.records],
        "memory_mib": used // 1024,
    }
    print(json.dumps(result))


main()
