"""plan/device-memory: servers do not over-commit a device."""

from __future__ import annotations

import math

from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import trace
from healthcheck.stages.plan.servers.served import STARTED
from healthcheck.text.messages import joined, msg

DEFAULT_SHARE = 0.9
"""vLLM's default for gpu-memory-utilization before 0.23; 0.92 since (source: its argument parser)."""
_ROUNDING = 1e-6
_SHARE_OPTIONS = ("gpu-memory-utilization", "device-memory-utilization")
_SIZE_OPTIONS = ("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size")
_PLACED_OTHERWISE = (
    "data-parallel-rank", "data-parallel-start-rank", "node-rank", "headless", "kv-cache-memory-bytes",
    "enable-sleep-mode",
)  # fmt: skip
"""Options with which a server uses other devices, or less than its share."""
_MAX_DEVICES = 64


@check(
    "plan/device-memory",
    "Servers do not over-commit the memory of a device",
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
    wanted: dict[str, list[tuple[float, ServerCommand]]] = {}
    for server in plan.servers:
        share = _share(server)
        for device in _devices(plan, server) if share else ():
            wanted.setdefault(device, []).append((share or 0, server))
    for device, shares in wanted.items():
        total = sum(share for share, _ in shares)
        if len(shares) > 1 and total > 1 + _ROUNDING:
            said = ((share, command_text(server.argv[:6])) for share, server in shares)
            parts = joined(" and ", (msg("{share:g} by {command_text} …", *each) for each in said))
            expected = msg("servers that do not over-commit a device: at most 1 of its memory together")
            asked = (len(shares), device, total, parts)
            seen = msg(
                "{shares} servers on device {device} request {total:g} of its memory: {parts}; the later one "
                "ends with “Free memory on device … is less than desired GPU memory utilization”",
                *asked,
            )
            fix = msg(
                "start one of them, set another ASCEND_RT_VISIBLE_DEVICES for each, "
                "or lower --gpu-memory-utilization"
            )
            yield fail(expected=expected, seen=seen, fix=fix, where=shares[-1][1].where)
            return


def _share(server: ServerCommand) -> float | None:
    """The share of the server in the memory of each of its devices; None if unknown or if the server ended."""
    ray = server.option("distributed-executor-backend") == "ray"
    ranked = any(name.startswith("VLLM_DP_") for name in server.env)
    otherwise = ray or ranked or any(server.option(name) is not None for name in _PLACED_OTHERWISE)
    if server.engine != "vllm" or not server.foreground or server.unread_config or otherwise:
        return None
    given = next((text for name in _SHARE_OPTIONS if (text := server.option(name)) is not None), None)
    try:
        share = DEFAULT_SHARE if given is None else float(given)
    except ValueError:
        return None
    return share if math.isfinite(share) and 0 < share <= 1 else None


def _devices(plan: LaunchPlan, server: ServerCommand) -> tuple[str, ...]:
    """The devices of the server, by default the first ones; empty if unknown.

    A list that the script derives from the devices of this machine is different at the service.
    """
    sizes = [server.option(name) or "1" for name in _SIZE_OPTIONS]
    sizes.append(server.option("data-parallel-size-local") or server.option("data-parallel-size") or "1")
    if not all(size.isascii() and size.isdigit() and len(size) < 4 for size in sizes):
        return ()
    count = math.prod(map(int, sizes))
    visible = server.env.get("ASCEND_RT_VISIBLE_DEVICES")
    if visible is None:
        return tuple(map(str, range(min(count, _MAX_DEVICES))))
    named = [device.strip() for device in visible.split(",")]
    known = all(device.isdigit() for device in named) and not trace.asked_for_devices(plan)
    return tuple(named[:count]) if known else ()
