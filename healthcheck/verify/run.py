"""A verification in progress: the request, and the results so far."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import Check
from healthcheck.core.extensions import Extra
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Progress
from healthcheck.core.records import (
    NOT_BUILT,
    NOT_INSTALLED,
    JsonValue,
    Report,
    verdict_of,
)
from healthcheck.core.stages import Stage
from healthcheck.report import words
from healthcheck.sandbox.job import ROOT
from healthcheck.stages.plan.vllm_cli.catalogue import around
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.system import programs
from healthcheck.text.messages import joined, mapped, msg
from healthcheck.text.redact import HIDDEN, Redact, redacted, redactor
from healthcheck.verify import provenance

Facts = TypeVar("Facts")
DEPLOY_LOG = "logs/deploy.log"
"""The output of deploy.sh, in the report folder."""
STAND_IN = "weights"
"""The name of the folder that takes the place of weights that are not here."""
_STAND_IN_PATH = re.compile(rf"(?:/[\w.@+-]+){{1,12}}/weights/{STAND_IN}(?![\w.-])")
"""MODEL_PATH of a dry run with such a folder: below /srv, or below a temporary folder without namespaces."""
_SUBMISSION_PATH = re.compile(
    rf"(?<![\w./-])(?:/[\w.@+-]+){{0,12}}?{ROOT}(?:/(?=[\w.@+*{{-])|(?![\w.-]))"
)
"""The repository of a dry run: in /srv, or in a temporary folder without namespaces."""
TASKS = {task.value: task for task in contract.Task}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A measurement of a running server by an extension.

    Attributes:
        option: with which it is asked for.
        stage: its place among the stages decides whether it comes before the probe or after it.
        needs: the stage that the run has to reach.
        checks: all of its checks.
        judge: measures the server at a URL, and adds the results to the run.
    """

    option: str
    stage: Stage
    needs: Stage
    judge: Callable[[Run, str], None]
    checks: tuple[Check[Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to verify, and how far.

    Attributes:
        weights: the folder that becomes MODEL_PATH; None with `url`.
        stands_in: `weights` is an empty folder in place of weights that were not given; only the stages repo
            and plan can run.
        ends_early: why the run ends with `until` although everything was to be verified; the verdict is
            then inconclusive. "" if it does not.
        ahead: a file or a model's name for weights that are not here; `weights` then has their configuration only.
            "" if the weights are here.
        url: a running server: only the endpoint and the probe are verified.
        model: the model name to send to that server, "" for the first that it lists.
        stack: the vllm-ascend release that the service is assumed to have, "" for the repository's own.
        pending: judge the working copy, as `git commit -a` would commit it.
        staged: judge the staged files, as `git commit` would commit them.
        waived: ids of checks that must not run, each with who asked for that and why; a report names them.
        strict: a check that warns counts as failed.
        extra: the checks of extensions, which run after the kit's own of their stage.
        settings: the repository's file whose settings were used, "" if it has none.
        own_settings: whether the repository's settings count, and so whether they can be read.
        out: the report folder.
        environment: variables of the launch in addition to those of every launch.
        deadline_s: how long a launch may take to answer; None for the service's deadline, or the kit's if that is
            unknown.
        measurements: of the server, each in its stage.
        unconfined: if this system has no sandbox, deploy.sh runs with all permissions of this user.
    """

    root: Path
    weights: Path | None
    out: Path
    url: str = ""
    model: str = ""
    task: str = ""
    stack: str = ""
    pending: bool = False
    staged: bool = False
    strict: bool = False
    until: Stage = Stage.PROBE
    ahead: str = ""
    stands_in: bool = False
    ends_early: str = ""
    waived: Mapping[str, str] = field(default_factory=dict)
    extra: Extra = field(default_factory=Extra)
    settings: str = ""
    own_settings: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    deadline_s: float | None = None
    weight_limit_bytes: int = field(default_factory=lambda: contract.MAX_WEIGHT_BYTES)
    npu: str = ""
    npus: int = 0
    measurements: tuple[Measurement, ...] = ()
    unconfined: bool = False
    probe: ProbeSettings = field(default_factory=lambda: ProbeSettings(url=""))


class Run:
    """The record that the stages write to; it can become a report at any time, even after an interruption."""

    def __init__(self, request: Request, progress: Progress) -> None:
        self.request = request
        self.progress = progress
        self.redact = _readable(request)
        self.ledger = Ledger(
            progress,
            waived=request.waived,
            redact=self.redact,
            doubt=stacks.choose(request.stack).doubt,
        )
        self.metrics: dict[str, JsonValue] = {}
        self.provenance: dict[str, JsonValue] = provenance.kit() | request.extra.provenance
        if request.settings:
            self.provenance["settings"] = request.settings
        if request.url:
            self.provenance["url"] = request.url
        self.parameters = 0
        self.stopped = ""
        self.uncommitted = ""
        self.measured: ProbeRun | None = None
        self.server_options: Mapping[str, str] = {}
        """Options of the vLLM server that deploy.sh starts, as its dry run recorded them."""
        self._clock = provenance.StageClock()
        self.ledger.judge(request.extra.unusable, lambda: None)

    def checks(self, stage: Stage, own: tuple[Check[Facts], ...]) -> tuple[Check[Facts], ...]:
        """The checks of a stage: the kit's own, and those of extensions."""
        return (*own, *self.request.extra.of(stage))

    def begin(self, stage: Stage) -> None:
        """Start the clock of a stage and announce it."""
        self._clock.begin(stage)
        self.progress.stage(stage, stage.title)

    def resume(self, stage: Stage) -> None:
        """Continue the clock of a stage after another."""
        self._clock.begin(stage)

    def wants(self, stage: Stage) -> bool:
        return self.request.until.reaches(stage)

    def note_unchecked_options(self, stack: str) -> None:
        """Record that no vLLM checks the options, and which release's catalogue did."""
        release = stacks.row(stack or stacks.DEFAULT).vllm[0]
        here = find_spec("vllm") is not None or programs.find("vllm") is not None
        self.provenance["engine_config"] = NOT_BUILT if here else NOT_INSTALLED
        self.provenance["options_catalogue"] = around(release)[0]

    def _scope(self) -> str:
        """How far the run goes, with what that leaves open; for the headline."""
        asked, open_ = self.request, []
        if asked.staged:
            open_.append(msg("with the staged changes"))
        if asked.ahead:
            open_.append(msg("the weights by their configuration alone"))
        if asked.url:
            open_.append(msg("only the running server was checked"))
        catalogue = self.provenance.get("options_catalogue")
        if catalogue and self.wants(Stage.WEIGHTS):
            open_.append(
                msg("options checked against the catalogue of vLLM {release}", release=catalogue)
            )
            missing = self.provenance["engine_config"] == NOT_INSTALLED
            open_.append(
                msg("vLLM is not installed here")
                if missing
                else msg("vLLM itself has not checked them")
            )
        said = msg("up to {stage}", stage=asked.until.name)
        return (
            msg("{scope} ({details})", scope=said, details=joined("; ", open_)) if open_ else said
        )

    def folder(self) -> str:
        """The repository, as the author named it; "" if it is the current directory, or there is none.

        HIDDEN if the path has a secret.
        """
        asked = self.request
        here = bool(asked.url) or asked.root.expanduser().resolve() == Path.cwd()
        return "" if here else self._without_secret(str(asked.root.expanduser()))

    def weights_folder(self) -> str:
        """The weights, as the author named them; "" without weights, HIDDEN if the path has a secret."""
        asked = self.request
        has_none = asked.weights is None or asked.stands_in or asked.ahead
        return "" if has_none else self._without_secret(str(asked.weights))

    def _without_secret(self, path: str) -> str:
        """The path, or HIDDEN: a path with a mask in it does not exist."""
        return path if self.redact(path) == path else HIDDEN

    def report(self) -> Report:
        """The report on the results so far. Their secrets were removed when they were recorded."""
        results = self.ledger.results
        frame = Report(
            verdict=verdict_of(results, stopped=self.stopped, uncommitted=self.uncommitted),
            results=(),
            asked=self._asked(),
            metrics=self.metrics,
            provenance=self.provenance | {"stages": self._clock.seconds()},
            stopped=self.stopped,
            uncommitted=self.uncommitted,
            scope=self._scope(),
            folder=self.folder(),
            program=provenance.program(),
        )
        frame = redacted(frame, self.redact)
        return replace(
            frame, results=words.with_commands_in(results, frame.folder, self.weights_folder())
        )

    def _asked(self) -> str:
        """The requested stages, in words."""
        first, last = Stage.ENDPOINT if self.request.url else Stage.REPO, self.request.until
        asked = msg("{first} to {last}", first=first.name, last=last.name)
        if first == last:
            asked = msg("{stage} only", stage=last.name)
        if self.request.staged:
            asked += msg(", as staged")
        if self.request.ahead:
            asked += msg(", the weights by their configuration alone")
        return asked


def _readable(request: Request) -> Redact:
    """Removes secrets from what a run quotes, and names places as the author does.

    Paths of the sandbox's copy are relative to the repository, and $MODEL_PATH is a folder that stands in.
    """
    hide = redactor({**os.environ, **request.environment})
    if request.url:
        return hide
    has_stand_in = bool(request.stands_in or request.ahead)

    def readable(part: str) -> str:
        if ROOT in part:
            part = _SUBMISSION_PATH.sub(_in_repository, part)
        return _STAND_IN_PATH.sub("$MODEL_PATH", part) if has_stand_in else part

    return lambda text: mapped(hide(text), readable)


def _in_repository(path: re.Match[str]) -> str:
    """The beginning of a path in the repository: none, or "." for the repository itself."""
    return "" if path[0].endswith("/") else "."
