"""Requests of deploy.sh to its own server that fail: another port, another model."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.check import warn
from healthcheck.plan.records import LaunchPlan
from healthcheck.plan.script import deploy_sh
from healthcheck.records import Finding


def other_ports(plan: LaunchPlan) -> Iterator[Finding]:
    """Ports that it polled, on which none of its own servers listens."""
    own = plan.server.port if plan.server else None
    for asked in plan.observed.refused_ports if own else ():
        yield warn(
            expected=f"deploy.sh polls the port of its server: port {own}",
            seen=f"it polls port {asked}, where nothing listens",
            fix=f"poll port {own}, or drop the wait loop and start the server with exec",
            where=deploy_sh.place_of(plan.script, [f":{asked}", str(asked)]),
        )


def other_models(plan: LaunchPlan) -> Iterator[Finding]:
    """Models that it requested, for which its server returned status 404."""
    for asked in plan.observed.unknown_models:
        yield warn(
            expected="deploy.sh requests a model that its server has",
            seen=f"it requests {asked!r}, and the server returns status 404",
            fix='request the served name, "$MODEL_PATH", or remove the request',
            where=deploy_sh.place_of(plan.script, [asked, "/v1/chat/completions"]),
        )


def first_unanswered(plan: LaunchPlan) -> str:
    """The first request that never succeeded, which may be why the script ended; "" if there is none."""
    models = (f"the model {name!r}" for name in plan.observed.unknown_models)
    ports = (f"port {port}" for port in plan.observed.refused_ports)
    return next(models, "") or next(ports, "")
