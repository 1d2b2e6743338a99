"""Every check that there is, in the order in which they run, each with the page that explains it."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.check import Check, Facts
from healthcheck.contract import Rule, Status
from healthcheck.endpoint import checks as endpoint
from healthcheck.errors import UsageError
from healthcheck.nearest import hint
from healthcheck.plan import checks as plan
from healthcheck.probe import checks as probe
from healthcheck.repo import checks as repo
from healthcheck.runner import checks as runner
from healthcheck.service import checks as service
from healthcheck.weights import checks as weights


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
        return "The service's rule" if documented else "Inferred about the service"


def pages() -> tuple[Page, ...]:
    """The pages of all checks, stage by stage."""
    return (
        *map(_page, repo.CHECKS),
        *map(_page, plan.CHECKS),
        *map(_page, plan.SUMMARIES),
        *map(_page, plan.DEEP_CHECKS),
        *map(_page, weights.CHECKS),
        *map(_page, service.PORT_CHECKS),
        *map(_page, service.START_CHECKS),
        *map(_page, endpoint.CHECKS),
        *map(_page, probe.CHECKS),
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


def text(page: Page) -> str:
    """The page as `npu-adapter explain` prints it."""
    parts = [f"{page.id}: {page.title}", f"Why it matters: {page.why}", page.body]
    if page.rule:
        parts.append(f"{page.rule_title}: {page.rule.quote()}")
    if page.requires:
        parts.append(f"Needs first: {', '.join(page.requires)}")
    parts.append(f"In the code: {page.source}")
    return "\n\n".join(parts) + "\n"
