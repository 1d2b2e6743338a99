"""All checks in the order in which they run, each with the page that explains it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from healthcheck.contract import Rule, Status, filled
from healthcheck.core.check import Check, Facts
from healthcheck.core.extensions import NONE, Extra, own_checks
from healthcheck.core.records import CheckResult
from healthcheck.core.stages import Stage
from healthcheck.errors import UsageError
from healthcheck.text.did_you_mean import hint
from healthcheck.text.language import Translate, translated
from healthcheck.text.messages import Message, msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The documentation of a check.

    Attributes:
        written: the text as it is translated, with placeholders for figures of the contract.
        source: the file that declares the check.
    """

    id: str
    title: str
    stage: Stage
    why: str
    rule: Rule | None
    requires: tuple[str, ...]
    written: str
    source: str

    @property
    def body(self) -> str:
        """The text with the figures of the contract."""
        return filled(self.written)

    def ruled(self, rule: str) -> Message:
        """The check's rule with a label: the service's own rule, or an inference about the service."""
        documented = self.rule is not None and self.rule.certainty is Status.DOCUMENTED
        if documented:
            return msg("The service's rule: {rule}", rule=rule)
        return msg("Inferred about the service: {rule}", rule=rule)


_CHECKS: Mapping[Stage, tuple[str, ...]] = {
    Stage.REPO: ("healthcheck.stages.repo.checks:CHECKS",),
    Stage.PLAN: (
        "healthcheck.stages.plan.checks:CHECKS",
        "healthcheck.stages.plan.checks:SUMMARIES",
    ),
    Stage.WEIGHTS: ("healthcheck.stages.weights.checks:CHECKS",),
    Stage.SERVICE: (
        "healthcheck.stages.service.checks:PORT_CHECKS",
        "healthcheck.stages.service.checks:START_CHECKS",
        "healthcheck.stages.service.checks:END_CHECKS",
    ),
    Stage.ENDPOINT: ("healthcheck.stages.endpoint.checks:CHECKS",),
    Stage.PROBE: ("healthcheck.stages.probe.checks:CHECKS",),
}
"""The places of the kit's own checks of each stage of a verification. A place is imported when it is asked for."""


def pages(extra: Extra = NONE) -> tuple[Page, ...]:
    """The pages of all checks in the order of their stages; those of other distributions come last."""
    own = [*(check for stage in _CHECKS for check in _checks_of(stage)), *own_checks()]
    own.sort(key=lambda check: check.stage.place)
    return tuple(map(_page, (*own, *extra.checks, *extra.unusable)))


def pages_of(results: Iterable[CheckResult], extra: Extra = NONE) -> tuple[Page, ...]:
    """The pages of the checks with these results; imports the checks of their stages alone."""
    stage_of = {result.id: result.stage for result in results}
    stages = sorted(set(stage_of.values()), key=lambda stage: stage.place)
    own = [check for stage in stages for check in _checks_of(stage)]
    return tuple(
        _page(check) for check in (*own, *extra.checks, *extra.unusable) if check.id in stage_of
    )


def _checks_of(stage: Stage) -> tuple[Check[Any], ...]:
    """The kit's own checks of a stage."""
    if stage not in _CHECKS:
        return tuple(check for check in own_checks() if check.stage == stage)
    loaded: list[Any] = [pkgutil.resolve_name(place) for place in _CHECKS[stage]]
    return tuple(check for checks in loaded for check in checks)


def page(check_id: str, extra: Extra = NONE) -> Page:
    """The page of one check.

    Raises:
        UsageError: there is no such check; the message suggests similar ids.
    """
    known = {each.id: each for each in pages(extra)}
    if check_id not in known:
        raise UsageError(
            msg(
                "there is no check {check_id}{near} (`npu-adapter explain` lists them all)",
                check_id=repr(check_id),
                near=hint(check_id, known, {each.id: each.title for each in known.values()}),
            )
        )
    return known[check_id]


def _page(check: Check[Facts]) -> Page:
    return Page(
        id=check.id,
        title=check.title,
        stage=check.stage,
        why=check.why,
        rule=check.rule,
        requires=check.requires,
        written=check.page,
        source=check.run.__module__.replace(".", "/") + ".py",
    )


def in_language(page: Page, say: Translate) -> Page:
    """Translate the page, except a rule's sentence, which is a quotation."""
    return replace(
        page, title=say(page.title), why=say(page.why), written=translated(page.written, say)
    )


def because(why: str) -> Message:
    return msg("Why it matters: {why}", why=why)


def needing(checks: str) -> Message:
    """The checks that have to pass first."""
    return msg("Needs first: {checks}", checks=checks)


def declared(file: str) -> Message:
    return msg("In the code: {file}", file=file)


def text(page: Page, say: Translate) -> str:
    """The page as `npu-adapter explain` prints it."""
    page = in_language(page, say)
    parts = [
        say(msg("{id}: {title}", id=page.id, title=page.title)),
        say(because(page.why)),
        page.body,
    ]
    if page.rule:
        parts.append(say(page.ruled(page.rule.quote())))
    if page.requires:
        parts.append(say(needing(", ".join(page.requires))))
    parts.append(say(declared(page.source)))
    return "\n\n".join(parts) + "\n"
