"""plan/host: the server listens on every interface."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.engines.base import LOOPBACK
from healthcheck.sandbox.protocol import ADDRESS, HOST_NAME
from healthcheck.stages.plan import repairs
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.servers.served import (
    STARTED,
    is_fixed_address,
    line_of,
    served,
    unresolved,
)
from healthcheck.text.messages import msg

_LOOPBACK_NAME = re.compile(
    r"(?:ip6-)?(?:localhost[46]?|loopback)(?:\.localdomain[46]?)?|.+\.localhost"
)
"""Names in /etc/hosts of Debian and Red Hat, and all names below .localhost (RFC 6761)."""


@check(
    "plan/host",
    msg("The server listens on every interface"),
    rule=contract.LISTENS_ON_PORT,
    why=msg(
        "Whether the service's client runs on the same host is unknown; loopback answers only there."
    ),
    requires=STARTED,
)
def host(plan: LaunchPlan) -> Findings:
    """A server on 127.0.0.1 answers only clients on the same host and in the same container.

    The service does not say where its client runs, so loopback is a warning. Engines differ in what they do by
    default: vLLM and LMDeploy listen everywhere, SGLang, llama.cpp and uvicorn on loopback only.

    An address or a name of one machine fails: no other can listen on it.

    Repair: pass `--host 0.0.0.0`.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --host 127.0.0.1
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --host 0.0.0.0
    ```
    """
    server = served(plan)
    if server.host is None:
        yield unresolved(plan, msg("an address that is reachable from outside"), msg("the address"))
        return
    say, where = warn, line_of(plan, server.host)
    if _is_loopback(server.host.strip().lower()):
        explicit = any(server.option(name) for name in ("host", "server-name", "hostname", "bind"))
        default = "" if explicit else msg(", the default of {engine}", engine=server.engine.name)
        expected = msg("an address that is reachable from outside, such as 0.0.0.0")
        seen = msg(
            "{host}{value}: {quoted}", host=server.host, value=default, quoted=server.command
        )
        where = where if explicit else server.where
    elif _is_found_out(plan, server.host):
        expected = msg("every address of the machine: whether the client uses this one is unknown")
        seen = msg(
            "only the machine's own address, found out when deploy.sh runs: {quoted}",
            quoted=server.command,
        )
        where = server.where
    elif (fixed := is_fixed_address(server.host)) or _is_unknown_name(server):
        say, expected = fail, msg("an address that the service's machine has, such as 0.0.0.0")
        seen = msg(
            "the fixed {value} {host}, which only its own machine can listen on: {quoted}",
            value="address" if fixed else "name",
            host=server.host[:NAME_CHARACTERS],
            quoted=server.command,
        )
    else:
        return
    edits = repairs.host_edits(plan, server)
    fix = "" if edits else repairs.host_repair(server)
    yield say(expected=expected, seen=seen, fix=fix, where=where, edits=edits)


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    with contextlib.suppress(OSError):
        return (
            socket.inet_aton(host)[0] == ipaddress.IPv4Address(LOOPBACK).packed[0]
        )  # takes short forms: 127.1
    return _LOOPBACK_NAME.fullmatch(host) is not None


def _is_found_out(plan: LaunchPlan, host: str) -> bool:
    """Whether the script looked up its host's address or name; without namespaces, that is this machine's name."""
    if host in {ADDRESS, HOST_NAME}:
        return True
    written = deploy_sh.find_line(plan.script, [f"--host {host}", f"--host={host}"])
    return not plan.observed.isolated and host == socket.gethostname() and written is None


def _is_unknown_name(server: ServerCommand) -> bool:
    """Whether the host is the name of a particular machine; to a socket, an address in brackets is a name."""
    name = (server.host or "").strip()
    if not name or UNRESOLVED in name or not server.engine.serving.binds_host_as_given:
        return False
    for is_address in (
        socket.inet_aton,
        ipaddress.ip_address,
    ):  # the first takes short forms such as 0
        with contextlib.suppress(OSError, ValueError):
            is_address(name)
            return False
    return True
