"""Shared by the checks of a recorded server: the server, its line, and a finding for an unresolved value."""

from __future__ import annotations

import ipaddress

from healthcheck.core.check import NotApplicable, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.text.messages import Message, msg

STARTED = ("plan/starts-server",)
SETTLED_LATER = msg("verify without --until where the NPUs are: the launch stage settles it")


def served(plan: LaunchPlan) -> ServerCommand:
    """The server to check; raises NotApplicable if deploy.sh starts none."""
    if plan.server is None:
        raise NotApplicable(msg("deploy.sh starts no server"))
    return plan.server


def line_of(plan: LaunchPlan, *needles: str) -> str:
    """The place of the first needle in deploy.sh or a sourced file, else the place of the server."""
    for needle in needles:
        if place := deploy_sh.place_of(plan.script, [needle]):
            return place
        for file in plan.sourced:
            if number := deploy_sh.find_line(file.text, [needle]):
                return f"{file.path}:{number}"
    return served(plan).place


def unresolved(plan: LaunchPlan, expected: str, what: str) -> Finding:
    server = served(plan)
    seen = msg(
        "the dry run could not determine {what}; recorded: {quoted}",
        what=what,
        quoted=server.command,
    )
    return warn(expected=expected, seen=_with_place(seen, server.where), fix=SETTLED_LATER)


def settled_later(expected: str, seen: str, where: str) -> Finding:
    """A finding that only a launch settles. The repair is about no line, so `where` is a part of what was seen."""
    return unsettled(expected=expected, seen=_with_place(seen, where), fix=SETTLED_LATER)


def with_alternative(repair: str, command: str, alternative: str) -> Message:
    """The words of a repair and of its alternative; the command, if there is one, follows its own words."""
    if command:
        return msg("{alternative}; or {repair}", alternative=alternative, repair=repair)
    return msg("{repair}; or {alternative}", repair=repair, alternative=alternative)


def _with_place(seen: str, where: str) -> str:
    return msg("{seen} (in {place})", seen=seen, place=where) if where else seen


def is_within(model: str, folder: str) -> bool:
    """Whether the path of a model is the folder or below it."""
    return model == folder or model.startswith(folder.rstrip("/") + "/")


def option_place(plan: LaunchPlan, spelled: str) -> str:
    """The line of deploy.sh with an option and its value, "" if there is none."""
    return deploy_sh.place_of(plan.script, [spelled, *spelled.replace("=", " ").split()])


def is_fixed_address(host: str) -> bool:
    """Whether the host is an IP address of one machine, neither unspecified nor loopback."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback)
