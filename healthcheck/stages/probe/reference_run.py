"""A run as the reference of another run: whether it is suitable, and which values are taken from it."""

from __future__ import annotations

from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.errors import UsageError
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.checks.accuracy import accuracy
from healthcheck.stages.probe.records import ProbeRun, ReferenceRun
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.bank import fingerprint
from healthcheck.stages.probe.statistics.counting import counts_of
from healthcheck.text.messages import message, msg


def reference_of(run: ProbeRun) -> ReferenceRun:
    """The reference values of a run.

    Raises:
        UsageError: the run ended early, or its own verdict is not that of a sound deployment.
    """
    if run.stopped:
        raise UsageError(
            msg(
                "{folder} is not a reference: it ended early ({stopped}); continue it with {again} --full",
                folder=run.folder,
                stopped=message(run.stopped),
                again=run.again,
            )
        )
    unsound = _unsound(run)
    if unsound:
        against = (
            found.seen for found in unsound.findings if found.level in {Level.FAIL, Level.UNSETTLED}
        )
        said = next(against, unsound.because)
        raise UsageError(
            msg(
                "{folder} is not a reference: its own {id} did not pass: {said}",
                folder=run.folder,
                id=unsound.id,
                said=said,
            )
        )
    chosen = figures.grid(run)
    return ReferenceRun(
        folder=str(run.folder),
        problems_sha256=fingerprint(run.problems),
        samples=run.settings.samples,
        temperature=run.settings.temperature,
        max_tokens=run.settings.max_tokens,
        counts=tuple(counts_of(figures.matrix(run, chosen))),
        strict_counts=tuple(counts_of(figures.strict_matrix(run, chosen))),
        request=run.settings.request,
    )


def _unsound(run: ProbeRun) -> CheckResult | None:
    """The first check that disqualifies a run. A low or unsettled accuracy does not."""
    some_right = any(grade.correct for grade in run.grades)
    for check in CHECKS:
        result = check.judge(run)
        low = some_right and check is accuracy
        if result.outcome in {Outcome.FAIL, Outcome.ERROR} or not (result.settled or low):
            return result
    return None
