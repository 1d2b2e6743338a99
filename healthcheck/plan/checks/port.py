"""plan/port: the server listens on the service's port."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, check, fail
from healthcheck.plan import repairs
from healthcheck.plan.records import LaunchPlan, Origin
from healthcheck.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.records import Stage


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
    source = server.port_source
    if server.port == contract.PORT:
        return
    if server.port is None and source.kind not in {Origin.OPTION, Origin.FILE}:
        yield unresolved(plan, f"port {contract.PORT}", f"the port ({source.text})")
        return
    if server.port is None:
        seen, needles = f"{source.text} is not a port", [source.text.split()[0].split("=")[0]]
    else:
        seen, needles = f"port {server.port} ({source.text})", [source.text, str(server.port)]
    yield fail(
        expected=f"port {contract.PORT}",
        seen=f"{seen}: {server.quoted}",
        fix=repairs.port(server),
        where=source.where or line_of(plan, *needles),
        evidence={"port": server.port, "source": source.text},
    )
