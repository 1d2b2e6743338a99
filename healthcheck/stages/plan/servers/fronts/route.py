"""Follows a front to the servers of the same launch."""

from __future__ import annotations

import enum
import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from healthcheck import contract
from healthcheck.engines.base import Api
from healthcheck.sandbox.protocol import ADDRESS, HOST_NAME
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand, Target
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.servers.fronts import litellm

_LOOPBACK_NAMES = {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}
_HOSTS_FILE = re.compile(r"/etc/hosts\b")


class End(enum.Enum):
    """Where a target leads.

    REACHED: to a server of the launch. NO_SERVER: to a port of this machine where none listens. NO_HOST: to a bare
    name that nothing defines. OTHER_MACHINE: to a fixed address or a name with dots. UNKNOWN: it depends on facts
    that the kit does not have.
    """

    REACHED = enum.auto()
    NO_SERVER = enum.auto()
    NO_HOST = enum.auto()
    OTHER_MACHINE = enum.auto()
    UNKNOWN = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A target with its end, and with the server if it reaches one."""

    target: Target
    end: End
    server: ServerCommand | None = None


def routes(plan: LaunchPlan, front: ServerCommand) -> tuple[Route, ...]:
    """The routes of the front for the model that the service requests."""
    wanted = contract.service().requested(plan.model_path)
    targets = front.front.targets if front.front else ()
    exact = [target for target in targets if target.name == wanted]
    taking = exact or [target for target in targets if litellm.takes(target.name, wanted)]
    return tuple(_route(plan, front, target) for target in taking)


def answering(plan: LaunchPlan) -> tuple[ServerCommand, ...]:
    """The servers that answer the service's chats: those behind a known route of a front, else `plan.server`."""
    if plan.server is None:
        return ()
    return tuple(server for _, server in _reached(plan, plan.server)) or (plan.server,)


def for_each_answering(plan: LaunchPlan, check: str) -> tuple[LaunchPlan, ...]:
    """The plans that a check of the server judges: one for each server that answers the service's chats.

    Behind a front that replaces the model's name, the names are the front's. A key is demanded by the front, and by
    each server to which the front sends none.
    """
    front = plan.server
    reached = list(_reached(plan, front)) if front else []
    if front is None or not reached:
        return (plan,)
    if check == "plan/served-name":
        reached = [(target, server) for target, server in reached if not target.model]
    elif check == "plan/no-api-key":
        reached = [(target, server) for target, server in reached if not target.keyed]
        return (plan, *(_instead(plan, server) for _, server in reached))
    return tuple(_instead(plan, server) for _, server in reached)


def _instead(plan: LaunchPlan, server: ServerCommand) -> LaunchPlan:
    """The plan with this server as the one that the service reaches, in the second run, too."""
    second = plan.spaced_run.servers if plan.spaced_run else ()
    spaced = next((each for each in second if each.port == server.port), None)
    return replace(plan, server=server, spaced=spaced)


def _reached(plan: LaunchPlan, front: ServerCommand) -> Iterator[tuple[Target, ServerCommand]]:
    """The servers behind the front, each once."""
    seen: list[ServerCommand] = []
    for route in routes(plan, front):
        if route.server is not None and route.server not in seen:
            seen.append(route.server)
            yield route.target, route.server


def _route(plan: LaunchPlan, front: ServerCommand, target: Target) -> Route:
    host = target.host.strip("[]").lower()
    if target.unknown or target.port is None:
        return Route(target=target, end=End.UNKNOWN)
    if not _is_this_machine(host):
        return Route(target=target, end=_end_elsewhere(plan, host))
    others = [each for each in plan.servers if each is not front and each.api is not Api.HEADLESS]
    running = [each for each in others if each.foreground] or others
    server = next((each for each in running if each.port == target.port), None)
    if server is not None:
        return Route(target=target, end=End.REACHED, server=server)
    unknown = any(each.port is None for each in running) or len(running) < len(others)
    return Route(target=target, end=End.UNKNOWN if unknown else End.NO_SERVER)


def _is_this_machine(host: str) -> bool:
    if host in _LOOPBACK_NAMES or host in {ADDRESS, HOST_NAME}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _end_elsewhere(plan: LaunchPlan, host: str) -> End:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        names_hosts = any(_HOSTS_FILE.search(line) for _, line in deploy_sh.code_lines(plan.script))
        if names_hosts or not plan.observed.isolated:
            return End.UNKNOWN
        return End.OTHER_MACHINE if "." in host else End.NO_HOST
    return End.OTHER_MACHINE
