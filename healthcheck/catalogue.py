"""Every check that there is, in the order in which they run, each with the page that explains it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from healthcheck.check import Check, Facts
from healthcheck.contract import Rule, Status
from healthcheck.endpoint import checks as endpoint
from healthcheck.errors import UsageError
from healthcheck.language import Translate, translated
from healthcheck.nearest import hint
from healthcheck.numerics import checks as numerics
from healthcheck.plan import checks as plan
from healthcheck.plan.deep import DEEP_CHECKS
from healthcheck.probe import checks as probe
from healthcheck.repo import checks as repo
from healthcheck.runner import checks as runner
from healthcheck.service import checks as service
from healthcheck.weights import checks as weights

WHY, NEEDS, SOURCE = "Why it matters: {}", "Needs first: {}", "In the code: {}"
RULE, INFERRED = "The service's rule: {}", "Inferred about the service: {}"
LABELS = (WHY, RULE, INFERRED, NEEDS, SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The documentation of a check; `source` is the file that declares it."""

    id: str
    title: str
    stage: str
    why: str
    rule: Rule | None
    requires: tuple[str, ...]
    body: str
    source: str

    @property
    def rule_title(self) -> str:
        """The heading of the check's rule: the service's own rule, or an inference about the service."""
        documented = self.rule is not None and self.rule.status is Status.DOCUMENTED
        return RULE if documented else INFERRED


def pages() -> tuple[Page, ...]:
    """The pages of all checks, stage by stage."""
    return (
        *map(_page, repo.CHECKS),
        *map(_page, plan.CHECKS),
        *map(_page, plan.SUMMARIES),
        *map(_page, DEEP_CHECKS),
        *map(_page, weights.CHECKS),
        *map(_page, service.PORT_CHECKS),
        *map(_page, service.START_CHECKS),
        *map(_page, endpoint.CHECKS),
        *map(_page, numerics.CHECKS),
        *map(_page, probe.CHECKS),
        *map(_page, probe.OF_SEVERAL),
        *map(_page, service.END_CHECKS),
        *map(_page, runner.CHECKS),
    )


def page(check_id: str) -> Page:
    """The page of one check.

    Raises:
        UsageError: there is no such check; the message names what is near.
    """
    known = {each.id: each for each in pages()}
    if check_id not in known:
        near = hint(check_id, known)
        raise UsageError(f"there is no check {check_id!r}{near} (`npu-adapter explain` lists them all)")
    return known[check_id]


def _page(check: Check[Facts]) -> Page:
    return Page(
        id=check.id,
        title=check.title,
        stage=check.stage.value,
        why=check.why,
        rule=check.rule,
        requires=check.requires,
        body=check.page,
        source=check.run.__module__.replace(".", "/") + ".py",
    )


def in_language(page: Page, say: Translate) -> Page:
    """The page in another language; the sentence of a rule is quoted, and stays."""
    return replace(page, title=say(page.title), why=say(page.why), body=translated(page.body, say))


def text(page: Page, say: Translate) -> str:
    """The page as `npu-adapter explain` prints it."""
    page = in_language(page, say)
    parts = [f"{page.id}: {page.title}", say(WHY).format(page.why), page.body]
    if page.rule:
        parts.append(say(page.rule_title).format(page.rule.quote()))
    if page.requires:
        parts.append(say(NEEDS).format(", ".join(page.requires)))
    parts.append(say(SOURCE).format(page.source))
    return "\n\n".join(parts) + "\n"
