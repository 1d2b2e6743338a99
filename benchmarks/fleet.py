"""A fleet on 1, 2 and 3 nodes of a real Ray on this machine: what a job takes beyond its own `verify`.

It needs .venv-fleet (`make .venv-fleet/ready`), root (each node gets a network namespace) and five
minutes, so it is not part of `make bench`. `.venv/bin/python benchmarks/fleet.py` prints the table;
fleet_scale.py is the other half.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fleet_scale import repository
from measure import ROOT, Bound, Section, main, spread, timed

PYTHON = ROOT / ".venv-fleet" / "bin" / "python"
SIMULATED = ROOT / "examples" / "simulated_engine"
NODES, JOBS, ALONE = (1, 2, 3), 24, 5
LOAD_S = 5
"""What the simulated engine sleeps before it listens, as an engine loads weights: it takes no processor time."""
OVERHEAD_S = 1.0
_BEGINS = re.compile(r"^(\S+): begins")
_ENDED = re.compile(r"^\[\d+/\d+\] (\S+): ready")
ENGINE = f"""\
#!/bin/sh
began=$(date +%s.%N)
trap 'kill -TERM $child' TERM INT
sleep {LOAD_S}
{SIMULATED}/bin/vllm "$@" &
child=$!
wait $child
wait $child
echo "$began $(date +%s.%N)" >> "$MARKS"
"""
"""Writes down when it began and ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run of all jobs: seconds from the first start to the last end, of each job, on its node, of its engine."""

    span_s: float
    jobs_s: list[float]
    on_nodes_s: list[float]
    engines_s: list[float]


def command(folder: Path, *words: str | Path) -> list[str | Path]:
    return [
        PYTHON,
        "-m",
        "healthcheck",
        *words,
        "--env",
        f"MARKS={folder}/marks",
        "--env",
        f"PATH={path(folder)}",
    ]


def path(folder: Path) -> str:
    return f"{folder}/engine:{PYTHON.parent}:/usr/local/bin:/usr/bin:/bin"


def prepared(folder: Path) -> None:
    repository(folder / "adapter")
    shutil.copytree(SIMULATED / "weights", folder / "weights")
    (folder / "engine").mkdir()
    (folder / "engine" / "vllm").write_text(ENGINE, "utf-8")
    (folder / "engine" / "vllm").chmod(0o755)
    row = {
        "repository": "adapter", "weights": "weights", "until": "service", "npus": 1,
        "env": [f"MARKS={folder}/marks", f"PATH={path(folder)}"],
    }  # fmt: skip
    rows = (json.dumps({**row, "name": f"job-{number:02}"}) for number in range(JOBS))
    (folder / "jobs.jsonl").write_text("".join(f"{line}\n" for line in rows), "utf-8")


def alone(folder: Path) -> list[float]:
    """`verify` by hand, in a network of its own as on the fleet: seconds of each run."""
    words = (
        "verify",
        "adapter",
        "--weights",
        "weights",
        "--until",
        "service",
        "--out",
        "report",
        "--verbose",
    )
    own = ("unshare", "--net", "sh", "-c", 'ip link set lo up 2>/dev/null; exec "$@"', "sh")
    runs = [
        timed([*own, *command(folder, *words)], env={"PYTHONPATH": str(ROOT)}, cwd=folder)
        for _ in range(ALONE)
    ]
    wrong = next((run for run in runs if run.status), None)
    assert wrong is None, wrong
    return [run.seconds for run in runs]


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """The address of a cluster of raylets with one NPU each."""
    asked = json.dumps(
        [{"NPU": 1, "kind": "910B4", "name": f"node-{number}"} for number in range(nodes)]
    )
    folder = tempfile.mkdtemp(prefix="nak-ray-", dir="/tmp")  # sockets have short names
    environment = {**os.environ, "RAY_TMPDIR": folder, "PYTHONPATH": str(ROOT)}
    try:
        with subprocess.Popen(
            [PYTHON, ROOT / "tests/extensions/fleet/ray_cluster.py", asked], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            assert process.stdout
            said = next((line for line in process.stdout if line.startswith('{"address"')), "{}")
            yield json.loads(said)["address"]
            process.communicate("")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_a_fleet(folder: Path, nodes: int) -> Seen:
    began, ended = {}, {}
    marks = folder / "marks"
    marks.write_text("", "utf-8")
    with cluster(nodes) as address:
        words = (
            "fleet",
            "verify",
            "jobs.jsonl",
            "--out",
            f"out-{nodes}",
            "--own-network",
            "--on",
            address,
        )
        with subprocess.Popen(
            [PYTHON, "-u", "-m", "healthcheck", *words], cwd=folder, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stderr
            for line in process.stderr:
                if found := _BEGINS.match(line):
                    began[found[1]] = time.monotonic()
                elif found := _ENDED.match(line):
                    ended[found[1]] = time.monotonic()
    assert len(ended) == JOBS, f"{len(ended)} jobs are ready"
    told = json.loads((folder / f"out-{nodes}" / "fleet.json").read_text("utf-8"))
    engines = [map(float, line.split()) for line in marks.read_text("utf-8").splitlines()]
    return Seen(
        span_s=max(ended.values()) - min(began.values()),
        jobs_s=[ended[name] - began[name] for name in began],
        on_nodes_s=[job["attempts"][-1]["seconds"] for job in told["jobs"]],
        engines_s=[end - begin for begin, end in engines],
    )


def fleet() -> Section:
    with tempfile.TemporaryDirectory(prefix="npu-adapter-") as name:
        folder = Path(name)
        prepared(folder)
        own = alone(folder)
        seen = {nodes: on_a_fleet(folder, nodes) for nodes in NODES}
    rows, bounds = [["`verify` by hand", "", spread(own), "", "", "", ""]], []
    for nodes, run in seen.items():
        beyond = nodes * run.span_s / JOBS - statistics.median(run.on_nodes_s)
        share = sum(run.engines_s) / (nodes * run.span_s)
        where = f"{nodes} node{'s' * (nodes > 1)}"
        rows.append(
            [
                where, f"{run.span_s:.0f}", spread(run.jobs_s), spread(run.on_nodes_s), f"{beyond:.2f}",
                f"{share:.0%}", f"{seen[1].span_s / run.span_s:.2f}",
            ]
        )  # fmt: skip
        bounds.append(
            Bound(
                promise=f"less than {OVERHEAD_S:g} s a job beyond its time on the node, on {where}",
                seen=f"{beyond:.2f} s",
                kept=beyond < OVERHEAD_S,
            )
        )
    return Section(
        title="A fleet on a real Ray",
        about=f"{JOBS} jobs, `--until service`, with a simulated engine that loads for {LOAD_S} s; the raylets "
        f"share this machine's {os.cpu_count()} cores. Seconds. Beyond: nodes × whole / jobs − a job's time on its "
        "node, the pauses between jobs included. Engine: the share of the nodes' time in which an engine was up.",
        header=(
            "where",
            "whole",
            "a job",
            "of that on its node",
            "beyond",
            "engine",
            "times faster",
        ),
        rows=rows,
        bounds=bounds,
    )


if __name__ == "__main__":
    main(fleet)
