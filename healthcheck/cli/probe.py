"""`npu-adapter probe`: the accuracy of a server that runs already."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from healthcheck.engine import Ledger
from healthcheck.errors import UsageError
from healthcheck.files import write_atomically
from healthcheck.probe import facts
from healthcheck.probe.checks import CHECKS
from healthcheck.probe.figures import accuracies
from healthcheck.probe.folder import load, stored
from healthcheck.probe.metrics import CLIENT
from healthcheck.probe.records import ProbeSettings
from healthcheck.progress import Progress
from healthcheck.records import Report, Stage, exit_status, verdict_of
from healthcheck.report import machine, terminal

_OVERRIDES = (
    "model", "family", "dataset", "problems", "samples", "concurrency", "temperature", "max_tokens", "seed",
    "threshold",
)  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options. None means that it was not given: a resumed run has its own values."""
    parser.add_argument("url", metavar="URL", help="the server's root, such as http://127.0.0.1:8000")
    parser.add_argument("--model", metavar="NAME", help="model name (default: the first that /v1/models lists)")
    what = parser.add_argument_group("problems")
    what.add_argument("--dataset", metavar="FILE", help="problems from a file: GSM8K JSON lines, or qa or mcq as "
                      "JSON lines or CSV")  # fmt: skip
    what.add_argument("--family", help="built-in problems (default: arithmetic)")
    what.add_argument("--problems", type=int, metavar="N", help="how many different ones (default: 120)")
    what.add_argument("--seed", type=int, help="of the problems and their order (default: 0)")
    how = parser.add_argument_group("sampling")
    how.add_argument("--samples", type=int, metavar="N", help="answers for each problem (default: 5)")
    how.add_argument("--concurrency", type=int, metavar="N", help="requests in flight (default: 64)")
    how.add_argument("--temperature", type=float, metavar="T", help="default: 0.7; the service's is unknown, its "
                     "client's stock value is 0.01")  # fmt: skip
    how.add_argument("--max-tokens", type=int, metavar="N", help="default: 4096, or what the context length leaves")
    verdict = parser.add_argument_group("verdict")
    verdict.add_argument("--reference", metavar="R", help="accuracy of healthy weights on these problems: a number "
                         "from 0 to 1, or the folder of a reference run")  # fmt: skip
    verdict.add_argument("--threshold", type=float, metavar="T", help="least accuracy, from 0 to 1")
    verdict.add_argument("--full", action="store_true", help="take every sample even when the verdict is clear")
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
    given = {name: value for name in _OVERRIDES if (value := getattr(options, name)) is not None}
    if options.reference is not None:
        given["references"] = references(options.reference)
    settings = replace(base, url=url, full=options.full or base.full, **given)
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


def references(text: str) -> dict[str, float]:
    """The reference accuracies: a number for the whole bank, or those of a run folder by tier.

    Raises:
        UsageError: neither a number between 0 and 1 nor a run folder.
    """
    try:
        value = float(text)
    except ValueError:
        return accuracies(load(Path(text)))
    if not 0 < value < 1:
        raise UsageError(f"a reference accuracy lies between 0 and 1, not at {text}")
    return {"all": value}
