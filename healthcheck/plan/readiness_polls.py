"""What deploy.sh itself asked of its server that the server does not have: another port, another model."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from healthcheck import contract
from healthcheck.check import warn
from healthcheck.plan.dry_run.sandbox.job import REFUSED, UNKNOWN_MODEL
from healthcheck.plan.records import LaunchPlan
from healthcheck.plan.script import deploy_sh
from healthcheck.records import Finding


def other_ports(plan: LaunchPlan) -> Iterator[Finding]:
    """Ports that it asked again and again, and at which no server of its own listens."""
    own = plan.server.port if plan.server else None
    for asked in _behind(plan, REFUSED) if own else ():
        yield warn(
            expected=f"deploy.sh asks where its server listens: port {own}",
            seen=f"it asks port {asked} again and again, where nothing listens",
            fix=f"ask port {own}, or end with exec and ask nothing",
            where=_where(plan, f":{asked}", asked),
        )


def other_models(plan: LaunchPlan) -> Iterator[Finding]:
    """Models that it asked for, and that its server answered with status 404."""
    for asked in map(unquote, _behind(plan, UNKNOWN_MODEL)):
        yield warn(
            expected="deploy.sh asks for a model that its server has",
            seen=f"it asks for {asked!r}, which is answered with status 404",
            fix='write the name that is served, "$MODEL_PATH", or leave the request out',
            where=_where(plan, asked, "/v1/chat/completions"),
        )


def in_vain(plan: LaunchPlan) -> str:
    """The first thing that it asked in vain, which may be why it ended; "" where there is none."""
    ports, models = (next(_behind(plan, beginning), "") for beginning in (REFUSED, UNKNOWN_MODEL))
    return f"the model {unquote(models)!r}" if models else f"port {ports}" if ports else ""


def _behind(plan: LaunchPlan, beginning: str) -> Iterator[str]:
    return (note.removeprefix(beginning) for note in plan.notes if note.startswith(beginning))


def _where(plan: LaunchPlan, *needles: str) -> str:
    number = deploy_sh.find_line(plan.script, needles)
    return f"{contract.ENTRY_POINT}:{number}" if number else ""
