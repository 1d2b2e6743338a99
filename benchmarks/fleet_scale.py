"""A fleet of 100 nodes: the real driver with simulated nodes, whose jobs sleep in simulated time."""

from __future__ import annotations

import heapq
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import KIT, Bound, Section, main

from healthcheck.core.records import Verdict
from healthcheck.extensions.fleet import jobs, journal, outputs
from healthcheck.extensions.fleet.drive import Drive
from healthcheck.extensions.fleet.launch import LOG, REPORT, Order
from healthcheck.extensions.fleet.machines import Running
from healthcheck.extensions.fleet.receive import Sent, received, sent
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Job
from healthcheck.extensions.fleet.show import Show
from healthcheck.extensions.fleet.subcommands import grammar
from healthcheck.system import files
from healthcheck.text.language import ENGLISH

NODES, COUNTS = 100, (100, 1000)
AT = 1000
JOB_S = 600.0
"""What a job takes with a small model; the nodes then end one every JOB_S / NODES seconds."""
MOST_S = JOB_S / NODES / 10
MOST_MB = 500
SCRIPT = '#!/bin/sh\nset -eu\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the driver took for a number of jobs.

    Attributes:
        cpu_s: of the whole run, git's included.
        save_s: to write fleet.html, fleet.json and junit.xml once, at the end.
    """

    jobs: int
    cpu_s: float
    save_s: float
    journal_mb: float
    page_mb: float
    folder_mb: float


class Simulated:
    """NODES machines that take one job at a time, each for JOB_S seconds of simulated time.

    What they send is the report of a real `verify`. Every fiftieth is lost, at a first attempt.
    """

    def __init__(self, report: Sent) -> None:
        self._report = report
        self._free = {f"node-{number:03}" for number in range(NODES)}
        self._ends: list[tuple[float, int, str, Order, Path]] = []
        self._now, self._started = 0.0, 0

    def refusal(self, job: Job) -> str:
        del job
        return ""

    def has_room(self, job: Job, avoid: Collection[str]) -> bool:
        del job, avoid
        return bool(self._free)

    def start(self, job: Job, order: Order, place: Path, avoid: Collection[str]) -> None:
        del job
        node = min(self._free - set(avoid) or self._free)
        self._free.remove(node)
        self._started += 1
        end = self._now + JOB_S + self._started % 60
        heapq.heappush(self._ends, (end, self._started, node, order, place))

    def events(self) -> Iterator[Running | Attempt]:
        self._now, number, node, order, place = heapq.heappop(self._ends)
        self._free.add(node)
        asked = Attempt(
            job=order.job, digest=order.digest, number=order.number, ending=Ending.LOST,
            commit=order.commit, node=node, seconds=JOB_S,
        )  # fmt: skip
        lost = number % 50 == 0 and order.number == 1
        yield asked if lost else received(self._report, asked, place)

    def close(self) -> None:
        pass


def repository(folder: Path) -> Path:
    """An adapter with one commit."""
    folder.mkdir()
    (folder / "deploy.sh").write_text(SCRIPT, "utf-8")
    (folder / "deploy.sh").chmod(0o755)
    (folder / "README.md").write_text("# An adapter\n", "utf-8")
    git = ("git", "-C", folder, "-c", "user.name=Author", "-c", "user.email=author@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "First version")):
        subprocess.run([*git, *words], check=True)
    return folder


def real_report(folder: Path) -> Sent:
    """The files of a real attempt, whose repository passes."""
    done = subprocess.run(
        [*KIT, "verify", "adapter", "--until", "repo", "--out", f"attempt/{REPORT}"],
        cwd=folder, capture_output=True, check=True,
    )  # fmt: skip
    (folder / "attempt" / LOG).write_bytes(done.stderr + done.stdout)
    attempt = Attempt(job="any", digest="", number=1, ending=Ending.DONE, status=0, seconds=JOB_S)
    return sent(attempt, folder / "attempt")


def driven(count: int, folder: Path, report: Sent) -> Seen:
    out, path = folder / f"out-{count}", folder / "jobs.csv"
    rows = "".join(f"job-{number:04},adapter,repo\n" for number in range(count))
    path.write_text(f"name,repository,until\n{rows}", "utf-8")
    asked = jobs.read(path, grammar())
    began = cpu_s()
    with journal.opened(out, asked, resume=False) as kept:
        fleet = Drive(
            jobs=asked,
            out=out,
            limit_s=1.0,
            retries=2,
            journal=kept,
            machines=Simulated(report),
            listener=Show(count, ENGLISH, quiet=True),
            saved=lambda now: outputs.write(out, now),
        ).run()
    took_s = cpu_s() - began
    wrong = [
        last for job in asked if (last := fleet.last(job)) and last.verdict is not Verdict.READY
    ]
    assert not wrong, wrong[0]
    return Seen(
        jobs=count,
        cpu_s=took_s,
        save_s=saving(out, fleet),
        journal_mb=(out / journal.NAME).stat().st_size / 10**6,
        page_mb=(out / outputs.PAGE).stat().st_size / 10**6,
        folder_mb=sum(each.stat().st_size for each in out.rglob("*") if each.is_file()) / 10**6,
    )


def cpu_s() -> float:
    """Of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def saving(out: Path, fleet: Fleet) -> float:
    began = time.process_time()
    outputs.write(out, fleet)
    return time.process_time() - began


def fleet_scale() -> Section:
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as name:
        folder = Path(name)
        repository(folder / "adapter")
        report = real_report(folder)
        seen = [driven(count, folder, report) for count in COUNTS]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**6
    at = next(each for each in seen if each.jobs == AT)
    return Section(
        title="A fleet of 100 nodes, simulated",
        about=f"The driver of `fleet verify` with {NODES} simulated nodes. A job sleeps {JOB_S:g} s of simulated "
        "time and sends a real report; every fiftieth is lost and tried again. CPU seconds, those of git "
        "included; files in MB.",
        header=("jobs", "whole run", "a job", "saving once", "fleet.jsonl", "fleet.html", "all files"),
        rows=[
            [
                f"{each.jobs}", f"{each.cpu_s:.1f}", f"{each.cpu_s / each.jobs:.3f}", f"{each.save_s:.2f}",
                f"{each.journal_mb:.2f}", f"{each.page_mb:.2f}", f"{each.folder_mb:.0f}",
            ]
            for each in seen
        ],
        bounds=[
            Bound(
                promise=f"{AT} jobs of {JOB_S:g} s keep the driver busy for at most a tenth of the time",
                seen=f"{at.cpu_s / AT:.3f} s a job, one ends every {JOB_S / NODES:g} s",
                kept=at.cpu_s / AT < MOST_S,
            ),
            Bound(promise=f"in less than {MOST_MB} MB", seen=f"{peak_mb:.0f} MB", kept=peak_mb < MOST_MB),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(fleet_scale)
