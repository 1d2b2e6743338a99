"""The shape of report.json as records; scripts/make_report_schema.py makes docs/report.schema.json of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from healthcheck.core.records import Edit, Level, Outcome, Verdict
from healthcheck.report.recorded import Recorded

Anything = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FindingDocument:
    """One observed fact and what to do about it.

    Attributes:
        level: note informs; warn rests on an inference; fail breaks a documented rule of the service, or is an
            observed malfunction; unsettled says that the evidence does not settle the question.
        expected: what was expected.
        seen: what was seen, quoted.
        where: file and line ("deploy.sh:7"), or the recorded command; "" if it has no place.
        fix: the one-line repair in words, "" for notes.
        command: the repair as shell commands, ready to paste where the kit was called; "" if there is none.
        data: machine-readable details, which differ from check to check.
        edits: the repair as exact edits that belong together; empty if it cannot be given exactly. `verify --fix`
            makes them.
        messages: templates and values of the texts of this record that are the kit's own, to say them in another
            language.
    """

    level: Level
    expected: str
    seen: str
    where: str
    fix: str
    command: str = ""
    data: Anything = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    messages: Mapping[str, Recorded] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckDocument:
    """How one check ended, and why.

    Attributes:
        id: the check's name, a contract: `npu-adapter explain ID` prints its page.
        stage: the name of the stage that it belongs to.
        outcome: error is the kit's own failure and never counts as the submission's.
        settled: false if the check was meant to give an answer and could not.
        blocked_by: the id of the check whose failure or missing answer kept this one from running; null for none.
        waived: true if it was skipped on request.
        title: what holds where the check passes.
        detail: the findings in words; for a skip or an error, the reason.
        fix: the repair of the most severe finding, "" if there is none.
        why: why it matters.
        rule: the service's rule, quoted with its source; null if there is none.
        evidence: the findings, the most severe first.
        seconds: time that the check itself took.
        messages: as those of a finding.
    """

    id: str
    stage: str
    outcome: Outcome
    settled: bool
    title: str
    detail: str
    fix: str
    why: str
    rule: str | None
    evidence: tuple[FindingDocument, ...]
    seconds: float
    blocked_by: str | None = None
    waived: bool = False
    messages: Mapping[str, Recorded] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReportDocument:
    """The report of a run of npu-adapter (report.json, or --json FILE).

    A reader ignores keys that it does not know: new ones may be added without a new number of the schema.

    Attributes:
        schema: the number of this shape; it grows when a key is removed or changes its meaning.
        verdict: the result of the run for the submission.
        headline: the verdict in one line.
        next_step: the one thing to do next, in one line with its commands.
        next_commands: the shell commands of next_step in their order, ready to paste where the kit was called.
        asked: the stages that were asked for, in words.
        checks: the results, in the order in which the checks ran.
        metrics: what was measured, by name; empty where nothing was.
        provenance: versions, weights, commit, command and machine.
        unknown_about_the_service: what no document of the service says, and the kit does not guess.
        messages: as those of a finding.
        stopped: why the run ended before its time, "" if it did not.
        uncommitted: why the files that were judged are not the committed ones, "" if they are.
        scope: how far a run went that did not go to its end ("up to plan"), for the headline.
        folder: the repository, as the author named it; "" for the directory in which the kit was called, "…" if its
            path has a secret.
        program: the kit, as a shell starts it.
    """

    schema: Literal[1]
    verdict: Verdict
    headline: str
    next_step: str
    asked: str
    checks: tuple[CheckDocument, ...]
    metrics: Anything
    provenance: Anything
    unknown_about_the_service: tuple[str, ...]
    messages: Mapping[str, Recorded] = field(default_factory=dict)
    next_commands: tuple[str, ...] = ()
    stopped: str = ""
    uncommitted: str = ""
    scope: str = ""
    folder: str = ""
    program: tuple[str, ...] = ("npu-adapter",)
