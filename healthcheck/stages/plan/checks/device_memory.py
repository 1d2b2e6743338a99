"""plan/device-memory: servers do not over-commit a device."""

from __future__ import annotations

import math
from dataclasses import dataclass

from healthcheck.core.check import Findings, check, fail
from healthcheck.engines.vllm import DEFAULT_SHARE
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import trace
from healthcheck.stages.plan.script.unexported import unexported
from healthcheck.stages.plan.servers.served import STARTED
from healthcheck.text.messages import joined, msg

DEVICES = "ASCEND_RT_VISIBLE_DEVICES"
_ROUNDING = 1e-6
_SIZE_OPTIONS = ("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size")
_PLACED_OTHERWISE = (
    "data-parallel-rank", "data-parallel-start-rank", "node-rank", "headless", "kv-cache-memory-bytes",
    "enable-sleep-mode",
)  # fmt: skip
"""Options with which a server uses other devices, or less than its share."""
_MAX_DEVICES = 64
_QUOTED_WORDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A server, and the share of a device's memory that it reserves."""

    server: ServerCommand
    share: float


@check(
    "plan/device-memory",
    msg("Servers do not over-commit the memory of a device"),
    why=msg(
        "vLLM reserves its share of a device's memory at the start: the later server finds too little."
    ),
    requires=STARTED,
)
def device_memory(plan: LaunchPlan) -> Findings:
    """Several vLLM servers on one device fail if their --gpu-memory-utilization (0.9 or more by default) is above
    1 together.

    A server uses the first devices of ASCEND_RT_VISIBLE_DEVICES, as many as its parallel sizes multiply to. Servers
    with different devices do not share memory.

    If deploy.sh assigns ASCEND_RT_VISIBLE_DEVICES and does not export it, all servers get the first devices.

    Repair: give each server its own devices, or lower --gpu-memory-utilization.

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
    found = over_committed(plan)
    if found is None:
        return
    device, requests = found
    seen = msg(
        "{count} servers on device {device} request {total:g} of its memory: {listed}; the later one ends "
        "with “Free memory on device … is less than desired GPU memory utilization”",
        count=len(requests),
        device=device,
        total=sum(request.share for request in requests),
        listed=joined(" and ", (_described(request) for request in requests)),
    )
    cause = unexported(plan, [request.server for request in requests], DEVICES)
    yield fail(
        expected=msg("servers that do not over-commit a device: at most 1 of its memory together"),
        seen=msg("{cause}; {seen}", cause=cause.seen, seen=seen) if cause else seen,
        fix="" if cause else _own_devices(plan, requests),
        where=cause.where if cause else requests[-1].server.where,
        edits=cause.edits if cause else (),
    )


def over_committed(plan: LaunchPlan) -> tuple[str, list[_Request]] | None:
    """The first device whose servers request more than its memory, with their requests; None without one."""
    for device, requests in _requests(plan).items():
        total = sum(request.share for request in requests)
        if len(requests) > 1 and total > 1 + _ROUNDING:
            return device, requests
    return None


def _own_devices(plan: LaunchPlan, requests: list[_Request]) -> str:
    """The repair: smaller shares, or other devices for each server, as many as it uses."""
    ranges, first = list[str](), 0
    for request in requests:
        end = first + len(_devices(plan, request.server))
        ranges.append(f"{DEVICES}={','.join(map(str, range(first, end)))}")
        first = end
    return msg(
        "pass --gpu-memory-utilization {share:g} to each of them; or start only one; or give each its own devices, "
        "in this order: {ranges}",
        share=_equal_share(len(requests)),
        ranges="; ".join(ranges),
    )


def _requests(plan: LaunchPlan) -> dict[str, list[_Request]]:
    """The known requests for memory, by device."""
    found: dict[str, list[_Request]] = {}
    for server in plan.servers:
        share = _share(server)
        if share is not None:
            for device in _devices(plan, server):
                found.setdefault(device, []).append(_Request(server=server, share=share))
    return found


def _described(request: _Request) -> str:
    return msg(
        "{share:g} by {command} …",
        share=request.share,
        command=command_text(request.server.argv[:_QUOTED_WORDS]),
    )


def _equal_share(servers: int) -> float:
    """The share of each server that leaves a tenth of the device free, in steps of 0.05."""
    return math.floor(DEFAULT_SHARE / servers * 20) / 20 or 0.01


def _share(server: ServerCommand) -> float | None:
    """The share of the server in the memory of each of its devices; None if unknown or if the server ended."""
    ray = server.option("distributed-executor-backend") == "ray"
    ranked = any(name.startswith("VLLM_DP_") for name in server.env)
    otherwise = ray or ranked or any(server.option(name) is not None for name in _PLACED_OTHERWISE)
    options = server.engine.memory.share_options if server.engine.memory else ()
    if not options or not server.foreground or server.unread_config or otherwise:
        return None
    given = next((text for name in options if (text := server.option(name)) is not None), None)
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
    sizes.append(
        server.option("data-parallel-size-local") or server.option("data-parallel-size") or "1"
    )
    if not all(size.isascii() and size.isdigit() and len(size) < 4 for size in sizes):
        return ()
    count = math.prod(map(int, sizes))
    visible = server.env.get(DEVICES)
    if visible is None:
        return tuple(map(str, range(min(count, _MAX_DEVICES))))
    named = [device.strip() for device in visible.split(",")]
    known = all(device.isdigit() for device in named) and not trace.asked_for_devices(plan)
    return tuple(named[:count]) if known else ()
