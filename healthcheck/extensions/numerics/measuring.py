"""Implements `npu-adapter numerics` and `verify --numerics`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from healthcheck.cli import output, sampling
from healthcheck.cli.places import new_report
from healthcheck.core.ledger import Ledger
from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.errors import UsageError
from healthcheck.extensions.numerics import facts, local, reference, reproduction
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.figures import metrics
from healthcheck.extensions.numerics.records import NumericsSettings, Reference, Weights
from healthcheck.extensions.numerics.stage import NUMERICS
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
    against = _against(options)
    with closing(output.progress(options)) as progress:
        progress.stage(NUMERICS, msg("comparing log-probabilities of {url}", url=settings.url))
        ledger = Ledger(progress)
        measured = ledger.judge_or_stop(CHECKS, lambda: facts.measure(settings, progress, against))
    about = provenance.kit() | (facts.provenance(measured) if measured else {})
    figures = metrics(measured) if measured else {}
    report = ledger.report(msg("numerics of {url}", url=settings.url), figures, about)
    published = output.publish(options, report, folder if measured or options.out else None)
    if measured and published.folder:
        reference.keep(folder, measured)
        reproduction.keep(folder, report.results)
        if not (options.quiet or options.json == output.STDOUT):
            translation = translation_of_the_process()
            usual = translation.labelled(msg("Run folder"), str(folder))
            offer = msg(
                "Run folder: {folder} (a reference for: npu-adapter numerics URL --reference {folder})",
                folder=folder,
            )
            print(translation.say(offer) if report.verdict is Verdict.READY else usual)
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
            msg(
                "--reference-python and --trust-remote-code are for --reference with a folder of weights"
            )
        )
    return reference.load(folder) if folder else None


def _judge(run: Run, url: str) -> None:
    settings = NumericsSettings(
        url=url, model=run.request.model, max_batch=facts.largest_batch(run.server_options)
    )
    measured = run.ledger.judge(CHECKS, lambda: facts.measure(settings, run.progress))
    if measured:
        run.metrics |= metrics(measured)
        run.provenance |= facts.provenance(measured)
        reproduction.keep(run.request.out, run.ledger.results)


IN_A_RUN = Measurement(
    option="--numerics", stage=NUMERICS, needs=Stage.ENDPOINT, checks=CHECKS, judge=_judge
)
