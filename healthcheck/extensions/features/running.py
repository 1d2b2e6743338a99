"""Implements `npu-adapter features`."""

from __future__ import annotations

import argparse

from healthcheck.cli import output, sampling
from healthcheck.core.ledger import Ledger
from healthcheck.core.records import Report, Stage, verdict_of
from healthcheck.extensions.features import facts
from healthcheck.extensions.features.checks import CHECKS
from healthcheck.extensions.features.judgement import figure, rates
from healthcheck.text.messages import msg
from healthcheck.verify import provenance


def run(options: argparse.Namespace) -> int:
    """Ask, judge, print and write the report; returns the exit status of the verdict."""
    url, trials = sampling.server_root(options.url), facts.read_trials(options.requests or facts.TRIALS, options.n)
    output.refuse_unwritable(options.json, options.junit, out=options.out)
    progress = output.progress(options)
    progress.stage(Stage.FEATURES, msg("asking {url} for tools, formats and parameters", url))
    ledger = Ledger(progress)
    try:
        found = ledger.judge(CHECKS, lambda: facts.gather(url, options.model, trials, progress))
    finally:
        progress.close()
    _, fits, agrees = rates(found.trials if found else ())
    report = Report(
        verdict=verdict_of(ledger.results),
        results=ledger.results,
        asked=msg("features of {url}", url),
        metrics={"schema accuracy": figure(fits), "trigger agreement": figure(agrees)},
        provenance={**provenance.kit(), "model": found.model if found else ""},
    )
    return output.publish(options, report, options.out).status
