"""`npu-adapter probe`: the accuracy of a server that runs already."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from healthcheck.cli import sampling
from healthcheck.engine import Ledger
from healthcheck.errors import UsageError
from healthcheck.files import write_atomically
from healthcheck.probe import facts
from healthcheck.probe.checks import CHECKS
from healthcheck.probe.folder import stored
from healthcheck.probe.metrics import CLIENT
from healthcheck.probe.records import ProbeSettings
from healthcheck.progress import Progress
from healthcheck.records import Report, Stage, exit_status, verdict_of
from healthcheck.report import machine, terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("url", metavar="URL", help="the server's root, such as http://127.0.0.1:8000")
    sampling.arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: probe-YYYYmmdd-HHMMSS)")
    output.add_argument("--resume", type=Path, metavar="DIR", help="continue the run in this folder")
    output.add_argument("--json", type=Path, metavar="FILE", help="write the report here too")


def run(options: argparse.Namespace) -> int:
    """Probe, print, write the report; the exit status of the verdict."""
    if options.resume and options.out:
        raise UsageError("--resume names the folder already: leave --out away")
    folder: Path = options.resume or options.out or Path(time.strftime("probe-%Y%m%d-%H%M%S"))
    progress = terminal.TerminalProgress()
    try:
        report = _report(options, progress, folder)
    finally:
        progress.close()
    for path in (folder / "report.json", options.json):
        if path:
            _write(path, machine.render(report))
    terminal.show(report)
    printed = report.metrics.get(CLIENT)
    if isinstance(printed, dict):
        print(f"{CLIENT}: {', '.join(f'{name} {value:.2f}' for name, value in printed.items())}")
        print("  (pass@n and cons@n over samples of different problems; the figures above are the true ones)")
    print(f"Run folder: {folder}")
    return exit_status(report)


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _report(options: argparse.Namespace, progress: Progress, folder: Path) -> Report:

    url = options.url.rstrip("/").removesuffix("/v1")
    base = stored(folder).settings if options.resume else ProbeSettings(url=url)
    settings = sampling.settings(options, replace(base, url=url))
    progress.stage(Stage.PROBE, f"sampling {settings.url}")
    collect = facts.resume if options.resume else facts.measure
    ledger = Ledger(progress)
    probed = ledger.judge(CHECKS, lambda: collect(settings, progress, folder))
    return Report(
        verdict=verdict_of(ledger.results),
        results=ledger.results,
        asked=f"probe of {settings.url}",
        metrics=facts.metrics(probed) if probed else {},
        provenance=facts.provenance(probed) if probed else {},
    )
