"""Declares checks: small functions from the facts of a stage to findings.

    @check("plan/port", msg("The server listens on port {port}"), rule=contract.LISTENS_ON_PORT,
           why=msg("The service connects to port {port} and to no other."), requires=("plan/starts-server",))
    def port(plan: LaunchPlan) -> Findings:
        '''The page that `npu-adapter explain plan/port` prints, for port {port}.'''
        if plan.port != contract.PORT:
            yield fail(expected=msg("port {port}", port=contract.PORT), seen=f"--port {plan.port}", fix="…")

A title, a reason and a page are declared before it is known which service judges: they have places for its figures.

Yielding nothing is a pass. `raise NotApplicable(reason)` is a skip. Any other exception is the kit's own error.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from healthcheck import contract
from healthcheck.contract import Rule
from healthcheck.core.commands import command_of, words_of
from healthcheck.core.edits import in_words
from healthcheck.core.records import CheckResult, Edit, Finding, JsonValue, Level, Outcome
from healthcheck.core.stages import Stage, stage_named
from healthcheck.errors import KitError
from healthcheck.text.messages import message, msg

Facts = TypeVar("Facts")
Findings = Iterator[Finding]


class NotApplicable(Exception):  # noqa: N818 - it is an outcome, not an error
    """The check does not apply to these facts; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[Facts]):
    """A declared check.

    Attributes:
        heading: the title, with places for the service's figures; `reason` is the one sentence why it cares.
        page: what `npu-adapter explain` prints: the reason at length, and the repair; see `contract.filled`.
        requires: ids of checks that must not have failed or been skipped before this one makes sense.
        by_row: its findings depend on the row of the version matrix.
        run: from facts to findings.
    """

    id: str
    heading: str
    stage: Stage
    reason: str
    page: str
    rule: Rule | None
    requires: tuple[str, ...]
    by_row: bool
    run: Callable[[Facts], Iterable[Finding]]

    @property
    def title(self) -> str:
        """The title, for the service in force."""
        return contract.stated(self.heading)

    @property
    def why(self) -> str:
        """Why the service in force cares."""
        return contract.stated(self.reason)

    def judge(self, facts: Facts, doubt: str = "") -> CheckResult:
        """Run the check over the facts; an exception in it is the kit's error, never the submission's failure.

        `doubt` says why the row of the version matrix may be the wrong one: findings that depend on it become
        unsettled.
        """
        began = time.monotonic()
        outcome, findings, because = Outcome.PASS, (), ""  # type: tuple[Outcome, tuple[Finding, ...], str]
        try:
            findings = tuple(self.run(facts))
            findings = _doubted(findings, doubt) if doubt and self.by_row else findings
            outcome = _outcome(findings)
        except NotApplicable as reason:
            outcome, because = Outcome.SKIP, str(reason)
        except Exception as error:  # noqa: BLE001 - whatever broke, the report must say so and go on
            outcome, because = Outcome.ERROR, broke(error)
        return self.result(
            outcome, findings=findings, because=because, seconds=time.monotonic() - began
        )

    def result(
        self,
        outcome: Outcome,
        *,
        findings: tuple[Finding, ...] = (),
        because: str = "",
        seconds: float = 0.0,
    ) -> CheckResult:
        """Make a result of this check, for the engine and for tests."""
        return CheckResult(
            id=self.id,
            stage=self.stage,
            title=self.title,
            outcome=outcome,
            why=self.why,
            rule=next((f.rule for f in findings if f.level is Level.FAIL and f.rule), self.rule),
            findings=findings,
            because=because,
            settled=not any(finding.level is Level.UNSETTLED for finding in findings),
            seconds=seconds,
        )


def broke(error: BaseException) -> str:
    """The reason of a failure in the kit: a KitError's own sentence, or any other error with its type."""
    return (
        str(error)
        if isinstance(error, KitError)
        else msg("{name}: {error}", name=type(error).__name__, error=error)
    )


def _outcome(findings: tuple[Finding, ...]) -> Outcome:
    levels = {finding.level for finding in findings}
    if Level.FAIL in levels:
        return Outcome.FAIL
    if Level.UNSETTLED in levels:
        return Outcome.SKIP
    return Outcome.WARN if Level.WARN in levels else Outcome.PASS


def _doubted(findings: tuple[Finding, ...], doubt: str) -> tuple[Finding, ...]:
    """Findings by a row that may be the wrong one: the reason first, and every failure as unsettled."""
    reason = unsettled(
        expected=msg("a row of the version matrix for the release"),
        seen=doubt,
        fix=msg(
            "name the image's release with --stack; docs/adding-a-release.md says how a new one gets a row"
        ),
    )
    return (
        reason,
        *(
            replace(each, level=Level.UNSETTLED) if each.level is Level.FAIL else each
            for each in findings
        ),
    )


def check(
    id: str,  # noqa: A002 - the word of the report
    title: str,
    *,
    why: str,
    stage: Stage | None = None,
    rule: Rule | None = None,
    requires: tuple[str, ...] = (),
    by_row: bool = False,
) -> Callable[[Callable[[Facts], Iterable[Finding]]], Check[Facts]]:
    """Declare a check. The function's docstring becomes its page.

    Without `stage`, the check belongs to the stage that its id begins with.
    """

    def declare(run: Callable[[Facts], Iterable[Finding]]) -> Check[Facts]:
        page = inspect.getdoc(run)
        if not page:
            raise TypeError(f"the check {id} has no docstring, and so no page to explain it")
        return Check(
            id=id,
            heading=message(title),
            stage=stage or stage_named(id.partition("/")[0]),
            reason=message(why),
            page=page,
            rule=rule,
            requires=requires,
            by_row=by_row,
            run=run,
        )

    return declare


def _finding(
    level: Level,
    *,
    expected: str,
    seen: str,
    fix: str = "",
    command: str = "",
    where: str = "",
    rule: Rule | None = None,
    evidence: Mapping[str, JsonValue] | None = None,
    edits: Sequence[Edit] = (),
) -> Finding:
    """A finding; without `fix`, its repair is what the edits do, in words.

    `command` is for the folder that Finding describes. A `fix` that is Commanded brings its own.
    """
    return Finding(
        level=level,
        expected=expected,
        seen=seen,
        fix=words_of(fix) or in_words(edits),
        command=command or command_of(fix),
        where=where,
        rule=rule,
        evidence=evidence or {},
        edits=tuple(edits),
    )


fail = functools.partial(_finding, Level.FAIL)
"""A documented rule is broken, or a malfunction was observed."""
warn = functools.partial(_finding, Level.WARN)
"""A problem by inference about the service, or a risk that is not a fault yet."""
unsettled = functools.partial(_finding, Level.UNSETTLED)
"""The question has no answer: something outside the submission prevented it, or there is too little evidence."""


class At:
    """`fail`, `warn` and `unsettled` for one place: a file and line, a command or a request."""

    def __init__(self, where: str) -> None:
        self.fail = functools.partial(fail, where=where)
        self.warn = functools.partial(warn, where=where)
        self.unsettled = functools.partial(unsettled, where=where)


def by_profile(rule: Rule) -> Callable[..., Finding]:
    """`fail` with the rule where the profile in force has it; `warn` where the service leaves it unknown."""
    return functools.partial(fail, rule=rule) if rule.is_own else warn


def needs_network(*, edits: Sequence[Edit] = (), **parts: str) -> Findings:
    """A finding about what needs the network: none where the service has it, a failure where it has none."""
    if not contract.service().network:
        yield by_profile(contract.NO_NETWORK)(edits=edits, **parts)


def note(seen: str, *, where: str = "", evidence: Mapping[str, JsonValue] | None = None) -> Finding:
    """Additional information with a pass."""
    return Finding(level=Level.NOTE, expected="", seen=seen, where=where, evidence=evidence or {})
