"""plan/port: the server listens on the service's port."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, check, fail
from healthcheck.plan import repairs
from healthcheck.plan.records import LaunchPlan, Origin, ServerCommand
from healthcheck.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.records import Finding, Stage


@check(
    "plan/port",
    f"The server listens on port {contract.PORT}",
    stage=Stage.PLAN,
    rule=contract.LISTENS_ON_PORT,
    why=f"The service connects to port {contract.PORT} and to no other.",
    requires=STARTED,
)
def port(plan: LaunchPlan) -> Findings:
    """The service connects to port {port}.

    The port is the one that the engine would really use: from the command line in any spelling, from a
    configuration file, or the engine's own default (vLLM 8000, SGLang 30000, llama.cpp 8080, LMDeploy 23333,
    MindIE 1025). VLLM_PORT is for vLLM's internal communication and does not set it.

    Repair: pass `--port {port}` (LMDeploy: `--server-port {port}`).

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --port 8080
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    server = served(plan)
    if server.port == contract.PORT:
        return
    if server.port is not None:
        yield _another_port(plan, server)
    elif server.port_source.kind in {Origin.OPTION, Origin.FILE}:
        yield _no_port(plan, server)
    else:
        yield unresolved(plan, f"port {contract.PORT}", f"the port ({server.port_source.text})")


def _no_port(plan: LaunchPlan, server: ServerCommand) -> Finding:
    source = server.port_source
    return fail(
        expected=f"port {contract.PORT}",
        seen=f"{source.text} is not a port: {server.command}",
        fix=repairs.port(server),
        where=source.where or line_of(plan, source.text.split()[0].split("=")[0]),
    )


def _another_port(plan: LaunchPlan, server: ServerCommand) -> Finding:
    source = server.port_source
    return fail(
        expected=f"port {contract.PORT}",
        seen=f"port {server.port} ({source.text}): {server.command}",
        fix=repairs.port(server),
        where=source.where or line_of(plan, source.text, str(server.port)),
        evidence={"port": server.port, "source": source.text},
    )
