"""runner/port: the port of the service is free."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.text.messages import msg


@check(
    "runner/port",
    msg("Port {port} is free"),
    stage=RUNNER,
    why=msg("The service connects to port {port} and to no other."),
    rule=contract.LISTENS_ON_PORT,
)
def port(facts: RunnerFacts) -> Findings:
    """No other process may hold port {port} on this machine, on IPv4 or IPv6.

    To repair: stop the process that the message names. On a CI runner it is often the server of an earlier job; a
    job should end its servers.

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
    for holder in facts.host.port_holders:
        owner = holder.process
        seen = msg(
            "{owner} on {address}",
            owner=owner or msg("a process that this user may not see"),
            address=holder.address,
        )
        find = msg("find it as root (ss -ltnp 'sport = :{port}') and stop it", port=contract.PORT)
        fix = msg("stop it: kill {pid}", pid=owner.pid) if owner else find
        yield fail(expected=msg("port {port} free", port=contract.PORT), seen=seen, fix=fix)
