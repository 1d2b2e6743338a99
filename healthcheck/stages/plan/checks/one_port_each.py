"""plan/one-port-each: each server uses its own port."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, unsettled, warn
from healthcheck.engines.base import Api
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.servers.served import STARTED
from healthcheck.text.messages import joined, msg


@check(
    "plan/one-port-each",
    msg("No two servers use the same port"),
    why=msg(
        "The second server on a port ends with an error, and which one is the second depends on timing."
    ),
    requires=STARTED,
)
def one_port_each(plan: LaunchPlan) -> Findings:
    """Two servers that run at the same time need two ports.

    Of two servers on one port the second ends with "address already in use". Where both serve chat, whichever stays
    can answer: a warning. Where one does not, such as a page that says that the model loads, it may be the one that
    stays: inconclusive. Repair: start one of them, or give the one that the service does not talk to another port.

    Example:
    ```sh
    vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.4 &
    vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.4 &
    wait
    ```

    Use instead:

    ```sh
    vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.4 &
    vllm serve "$MODEL_PATH" --port 8001 --gpu-memory-utilization 0.4 &
    wait
    ```
    """
    running = [
        server for server in plan.servers if server.foreground and server.api is not Api.HEADLESS
    ]
    ports = [server.port for server in running if server.port is not None]
    for number in sorted({number for number in ports if ports.count(number) > 1}):
        sharing = [server for server in running if server.port == number]
        commands = joined("; ", (server.command for server in sharing))
        found = warn if {server.api for server in sharing} == {Api.OPENAI_CHAT} else unsettled
        yield found(
            expected=msg("one server on port {number}", number=number),
            seen=commands,
            fix=msg("start one of them"),
        )
