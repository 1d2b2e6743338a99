"""The request of `npu-adapter verify`, from its options and the repository's settings."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import hardware
from healthcheck.cli import output, sampling
from healthcheck.cli.places import new_report
from healthcheck.core.extensions import Addition, Extra, given_additions
from healthcheck.core.records import UNWEIGHED
from healthcheck.core.stages import Stage, stage_named
from healthcheck.errors import UsageError
from healthcheck.sandbox.job import CONSENT_VARIABLE
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.settings import settings_of
from healthcheck.stages.repo.settings import Settings
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import joined, msg
from healthcheck.verify.run import Measurement, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights that the options give.

    Attributes:
        folder: of the weights themselves; None if they are not here.
        ahead: the file or the model that describes weights that are not here, "" for none.
        needed: whether a repository is verified, which has weights; a running server has its own.
    """

    folder: Path | None
    ahead: str
    needed: bool

    @property
    def missing(self) -> bool:
        """Whether a repository is to be verified, and nothing is known of its weights."""
        return self.needed and not (self.folder or self.ahead)


def requested(options: argparse.Namespace, settings: Settings) -> Request:
    """The request that the options describe, with the settings in place of options that were not given.

    Raises:
        UsageError: they contradict each other, or one is missing.
    """
    _refuse_two_subjects(options)
    weights = _given_weights(options)
    until = _last_stage(options, weights)
    _refuse_places(options, until)
    asked = sampling.asked(options)
    extra = output.extension_checks(options, None if options.url else options.repo or Path())
    sampling.refuse_what_the_service_lacks(asked)
    added = given_additions("verify", options)
    _refuse_without_weights(options, weights, until, added)
    measurements = _measurements(options, added)
    task, npu = options.task or settings.task, options.npu or settings.npu
    _refuse_late_stages(options, until, measurements)
    if task and (options.url or not until.reaches(Stage.WEIGHTS)):
        _refuse_unknown_task(task)
    if npu:
        _refuse_other_families(npu)
    return Request(
        root=options.repo or Path(),
        weights=weights.folder,
        out=options.out or new_report("verify").absolute(),
        url=sampling.server_root(options.url) if options.url else "",
        model=asked.model or "",
        task=task,
        ahead=weights.ahead,
        stack=options.stack or settings.stack,
        until=until,
        stands_in=weights.missing,
        ends_early=UNWEIGHED if weights.missing and not options.until else "",
        staged=options.staged,
        strict=options.strict or settings.strict,
        waived=_waived(options.skip, settings, extra),
        extra=extra,
        settings=settings.file,
        own_settings=not options.no_settings,
        environment=dict(map(_variable, options.env)),
        deadline_s=options.deadline,
        weight_limit_bytes=_weight_limit_bytes(options),
        npu=npu,
        npus=options.npus or settings.npus,
        measurements=measurements,
        unconfined=_consents(options),
        probe=settings_of(asked, ProbeSettings(url="", family="", full=asked.reference is None)),
    )


def _refuse_two_subjects(options: argparse.Namespace) -> None:
    """Refuse a repository and a running server in one command."""
    if options.repo and options.url:
        raise UsageError(
            msg(
                "--url checks a running server, not a repository: omit {repo} or --url",
                repo=options.repo,
            )
        )


def _refuse_places(options: argparse.Namespace, until: Stage) -> None:
    """Check the given paths first, so that a wrong path is reported before a missing option."""
    if options.staged and (options.url or options.fix or until.reaches(Stage.SERVICE)):
        raise UsageError(
            msg(
                "--staged is about a repository before a launch: --until repo, plan or weights, no --fix"
            )
        )
    if options.repo and not options.repo.expanduser().is_dir():
        raise UsageError(msg("there is no folder {repo}: name the repository", repo=options.repo))


def _given_weights(options: argparse.Namespace) -> Weights:
    """The weights of the options.

    Raises:
        UsageError: they contradict each other, or the last stage needs more than they give.
    """
    ahead = str(options.weights_config or options.model_id or "")
    folder = options.weights.expanduser().absolute() if options.weights else None
    both = options.weights_config and options.model_id
    if ahead and (both or folder or options.url):
        raise UsageError(
            msg("--weights, --weights-config, --model-id and --url exclude each other: give one")
        )
    if ahead and options.until and stage_named(options.until).reaches(Stage.SERVICE):
        what = f"--until {options.until}"
        raise UsageError(msg("{what} needs the weights themselves: give --weights DIR", what=what))
    return Weights(folder=folder, ahead=ahead, needed=not options.url)


def _last_stage(options: argparse.Namespace, weights: Weights) -> Stage:
    """The stage of --until; by default the last one, or the last that can run without the weights."""
    if options.until:
        return stage_named(options.until)
    if weights.ahead:
        return Stage.WEIGHTS
    return Stage.PLAN if weights.missing and not options.staged else Stage.PROBE


def _measurements(
    options: argparse.Namespace, added: tuple[Addition, ...]
) -> tuple[Measurement, ...]:
    """The measurements of the server that options of extensions ask for.

    Raises:
        UsageError: one of them cannot be made here.
    """
    found = (addition.asked(options) for addition in added)
    return tuple(each for each in found if isinstance(each, Measurement))


def _refuse_without_weights(
    options: argparse.Namespace,
    weights: Weights,
    until: Stage,
    added: tuple[Addition, ...],
) -> None:
    """Refuse stages and measurements that need the weights if there are none.

    Raises:
        UsageError: some were asked for.
    """
    if not weights.missing:
        return
    asked = [f"--until {options.until}"] if until.reaches(Stage.WEIGHTS) else []
    asked += [addition.option for addition in added]
    if asked:
        raise UsageError(
            msg(
                "{option} needs the weights: pass --weights DIR, the folder that becomes MODEL_PATH",
                option=asked[0],
            )
        )


def _refuse_late_stages(
    options: argparse.Namespace, until: Stage, measurements: tuple[Measurement, ...]
) -> None:
    """Refuse a server, or a measurement of it, if the last stage does not reach it.

    Raises:
        UsageError: it does not.
    """
    if options.url and not until.reaches(Stage.ENDPOINT):
        raise UsageError(
            msg("--url checks a running server: use --until endpoint or --until probe")
        )
    for measurement in measurements:
        if until.reaches(measurement.needs):
            continue
        if measurement.needs == Stage.PROBE:
            raise UsageError(
                msg(
                    "{option} asks the probe's problems: --until is probe",
                    option=measurement.option,
                )
            )
        raise UsageError(
            msg(
                "{option} asks a running server: --until is endpoint or probe",
                option=measurement.option,
            )
        )


def _refuse_unknown_task(task: str) -> None:
    """Refuse a task code that no check of the run will judge.

    Raises:
        UsageError: the service does not have this task.
    """
    if task not in contract.TASKS:
        raise UsageError(
            msg(
                "--task {task} is not one of {tasks}{hint} (--until weights judges another task code)",
                task=repr(task),
                tasks=", ".join(contract.TASKS),
                hint=hint(task, contract.TASKS),
            )
        )


def _refuse_other_families(npu: str) -> None:
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


def _weight_limit_bytes(options: argparse.Namespace) -> int:
    """The limit of --weight-limit, in gigabytes of 10^9 bytes; else the service's."""
    if options.weight_limit is None:
        return contract.MAX_WEIGHT_BYTES
    return int(options.weight_limit * 10**9)


def _consents(options: argparse.Namespace) -> bool:
    """Whether deploy.sh may run with all permissions of this user."""
    said = os.environ.get(CONSENT_VARIABLE, "").lower()
    return options.unconfined or said in {"1", "true", "yes"}


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
