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
from healthcheck.ascend import hardware
from healthcheck.cli import output, sampling
from healthcheck.cli.options.verify import MEASUREMENTS
from healthcheck.cli.places import new_report
from healthcheck.contract import Service, judging_for
from healthcheck.core.extensions import Extra, part
from healthcheck.core.progress import Progress
from healthcheck.core.records import UNWEIGHED, strict
from healthcheck.core.stages import Stage, stage_named
from healthcheck.errors import UsageError
from healthcheck.sandbox.job import CONSENT_VARIABLE
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.settings import settings_of
from healthcheck.stages.repo.settings import Settings, read_settings
from healthcheck.system import files
from healthcheck.text.did_you_mean import hint
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import joined, msg
from healthcheck.text.redact import without_secrets
from healthcheck.verify import service
from healthcheck.verify.run import STAND_IN, Request
from healthcheck.verify.verification import Verification

FIX_ROUNDS = 8
"""A repair may uncover a finding, and edits that overlap are made one round after the other."""


def run(options: argparse.Namespace) -> int:
    """Verify, by the repository's own profile of a service if it names one; the exit status of the verdict."""
    with judging_for(_service(options)):
        return _judged(options)


def _service(options: argparse.Namespace) -> Service:
    """The profile that was asked for; else the repository's, unless its settings are left out."""
    if "service" in options or options.url or options.no_settings:
        return contract.service()
    root = (options.repo or Path()).expanduser()
    return service.of_repository(root, read_settings(root))


def _judged(options: argparse.Namespace) -> int:
    _refuse_places(options)
    request = requested(options)
    if request.url or options.weights:
        return _verify(options, request)
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as scratch:
        folder = Path(scratch) / STAND_IN
        folder.mkdir()
        if request.ahead:
            _gather_ahead(options, folder)
        return _verify(options, replace(request, weights=folder))


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
        report = strict(verification.run()) if options.strict else verification.run()
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


def _refuse_places(options: argparse.Namespace) -> None:
    """Check the given paths first, so that a wrong path is reported before a missing option."""
    if options.repo and options.url:
        raise UsageError(
            msg(
                "--url looks at a running server and at no repository: leave {repo} away, or --url",
                repo=options.repo,
            )
        )
    if options.staged and (
        options.url or options.fix or _last_stage(options).reaches(Stage.SERVICE)
    ):
        raise UsageError(
            msg(
                "--staged is about a repository before a launch: --until repo, plan or weights, no --fix"
            )
        )
    if options.repo and not options.repo.expanduser().is_dir():
        raise UsageError(msg("there is no folder {repo}: name the repository", repo=options.repo))


def _repaired(request: Request, progress: Progress) -> Request:
    """Make the repairs, each shown as a diff first; the run then verifies the repaired working copy."""
    from healthcheck.verify import fix  # noqa: PLC0415 - most runs repair nothing
    from healthcheck.verify.repairing import Repairing  # noqa: PLC0415

    if request.url or request.weights is None:
        raise UsageError(
            msg("--fix repairs a repository, and --url checks a running server: use one of them")
        )
    say = translation_of_the_process().say
    seen: set[tuple[fix.Change, ...]] = set()
    for _ in range(FIX_ROUNDS):
        verification = Repairing(replace(request, until=Stage.PLAN), progress)
        proposal = verification.proposal(request.weights)
        if not proposal.repairs or proposal.changes in seen:
            made = verification.already_made(request.weights)
            left = verification.left_alone(made)
            for check in made:
                said = msg(
                    "already repaired in the working copy for {check}: commit it (git commit -a)",
                    check=check,
                )
                print(say(said))
            print("".join(f"{say(text)}\n" for text in left), end="")
            if not (made or left or request.pending):
                print(say(msg("nothing to repair")), file=sys.stderr)
            return replace(request, pending=True) if made else request
        seen.add(proposal.changes)
        print(without_secrets(fix.diff(proposal.changes)), end="")
        for repair in proposal.repairs:
            print(
                without_secrets(
                    say(
                        msg("repaired for {check}: {title}", check=repair.check, title=repair.words)
                    )
                )
            )
        fix.apply(request.root.resolve(), proposal.changes)
        request = replace(request, pending=True)
    return request


def requested(options: argparse.Namespace) -> Request:
    """The request that the options describe.

    Raises:
        UsageError: they contradict each other, or one is missing.
    """
    settings = _settings(options)
    asked = sampling.asked(options)
    stands_in = _stand_in(options)
    extra = output.extension_checks(options, None if options.url else options.repo or Path())
    until = _last_stage(options)
    sampling.refuse_what_the_service_lacks(asked)
    _refuse_without_weights(options)
    if options.url and not until.reaches(Stage.ENDPOINT):
        raise UsageError(msg("--url looks at a running server only: --until is endpoint or probe"))
    judged = not options.url and until.reaches(Stage.WEIGHTS)
    if options.task and not judged and options.task not in contract.TASKS:
        raise UsageError(
            msg(
                "--task {task} is not one of {tasks}{hint} (--until weights judges another task code)",
                task=repr(options.task),
                tasks=", ".join(contract.TASKS),
                hint=hint(options.task, contract.TASKS),
            )
        )
    if options.npu:
        _one_family(options.npu)
    measured = [name for name in MEASUREMENTS if getattr(options, name)]
    if measured and not until.reaches(Stage.ENDPOINT):
        raise UsageError(
            msg("--{name} asks a running server: --until is endpoint or probe", name=measured[0])
        )
    if options.client and not until.reaches(Stage.PROBE):
        raise UsageError(msg("--client asks the probe's problems: --until is probe"))
    limit = (
        contract.MAX_WEIGHT_BYTES
        if options.weight_limit is None
        else int(options.weight_limit * 10**9)
    )
    return Request(
        root=options.repo or Path(),
        weights=options.weights.expanduser().absolute() if options.weights else None,
        out=options.out or new_report("verify").absolute(),
        url=sampling.server_root(options.url) if options.url else "",
        model=asked.model or "",
        task=options.task,
        ahead=stands_in,
        stack=options.stack,
        until=until,
        stands_in=_lacks_weights(options),
        ends_early=UNWEIGHED if _lacks_weights(options) and not options.until else "",
        staged=options.staged,
        waived=_waived(options.skip, settings, extra),
        extra=extra,
        settings=settings.file,
        own_settings=not options.no_settings,
        environment=dict(map(_variable, options.env)),
        deadline_s=options.deadline,
        weight_limit_bytes=limit,
        npu=options.npu,
        npus=options.npus,
        measurements=tuple(part(name, f"--{name}") for name in measured),
        client=part("client", "--client").in_a_run(options) if options.client else None,
        unconfined=options.unconfined
        or os.environ.get(CONSENT_VARIABLE, "").lower() in {"1", "true", "yes"},
        probe=settings_of(asked, ProbeSettings(url="", family="", full=asked.reference is None)),
    )


def _one_family(npu: str) -> None:
    """Refuse an unknown name, or one of several kinds of NPUs that differ in more than their memory."""
    found = hardware.find(npu)
    if not found:
        known = ", ".join(kind.label for kind in hardware.known())
        raise UsageError(
            msg(
                "no NPU of the kind {npu} is known; those that are: {known} (and products by Huawei's names, "
                "such as “Atlas 800I A2”)",
                npu=repr(npu),
                known=known,
            )
        )
    if len({kind.family for kind in found}) > 1:
        either = joined(" or ", [kind.label for kind in found])
        raise UsageError(
            msg(
                "--npu {npu} may be {either}: name one; `npu-smi info` shows its name and memory",
                npu=repr(npu),
                either=either,
            )
        )


def _stand_in(options: argparse.Namespace) -> str:
    """The file or model that replaces weights that are not here; "" if they are."""
    if not (options.weights_config or options.model_id):
        return ""
    if (options.weights_config and options.model_id) or options.weights or options.url:
        raise UsageError(
            msg("--weights, --weights-config, --model-id and --url exclude each other: give one")
        )
    if options.until and stage_named(options.until).reaches(Stage.SERVICE):
        what = f"--until {options.until}"
        raise UsageError(msg("{what} needs the weights themselves: give --weights DIR", what=what))
    return str(options.weights_config or options.model_id)


def _last_stage(options: argparse.Namespace) -> Stage:
    """The stage of --until; by default the last one, or the last that can run without the weights."""
    if options.until:
        return stage_named(options.until)
    if _stand_in(options):
        return Stage.WEIGHTS
    return Stage.PLAN if _lacks_weights(options) and not options.staged else Stage.PROBE


def _lacks_weights(options: argparse.Namespace) -> bool:
    """Whether a repository is to be verified, and nothing is known of its weights."""
    return not (options.weights or options.url or _stand_in(options))


def _refuse_without_weights(options: argparse.Namespace) -> None:
    """Refuse stages and measurements that need the weights if there are none.

    Raises:
        UsageError: some were asked for.
    """
    if not _lacks_weights(options):
        return
    late = _last_stage(options).reaches(Stage.WEIGHTS)
    asked = [f"--until {options.until}"] if late else []
    asked += [f"--{name}" for name in (*MEASUREMENTS, "client") if getattr(options, name)]
    if asked:
        raise UsageError(
            msg(
                "{option} needs the weights: pass --weights DIR, the folder that becomes MODEL_PATH",
                option=asked[0],
            )
        )


def _settings(options: argparse.Namespace) -> Settings:
    """The repository's own, and what is known of the service, in place of options that were not given."""
    own = (
        Settings()
        if options.url or options.no_settings
        else read_settings((options.repo or Path()).expanduser())
    )
    settings = service.completed(own)
    options.task = options.task or settings.task
    options.stack = options.stack or settings.stack
    options.npu = options.npu or settings.npu
    options.npus = options.npus or settings.npus
    options.strict = options.strict or settings.strict
    return settings


def _waived(ids: list[str], settings: Settings, extra: Extra) -> dict[str, str]:
    """The waived ids with their reasons. Each has to exist: a misspelt id must not be ignored."""
    asked = {check: f"{settings.file}: {reason}" for check, reason in settings.skip.items()}
    asked |= dict.fromkeys(ids, "--skip")
    if not asked:
        return {}
    from healthcheck.verify import catalogue  # noqa: PLC0415 - it imports every check of every stage

    return {catalogue.page(check, extra).id: reason for check, reason in asked.items()}


def _variable(text: str) -> tuple[str, str]:
    """The name and the value of `--env`.

    Raises:
        UsageError: the text is not NAME=VALUE.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(msg("--env {text} has no '=': write --env NAME=VALUE", text=repr(text)))
    return name, value
