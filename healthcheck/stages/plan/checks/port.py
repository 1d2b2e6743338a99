"""plan/port: the server listens on the service's port."""

from __future__ import annotations

import re

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail
from healthcheck.stages.plan import lost_values, repairs
from healthcheck.stages.plan.records import LaunchPlan, Origin
from healthcheck.stages.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.text.messages import msg

_OF_YAML = re.compile(r"\.ya?ml:\d+$")
"""A line of a configuration file in YAML, where an option of the command line would be an error."""


@check(
    "plan/port",
    msg("The server listens on port {port}"),
    rule=contract.LISTENS_ON_PORT,
    why=msg("The service connects to port {port} and to no other."),
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
    lost = next(
        (each for each in lost_values.lost_values(plan) if source.text.startswith(each.flag)), None
    )
    if not server.port and lost and lost.check != "plan/flags":
        raise NotApplicable(
            msg("{check} says why {flag} has no value", check=lost.check, flag=lost.flag)
        )
    if server.port is None and server.front is not None and server.front.problem:
        raise NotApplicable(msg("see plan/front: {problem}", problem=server.front.problem))
    if server.port is None and source.kind not in {Origin.OPTION, Origin.FILE}:
        yield unresolved(
            plan, msg("port {port}", port=contract.PORT), msg("the port ({text})", text=source.text)
        )
        return
    other, needles = (
        msg("port {port} ({text})", port=server.port, text=source.text),
        [source.text, str(server.port)],
    )
    if server.port is None:
        other, needles = (
            msg("{text} is not a port", text=source.text),
            [source.text.split()[0].split("=")[0]],
        )
    expected, seen = (
        msg("port {port}", port=contract.PORT),
        msg("{seen}: {quoted}", seen=other, quoted=server.command),
    )
    where = source.where or line_of(plan, *needles)
    edits = () if source.where else repairs.port_edits(plan, server)
    fix = "" if edits else repairs.port_repair(server)
    if _OF_YAML.search(where):
        fix = msg("write there: {line}", line=f"port: {contract.PORT}")
    yield fail(expected=expected, seen=seen, fix=fix, where=where, edits=edits)
