"""The records of a run: findings, results, the report. Plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from healthcheck.contract import Rule
from healthcheck.core.stages import SUBMISSION, Stage, Subject
from healthcheck.errors import ExitStatus
from healthcheck.text.messages import msg

JsonValue = Union[None, bool, int, float, str, "list[JsonValue]", "dict[str, JsonValue]"]
SCHEMA = 1
SIMULATOR = "npu-adapter-simulator"
"""The `server` header of a simulated endpoint; a report on one begins with that fact."""
RECORDING = "recording"
"""The provenance of a report on a recorded machine; such a report begins with that fact."""
NOT_BUILT = msg("not built")
"""The provenance "engine_config" if no launch had vLLM check its arguments."""
NOT_INSTALLED = msg("not built: vLLM is not installed here")
UNWEIGHED = msg("the weights were not checked: pass --weights DIR")
"""Why a run ended early that was to check everything, and was given no weights."""
UNUSABLE_EXTENSION = "extension/"
"""The beginning of the id of a check that stands for an extension that could not be loaded."""
UNJUDGED = "unjudged"
"""The evidence of a note about an accuracy (a share) that nothing was compared with."""
UNCOMMITTED_CHANGES = "uncommitted_changes"
"""The evidence of a finding that the working copy differs from the judged commit; its repair comes first."""
SOFT_SCORES = "samples with a soft score"
"""The figure that counts samples with a score between 0 and 1: without any, avg@n is the accuracy."""


class Level(enum.Enum):
    """The meaning of a finding for its check, mildest first."""

    NOTE = "note"
    WARN = "warn"
    UNSETTLED = "unsettled"
    FAIL = "fail"


class Outcome(enum.Enum):
    """How a check ended. ERROR is the kit's own failure and never counts as the submission's."""

    PASS = "pass"
    WARN = "warn"
    SKIP = "skip"
    FAIL = "fail"
    ERROR = "error"


class Verdict(enum.Enum):
    """The result of a run for the submission."""

    READY = "ready"
    NOT_READY = "not-ready"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An exact change of a file of the submission.

    In a report, a secret in its texts is replaced, so that the edit does not fit the file.

    Attributes:
        file: relative to the root of the repository, with slashes.
        line: the line, from 1, in which `old` begins. Without `old`, `new` becomes a line of its own below this
            line (0: above the first line).
        old: the text to replace. It occurs once in the lines over which it extends. "" inserts a line.
        new: the text in its place; "" removes `old`.
        executable: the file gets its executable bit, and no text changes.
    """

    file: str
    line: int
    old: str = ""
    new: str = ""
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observed fact and what to do about it, in words for a person at 2 a.m.

    Attributes:
        level: NOTE informs, WARN rests on an inference, FAIL breaks a documented rule or is an observed
            malfunction, UNSETTLED says that the evidence does not settle the question.
        expected: what was expected.
        seen: what was seen, quoted.
        fix: the one-line repair in words, empty only for notes.
        command: the repair as shell commands, joined by && and ready to paste; "" if there is none. A check
            writes it for the folder of the repository (a check of the stage weights: of the weights), and a report
            for the folder in which the kit was called.
        where: file and line ("deploy.sh:7"), or the recorded command.
        rule: the service's rule that is broken; None takes the check's own.
        evidence: machine-readable details for the report.
        edits: the repair as exact edits that belong together; empty if it cannot be given exactly.
    """

    level: Level
    expected: str
    seen: str
    fix: str = ""
    command: str = ""
    where: str = ""
    rule: Rule | None = None
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one check ended, and why.

    Attributes:
        settled: False if the check should have given an answer and could not.
        because: for a skip, the failed prerequisite or the reason; for an error, what broke in the kit.
        blocked_by: the id of the check whose failure or missing answer kept this one from running; "" for none.
        waived: it was skipped on request.
        seconds: the check's own run time.
    """

    id: str
    stage: Stage
    title: str
    outcome: Outcome
    why: str
    rule: Rule | None = None
    findings: tuple[Finding, ...] = ()
    because: str = ""
    blocked_by: str = ""
    waived: bool = False
    settled: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a run found; every renderer is a function of this record.

    Attributes:
        asked: the requested stages, in words ("repo to probe"), so that a partial pass does not look complete.
        metrics: figures by name, as JSON values with their intervals.
        provenance: versions, weights fingerprint, commit, parameters, seeds, machine.
        scope: how far a run went that did not go to its end ("up to plan"), for the headline.
        folder: the repository, as a shell finds it; "" for the current directory, "…" if its path has a secret.
        program: the kit, as a shell starts it.
        stopped: why the run ended early ("interrupted"), "" if it did not.
        uncommitted: why the judged files differ from the committed ones, "" if they do not.
    """

    verdict: Verdict
    results: tuple[CheckResult, ...]
    asked: str
    metrics: Mapping[str, JsonValue] = field(default_factory=dict)
    provenance: Mapping[str, JsonValue] = field(default_factory=dict)
    stopped: str = ""
    uncommitted: str = ""
    scope: str = ""
    folder: str = ""
    program: tuple[str, ...] = ("npu-adapter",)

    def by_stage(self) -> Iterator[tuple[Stage, list[CheckResult]]]:
        """Each stage that has results, in the order of the stages, with its results."""
        stages = {result.stage for result in self.results}
        for stage in sorted(stages, key=lambda each: (each.place, each.name)):
            yield stage, [result for result in self.results if result.stage == stage]

    @property
    def subject(self) -> Subject:
        """What the report is about: a submission, unless all of its checks are about one other thing.

        An extension that could not be loaded is about neither.
        """
        judged = (each for each in self.results if not each.id.startswith(UNUSABLE_EXTENSION))
        subjects = {result.stage.subject for result in judged}
        return subjects.pop() if len(subjects) == 1 else SUBMISSION


def verdict_of(
    results: tuple[CheckResult, ...], *, stopped: str = "", uncommitted: str = ""
) -> Verdict:
    """The verdict of these results: any failure is not-ready; anything unsettled is inconclusive.

    Uncommitted files are never ready, whatever the results: the service gets the commit.
    """
    if uncommitted or any(result.outcome is Outcome.FAIL for result in results):
        return Verdict.NOT_READY
    if (
        stopped
        or not results
        or any(not result.settled or result.outcome is Outcome.ERROR for result in results)
    ):
        return Verdict.INCONCLUSIVE
    return Verdict.READY


def strict(report: Report) -> Report:
    """The report where each check that warns fails; its findings stay warnings, since they rest on inferences.

    A stage on which no verdict depends stays what it is.
    """
    results = tuple(
        replace(result, outcome=Outcome.FAIL)
        if result.outcome is Outcome.WARN and result.stage.counts
        else result
        for result in report.results
    )
    verdict = verdict_of(results, stopped=report.stopped, uncommitted=report.uncommitted)
    return replace(
        report, results=results, verdict=verdict, provenance={**report.provenance, "strict": True}
    )


def exit_status(report: Report) -> ExitStatus:
    """The exit status of the verdict; KIT_FAILED if only the kit's own failure prevents a verdict."""
    if report.verdict is Verdict.READY:
        return ExitStatus.READY
    if report.verdict is Verdict.NOT_READY:
        return ExitStatus.NOT_READY
    failed = any(result.outcome is Outcome.ERROR for result in report.results)
    return ExitStatus.KIT_FAILED if failed else ExitStatus.INCONCLUSIVE
