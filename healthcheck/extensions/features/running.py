"""Implements `npu-adapter features` and `verify --features`."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

from healthcheck.cli import output, sampling
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, JsonValue, Level, Outcome
from healthcheck.core.stages import Stage
from healthcheck.extensions.features import facts, reference
from healthcheck.extensions.features.checks import CHECKS
from healthcheck.extensions.features.judgement import figure, rates
from healthcheck.extensions.features.records import FeaturesRun
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg
from healthcheck.verify import provenance
from healthcheck.verify.run import Measurement, Run

_WARNS = {Outcome.FAIL: Outcome.WARN, Outcome.ERROR: Outcome.WARN}


def run(options: argparse.Namespace) -> int:
    """Ask, judge, print and write the report; returns the exit status of the verdict."""
    url, trials = (
        sampling.server_root(options.url),
        facts.read_trials(options.requests or facts.TRIALS, options.n),
    )
    if options.reference:
        trials = reference.joined_to(options.reference, trials)
    output.refuse_unwritable(options.json, options.junit, out=options.out)
    output.end_with_a_report()
    with closing(output.progress(options)) as progress:
        progress.stage(FEATURES, msg("asking {url} for tools, formats and parameters", url=url))
        ledger = Ledger(progress)
        found = ledger.judge_or_stop(
            CHECKS, lambda: facts.gather(url, options.model, trials, progress)
        )
    about = provenance.kit() | ({"model": found.model, "server": found.header} if found else {})
    report = ledger.report(
        msg("features of {url}", url=url), _metrics(found) if found else {}, about
    )
    return output.publish(options, report, options.out).status


def _metrics(found: FeaturesRun) -> dict[str, JsonValue]:
    _, fits, agrees = rates(found.trials)
    there = ", ".join(f"{path} {status}" for path, status in found.endpoints.items())
    figures = {"schema accuracy": figure(fits), "trigger agreement": figure(agrees)}
    return figures | {
        "other endpoints": {"value": there},
        reference.KEPT: reference.kept(found.trials),
    }


def _judge(run: Run, url: str) -> None:
    """Judge apart from the other stages, so that nothing here fails the submission or keeps it from the probe."""
    ledger = Ledger(Silent(), waived=run.request.waived)
    trials = facts.read_trials(facts.TRIALS, None)
    found = ledger.judge(CHECKS, lambda: facts.gather(url, run.request.model, trials, run.progress))
    run.ledger.add(map(_as_a_warning, ledger.results))
    if found:
        run.metrics |= _metrics(found)


def _as_a_warning(result: CheckResult) -> CheckResult:
    """What fails or stays open is a warning where it is part of a verdict."""
    findings = tuple(
        replace(each, level=Level.WARN) if each.level is not Level.NOTE else each
        for each in result.findings
    )
    outcome = _WARNS.get(result.outcome, result.outcome) if result.settled else Outcome.WARN
    return replace(result, outcome=outcome, findings=findings, settled=True)


IN_A_RUN = Measurement(
    option="--features", stage=FEATURES, needs=Stage.ENDPOINT, checks=CHECKS, judge=_judge
)
