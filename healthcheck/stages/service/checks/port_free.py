"""service/port-free: nothing else uses the service's port."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, unsettled
from healthcheck.stages.service.failures import place
from healthcheck.stages.service.records import PortFacts
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg


@check(
    "service/port-free",
    msg("Nothing else uses port {port}"),
    why=msg(
        "With another server on the port, the kit would measure that server, or the launch would fail through no "
        "fault of the submission."
    ),
    rule=contract.LISTENS_ON_PORT,
)
def port_free(facts: PortFacts) -> Findings:
    """Before the launch, no process may hold port {port}, on IPv4 or IPv6, on any address.

    The service starts deploy.sh on a separate machine, where the port is free. If another process holds it here,
    the kit does not launch, because that process might answer instead. This is not a fault of the submission, so
    the verdict is inconclusive.

    Connections in TIME_WAIT do not count: a server can bind to the port all the same.

    To repair: stop the process that the message names (most often a server of an earlier run), or run the kit in a
    separate container or network namespace.

    Example:
    ```console
    $ ss -ltnp 'sport = :{port}'
    State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process
    LISTEN 0      2048         0.0.0.0:{port}      0.0.0.0:*     users:(("vllm",pid=42,fd=14))
    ```

    Use instead:

    ```console
    $ kill 42
    $ ss -ltnp 'sport = :{port}'
    State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process
    ```
    """
    for holder in _distinct(facts.holders):
        verb = msg("listens on") if holder.listening else msg("holds")
        owner = holder.process
        expected = msg("port {port} free", port=facts.port)
        seen = msg("{owner} {verb} {address}", owner=holder.owner, verb=verb, address=place(holder))
        find = msg(
            "find it as root (ss -ltnp 'sport = :{port}'), stop it and run again", port=facts.port
        )
        fix = msg("stop it (kill {pid}) and run again", pid=owner.pid) if owner else find
        yield unsettled(expected=expected, seen=seen, fix=fix)


def _distinct(holders: tuple[Listener, ...]) -> tuple[Listener, ...]:
    """One entry per process: a server that listens on IPv4 and IPv6 is one obstacle."""
    by_owner = {holder.process.pid if holder.process else 0: holder for holder in reversed(holders)}
    return tuple(reversed(by_owner.values()))
