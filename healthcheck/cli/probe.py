"""`npu-adapter probe`: the accuracy of a running server."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from healthcheck.cli import output, sampling
from healthcheck.cli.places import new_report
from healthcheck.core.extensions import Extra, given_additions
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Progress
from healthcheck.core.records import Report
from healthcheck.core.stages import Stage
from healthcheck.errors import ExitStatus, UsageError
from healthcheck.stages.probe import facts
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.options.reading import keep
from healthcheck.stages.probe.options.record import ProbeOptions
from healthcheck.stages.probe.records import CLIENT, ProbeRun, ProbeSettings
from healthcheck.stages.probe.results.export import client_column
from healthcheck.stages.probe.run.folder import Stored, stored
from healthcheck.stages.probe.run.layout import SETTINGS
from healthcheck.stages.probe.settings import settings_of
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.verify import provenance


def run(options: argparse.Namespace) -> int:
    """Probe, print and write the report; returns the exit status of the verdict."""
    for addition in given_additions("probe", options):
        instead = addition.asked(options)
        if callable(instead):
            return ExitStatus(instead())
    if options.resume and options.out:
        raise UsageError(msg("--resume names the folder already: leave --out away"))
    asked = sampling.asked(options)
    folder: Path = options.resume or options.out or new_report("probe")
    output.refuse_unwritable(options.json, options.junit, out=folder)
    output.end_with_a_report()
    with closing(output.progress(options)) as progress:
        report, probed = _report(options, asked, progress, folder)
    kept = folder if probed or options.out or folder.exists() else None
    published = output.publish(options, report, kept, probed)
    printed, translation = report.metrics.get(CLIENT), translation_of_the_process()
    if options.quiet or options.json == output.STDOUT:
        return published.status
    if isinstance(printed, dict):
        said = ", ".join(f"{name} {value:.2f}" for name, value in printed.items())
        print(
            translation.say(msg("{heading}:", heading=CLIENT))
            + f"\n  {said or translation.say(_unprinted(probed))}"
        )
        if len(printed) > 1:
            mixed = msg(
                "  (its pass@n and cons@n mix samples of different problems; those above are true)"
            )
            print(translation.say(mixed))
    if (folder / SETTINGS).exists():
        print(translation.labelled(msg("Run folder"), str(folder)))
    elif published.page:
        print(translation.labelled(msg("Report"), str(published.page)))
    return published.status


def _unprinted(probed: ProbeRun | None) -> str:
    """Why the client's figures are not known."""
    if probed and client_column(probed):
        return msg("- ({value})", value=msg("its grader for such problems is not emulated"))
    early = bool(probed and probed.stopped)
    return msg(
        "- ({value})",
        value=msg("its own run has no early end") if early else msg("no request was answered"),
    )


def _report(
    options: argparse.Namespace, asked: ProbeOptions, progress: Progress, folder: Path
) -> tuple[Report, ProbeRun | None]:

    before = stored(folder) if options.resume else None
    settings = settings_of(asked, before.settings if before else ProbeSettings(url=""))
    settings = replace(settings, url=sampling.server_root(options.url))
    report, probed = _measured(settings, before, progress, folder, output.extension_checks(options))
    if probed and not options.resume:
        keep(folder, asked)
    return report, probed


def _measured(
    settings: ProbeSettings, before: Stored | None, progress: Progress, folder: Path, extra: Extra
) -> tuple[Report, ProbeRun | None]:
    """Sample the rest of the run `before`, or all of a new run."""
    checks = (*CHECKS, *extra.of(Stage.PROBE))
    progress.stage(Stage.PROBE, msg("sampling {url}", url=settings.url))
    collect = facts.resume if before else facts.measure
    ledger = Ledger(progress)
    ledger.judge(extra.unusable, lambda: None)
    # It stops before the first request only: later, the samples so far are judged.
    probed = ledger.judge_or_stop(checks, lambda: collect(settings, progress, folder))
    about = provenance.kit() | extra.provenance | (facts.provenance(probed) if probed else {})
    figures = facts.stored_metrics(probed) if probed else {}
    return ledger.report(msg("probe of {url}", url=settings.url), figures, about), probed
