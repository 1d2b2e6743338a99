"""Where the server listens."""

from __future__ import annotations

import ipaddress
import re
import socket

from healthcheck import contract
from healthcheck.check import Findings, check, fail, note, warn
from healthcheck.plan import advice
from healthcheck.plan.commands import NAME_CHARACTERS
from healthcheck.plan.dry_run.sandbox.box import WITHOUT_NAMESPACES
from healthcheck.plan.dry_run.stubs.note import ADDRESS, HOST_NAME
from healthcheck.plan.readiness_polls import other_ports
from healthcheck.plan.records import LaunchPlan, ServerCommand
from healthcheck.plan.script import deploy_sh
from healthcheck.plan.servers.engines import LOOPBACK, is_address, is_fixed_address
from healthcheck.plan.servers.options import UNRESOLVED
from healthcheck.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.records import Finding, Stage

_BIND_AS_GIVEN = {"vllm", "sglang"}
"""Engines that hand their --host to the socket as it is."""
_LOOPBACK_NAME = re.compile(r"(?:ip6-)?(?:localhost[46]?|loopback)(?:\.localdomain[46]?)?|.+\.localhost")
"""What /etc/hosts of Debian and of Red Hat calls it, and every name below .localhost (RFC 6761)."""


@check(
    "plan/port",
    "The server listens on port 8000",
    stage=Stage.PLAN,
    rule=contract.LISTENS_ON_PORT,
    why="The service connects to port 8000 and to no other.",
    requires=STARTED,
)
def port(plan: LaunchPlan) -> Findings:
    """The service connects to port 8000.

    The port is the one that the engine would really use: from the command line in any spelling, from a
    configuration file, or the engine's own default (vLLM 8000, SGLang 30000, llama.cpp 8080, LMDeploy 23333,
    MindIE 1025). VLLM_PORT is for vLLM's internal communication and does not set it.

    A deploy.sh that waits for its server at another port than the one where that listens gets a warning.

    Repair: pass `--port 8000` (LMDeploy: `--server-port 8000`).
    """
    server = served(plan)
    yield from other_ports(plan)
    if server.port == contract.PORT:
        return
    if server.port is not None:
        yield _another_port(plan, server)
    elif UNRESOLVED not in server.port_source and server.port_source.startswith(("-", "port")):
        yield _no_port(plan, server)
    else:
        yield unresolved(plan, f"port {contract.PORT}", f"the port ({server.port_source})")


def _no_port(plan: LaunchPlan, server: ServerCommand) -> Finding:
    return fail(
        expected=f"port {contract.PORT}",
        seen=f"{server.port_source} is no port: {server.command}",
        fix=advice.port(server),
        where=line_of(plan, server.port_source.split()[0].split("=")[0]),
    )


def _another_port(plan: LaunchPlan, server: ServerCommand) -> Finding:
    in_a_file = ".y" in server.port_source
    return fail(
        expected=f"port {contract.PORT}",
        seen=f"port {server.port} ({server.port_source}): {server.command}",
        fix=advice.port(server),
        where=server.port_source if in_a_file else line_of(plan, server.port_source, str(server.port)),
        evidence={"port": server.port, "source": server.port_source},
    )


@check(
    "plan/host",
    "The server listens on every interface",
    stage=Stage.PLAN,
    rule=contract.LISTENS_ON_PORT,
    why="Whether the service's client runs on the same host is unknown; loopback answers only there.",
    requires=STARTED,
)
def host(plan: LaunchPlan) -> Findings:
    """A server on 127.0.0.1 answers only clients on the same host and in the same container.

    The service does not say where its client runs, so loopback is a warning. Engines differ in what they do by
    default: vLLM and LMDeploy listen everywhere, SGLang, llama.cpp and uvicorn on loopback only.

    An address or a name of one machine fails: no other can listen on it.

    Repair: pass `--host 0.0.0.0`.
    """
    server = served(plan)
    if server.host is None:
        yield unresolved(plan, "an address that is reachable from outside", "the address")
    elif _is_loopback(server.host.strip().lower()):
        yield _loopback(plan, server)
    elif _is_found_out(plan, server.host):
        yield warn(
            expected="every address of the machine: whether the client uses this one is unknown",
            seen=f"only the machine's own address, found out when deploy.sh runs: {server.command}",
            fix=advice.host(server),
            where=server.where,
        )
    elif is_fixed_address(server.host) or _is_unknown_name(server):
        yield fail(
            expected="an address that the service's machine has, such as 0.0.0.0",
            seen=f"the fixed {'address' if is_fixed_address(server.host) else 'name'} "
            f"{server.host[:NAME_CHARACTERS]}, which only its own machine can listen on: {server.command}",
            fix=advice.host(server),
            where=line_of(plan, server.host),
        )


def _is_loopback(host: str) -> bool:
    if _LOOPBACK_NAME.fullmatch(host):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        pass
    try:
        return socket.inet_aton(host)[0] == ipaddress.IPv4Address(LOOPBACK).packed[0]  # takes short forms: 127.1
    except OSError:
        return False


def _is_found_out(plan: LaunchPlan, host: str) -> bool:
    """Whether the script asked the rehearsed machine; without namespaces it has this machine's name."""
    if host in {ADDRESS, HOST_NAME}:
        return True
    written = deploy_sh.find_line(plan.script, [f"--host {host}", f"--host={host}"])
    return WITHOUT_NAMESPACES in plan.notes and host == socket.gethostname() and written is None


def _is_unknown_name(server: ServerCommand) -> bool:
    """Whether it is the name of a certain machine; to a socket, an address in brackets is a name."""
    name = (server.host or "").strip()
    if not name or UNRESOLVED in name or server.engine not in _BIND_AS_GIVEN:
        return False
    try:
        socket.inet_aton(name)  # takes short forms such as 0
    except OSError:
        return not is_address(name)
    return False


def _loopback(plan: LaunchPlan, server: ServerCommand) -> Finding:
    explicit = any(server.option(name) for name in ("host", "server-name", "hostname", "bind"))
    return warn(
        expected="an address that is reachable from outside, such as 0.0.0.0",
        seen=f"{server.host}{'' if explicit else f', the default of {server.engine}'}: {server.command}",
        fix=advice.host(server),
        where=line_of(plan, server.host or "") if explicit else server.where,
    )


@check(
    "plan/one-port-each",
    "No two servers want the same port",
    stage=Stage.PLAN,
    why="The second server on a port ends with an error, and which one is the second depends on timing.",
    requires=STARTED,
)
def one_port_each(plan: LaunchPlan) -> Findings:
    """Two servers that run at the same time need two ports.

    Of two servers on one port the second ends with "address already in use". Repair: start one of them, or give
    the one that the service does not talk to another port.
    """
    running = [server for server in plan.servers if server.foreground and server.api != "headless"]
    ports = [server.port for server in running if server.port is not None]
    for number in sorted({number for number in ports if ports.count(number) > 1}):
        commands = "; ".join(server.command for server in running if server.port == number)
        yield warn(expected=f"one server on port {number}", seen=commands, fix="start one of them")
    for text in plan.notes:
        if " " in text:
            yield note(text)
