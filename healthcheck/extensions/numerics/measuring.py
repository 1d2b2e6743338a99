"""Implements `npu-adapter numerics` and `verify --numerics`."""

from __future__ import annotations

import argparse
from pathlib import Path

from healthcheck.cli import output, sampling
from healthcheck.cli.places import new_report
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Progress
from healthcheck.core.records import Report, Stage, Verdict, verdict_of
from healthcheck.errors import UsageError
from healthcheck.extensions.numerics import facts, local, reference, reproduction
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.figures import metrics
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Reference, Weights
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.verify import provenance
from healthcheck.verify.run import Measurement, Run


def run(options: argparse.Namespace) -> int:
    """Measure, print and write the report; returns the exit status of the verdict."""
    settings = NumericsSettings(
        url=sampling.server_root(options.url),
        model=options.model,
        pairs=options.pairs,
        longest_tokens=options.longest,
        max_batch=options.max_batch,
        seed=options.seed,
    )
    folder: Path = options.out or new_report("numerics")
    output.refuse_unwritable(options.json, options.junit, out=folder)
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        report, measured = _report(options, settings, progress)
    finally:
        progress.close()
    published = output.publish(options, report, folder if measured or options.out else None)
    if measured and published.folder:
        reference.keep(folder, measured)
        reproduction.keep(folder, report.results)
        if not (options.quiet or options.json == output.STDOUT):
            translation = translation_of_the_process()
            if report.verdict is Verdict.READY:
                offer = msg(
                    "Run folder: {folder} (a reference for: npu-adapter numerics URL --reference {folder})", folder
                )
                print(translation.say(offer))
            else:
                print(translation.labelled(msg("Run folder"), str(folder)))
    return published.status


def _against(options: argparse.Namespace) -> Reference | Weights | None:
    """The run or the weights to compare with.

    Raises:
        UsageError: the folder holds neither a run nor weights, or an option is for the other kind.
    """
    folder: Path | None = options.reference
    if folder and local.are_weights(folder):
        python = local.find_python(options.reference_python)
        return Weights(folder=str(folder), python=python, remote_code=options.trust_remote_code)
    if options.reference_python or options.trust_remote_code:
        raise UsageError(
            msg("--reference-python and --trust-remote-code are for --reference with a folder of weights")
        )
    return reference.load(folder) if folder else None


def _report(
    options: argparse.Namespace, settings: NumericsSettings, progress: Progress
) -> tuple[Report, NumericsRun | None]:

    against = _against(options)
    progress.stage(Stage.NUMERICS, msg("comparing log-probabilities of {url}", settings.url))
    ledger, measured, stopped = Ledger(progress), None, ""
    try:
        measured = ledger.judge(CHECKS, lambda: facts.measure(settings, progress, against))
    except KeyboardInterrupt:
        stopped = msg("interrupted")
        ledger.skip(CHECKS, stopped)
    report = Report(
        verdict=verdict_of(ledger.results, stopped=stopped),
        results=ledger.results,
        stopped=stopped,
        asked=msg("numerics of {url}", settings.url),
        metrics=metrics(measured) if measured else {},
        provenance={**provenance.kit(), **(facts.provenance(measured) if measured else {})},
    )
    return report, measured


def _judge(run: Run, url: str) -> None:
    settings = NumericsSettings(url=url, model=run.request.model, max_batch=facts.largest_batch(run.server_options))
    measured = run.ledger.judge(CHECKS, lambda: facts.measure(settings, run.progress))
    if measured:
        run.metrics |= metrics(measured)
        run.provenance |= facts.provenance(measured)
        reproduction.keep(run.request.out, run.ledger.results)


IN_A_RUN = Measurement(checks=CHECKS, judge=_judge)
