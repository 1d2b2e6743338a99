"""plan/device-memory: servers do not over-commit a device."""

from __future__ import annotations

from healthcheck.check import Findings, check
from healthcheck.plan.device_memory import overcommitted
from healthcheck.plan.records import LaunchPlan
from healthcheck.plan.servers.served import STARTED
from healthcheck.records import Stage


@check(
    "plan/device-memory",
    "Servers do not over-commit the memory of a device",
    stage=Stage.PLAN,
    why="vLLM reserves its share of a device's memory at the start: the later server finds too little.",
    requires=STARTED,
)
def device_memory(plan: LaunchPlan) -> Findings:
    """Several vLLM servers on one device fail if their --gpu-memory-utilization (0.9 or more by default) is above
    1 together.

    Example:
    ```sh
    vllm serve "$MODEL_PATH" --port {port} &
    vllm serve "$MODEL_PATH" --port 8001 &
    wait
    ```

    Use instead:

    ```sh
    vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.45 &
    vllm serve "$MODEL_PATH" --port 8001 --gpu-memory-utilization 0.45 &
    wait
    ```
    """
    if finding := overcommitted(plan):
        yield finding
