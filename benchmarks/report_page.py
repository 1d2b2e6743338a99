"""The report folder: size of report.html and the time to render it, against the number of samples."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from measure import Bound, Section, main, spread

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Report, verdict_of
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.report import page
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.facts import measure, provenance, stored_metrics
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.run.bank import bank

PROBLEMS = (12, 120, 600)
SAMPLES, ROUNDS = 5, 5
AT_600_MB = 3.0


def probed(problems: int, folder: Path) -> ProbeRun:
    settings = ProbeSettings(url="", problems=problems, samples=SAMPLES, full=True, max_tokens=512)
    known = bank(settings)
    behaviour = Behaviour(
        answers={problem.question: problem.answer for problem in known},
        labels={problem.question: problem.tier for problem in known},
    )
    with Simulator(behaviour) as simulator:
        return measure(
            ProbeSettings(url=simulator.url, problems=problems, samples=SAMPLES, full=True, max_tokens=512),
            Silent(), folder,
        )  # fmt: skip


def report_of(run: ProbeRun) -> Report:
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: run)
    return Report(
        verdict=verdict_of(ledger.results), results=ledger.results, asked="a benchmark",
        metrics=stored_metrics(run), provenance=provenance(run),
    )  # fmt: skip


def report_page() -> Section:
    rows, megabytes = [], {}
    for problems in PROBLEMS:
        with tempfile.TemporaryDirectory() as folder:
            run = probed(problems, Path(folder) / "run")
            report = report_of(run)
            cpu = []
            for _ in range(ROUNDS):
                began = time.process_time()
                text = page.render(report, run)
                cpu.append(time.process_time() - began)
            samples = len(run.samples)
            megabytes[samples] = len(text) / 10**6
            per_sample = 1000 * statistics.median(cpu) / samples
            rows.append(
                [f"{samples}", f"{megabytes[samples]:.2f}", spread(cpu), f"{per_sample:.2f}"]
            )
    return Section(
        title="The report page",
        about=f"report.html of a simulated run, {SAMPLES} samples a problem; CPU seconds of {ROUNDS} renderings.",
        header=("samples", "MB", "render, CPU s", "ms a sample"),
        rows=rows,
        bounds=[
            Bound(
                promise=f"600 samples stay under {AT_600_MB:g} MB",
                seen=f"{megabytes[600]:.2f} MB",
                kept=megabytes[600] < AT_600_MB,
            )
        ],
    )


if __name__ == "__main__":
    main(report_page)
