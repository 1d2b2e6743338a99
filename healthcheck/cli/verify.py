"""`npu-adapter verify`: finds before submission what would go wrong at the service."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from healthcheck import contract
from healthcheck.cli import output
from healthcheck.cli.request import requested
from healthcheck.contract import Service, judging_for
from healthcheck.core.progress import Progress
from healthcheck.core.records import strict
from healthcheck.core.stages import Stage
from healthcheck.errors import UsageError
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.repo.settings import Settings, read_settings
from healthcheck.system import files
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.text.redact import redactor, with_hidden_values, with_hidden_values_of_lines
from healthcheck.verify import service
from healthcheck.verify.run import STAND_IN, Request
from healthcheck.verify.verification import Verification

FIX_ROUNDS = 8
"""A repair may uncover a finding, and edits that overlap are made one round after the other."""


def run(options: argparse.Namespace) -> int:
    """Verify, by the repository's own profile of a service if it names one; the exit status of the verdict."""
    own = _settings(options)
    with judging_for(_service(options, own)):
        request = requested(options, service.completed(own))
        if request.url or request.weights:
            return _verify(options, request)
        with tempfile.TemporaryDirectory(prefix=files.prefix()) as scratch:
            folder = Path(scratch) / STAND_IN
            folder.mkdir()
            if request.ahead:
                _gather_ahead(options, folder)
            return _verify(options, replace(request, weights=folder))


def _settings(options: argparse.Namespace) -> Settings:
    """The repository's settings; empty if they are left out."""
    if options.url or options.no_settings:
        return Settings()
    return read_settings((options.repo or Path()).expanduser())


def _service(options: argparse.Namespace, settings: Settings) -> Service:
    """The profile that was asked for; else the repository's, unless its settings are left out."""
    if "service" in options or options.url or options.no_settings:
        return contract.service()
    return service.of_repository((options.repo or Path()).expanduser(), settings)


def _gather_ahead(options: argparse.Namespace, folder: Path) -> None:
    """Put what is known of weights that are not here into the folder."""
    from healthcheck.stages.weights import ahead  # noqa: PLC0415 - usually the weights are here

    if options.weights_config:
        ahead.gather(options.weights_config.expanduser(), folder)
    else:
        ahead.download(options.model_id, folder)


def _verify(options: argparse.Namespace, request: Request) -> int:
    if request.weights and not request.url and not request.weights.is_dir():
        raise UsageError(
            msg(
                "--weights {weights} is not a directory: pass the folder of the weights",
                weights=options.weights,
            )
        )
    launches = request.until.reaches(Stage.SERVICE)
    out = request.out if options.out or launches else None
    output.refuse_unwritable(options.json, options.junit, out=out)
    clear = _clearing(request) if out else None
    if request.until.reaches(Stage.PROBE):
        _refuse_problems(request.probe)
    if request.url and not request.extra.unusable:
        from healthcheck.verify import with_server  # noqa: PLC0415 - the HTTP clients take longer than the static stages

        with_server.reach(request.url)
    output.end_with_a_report()
    with contextlib.closing(output.progress(options)) as progress:
        if options.fix:
            with contextlib.redirect_stdout(
                sys.stderr if options.json == output.STDOUT else sys.stdout
            ):
                request = _repaired(request, progress)
        if clear:
            clear()
        verification = Verification(request, progress)
        report = strict(verification.run()) if request.strict else verification.run()
    published = output.publish(options, report, out, verification.measured)
    if published.page and options.json != output.STDOUT:
        print(translation_of_the_process().labelled(msg("Report"), str(published.page)))
    return published.status


def _clearing(request: Request) -> Callable[[], None] | None:
    """What removes the report of an earlier run of this request from its folder; None if there is no such report.

    Raises:
        UsageError: the folder holds a report on something else.
    """
    from healthcheck.cli import earlier  # noqa: PLC0415 - it imports what writes reports, which takes longer

    found = earlier.refuse_others(request)
    return partial(earlier.remove, request.out, found) if found else None


def _refuse_problems(settings: ProbeSettings) -> None:
    """Refuse unavailable problems, if some are named."""
    if settings.dataset or settings.family:
        from healthcheck.stages.probe.run.bank import refuse_problems  # noqa: PLC0415 - it imports every grader

        refuse_problems(settings)


def _repaired(request: Request, progress: Progress) -> Request:
    """Make the repairs, each shown as a diff first; the run then verifies the repaired working copy."""
    from healthcheck.verify import fix  # noqa: PLC0415 - most runs repair nothing
    from healthcheck.verify.repairing import Repairing  # noqa: PLC0415

    if request.url or request.weights is None:
        raise UsageError(
            msg("--fix repairs a repository, and --url checks a running server: use one of them")
        )
    say = translation_of_the_process().say
    redact = redactor({**os.environ, **request.environment})
    static = Stage.WEIGHTS if request.until.reaches(Stage.WEIGHTS) else Stage.PLAN
    seen: set[tuple[fix.Change, ...]] = set()
    for _ in range(FIX_ROUNDS):
        verification = Repairing(replace(request, until=static), progress)
        proposal = verification.proposal(request.weights)
        if not proposal.repairs or proposal.changes in seen:
            made = verification.already_made(request.weights)
            left = verification.left_alone(made)
            for check in made:
                print(say(msg("already repaired in the working copy for {check}", check=check)))
            print("".join(f"{say(text)}\n" for text in left), end="")
            if not (made or left or request.pending):
                print(say(msg("nothing to repair")), file=sys.stderr)
            return replace(request, pending=True) if made else request
        seen.add(proposal.changes)
        print(with_hidden_values_of_lines(fix.diff(proposal.changes), redact), end="")
        for repair in proposal.repairs:
            title = with_hidden_values(repair.words, redact)
            print(say(msg("repaired for {check}: {title}", check=repair.check, title=title)))
        fix.apply(request.root.resolve(), proposal.changes)
        request = replace(request, pending=True)
    return request
