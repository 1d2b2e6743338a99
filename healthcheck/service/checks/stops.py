"""service/stops: the server ends after SIGTERM."""

from __future__ import annotations

from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.processes import shortened
from healthcheck.records import Stage
from healthcheck.service.records import Ended, Stopped

SLOW_STOP_S = 20.0


@check(
    "service/stops",
    "The server ends after SIGTERM",
    stage=Stage.SERVICE,
    why="A job can be stopped while it runs; remaining processes block the NPUs and the port for the next job.",
    requires=("service/port-free",),
)
def stops(ended: Ended) -> Findings:
    """After SIGTERM every process of the launch must end within reasonable time, and port {port} be free again.

    The kit sends SIGTERM to every process that deploy.sh started, waits, then sends SIGKILL. It also finds workers
    that left their process group or session. The service's own way of stopping is unknown, so a server that needs
    SIGKILL only warns. On NPUs, npu-smi must report the launch's memory as free within seconds of its last process;
    otherwise the check warns.

    To repair: end deploy.sh with `exec vllm serve …`, so that the signal reaches the server; do not trap or ignore
    SIGTERM; do not start helpers that outlive the server.

    Example:
    ```sh deploy.sh
    trap '' TERM
    until vllm serve "$MODEL_PATH" --port {port}; do sleep 5; done
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    stopped = ended.stopped
    if not stopped.before.running and not stopped.survivors:
        raise NotApplicable("the server had already exited")
    strangers = {listener.process for listener in ended.launch.foreign if not ended.launch.contained}
    holders = tuple(holder for holder in stopped.holders if holder.process not in strangers)
    if stopped.survivors or holders:
        left = [str(process) for process in stopped.survivors] + [
            f"port {ended.launch.port} is still held by {holder.process or 'an unseen process'}"
            for holder in holders
        ]
        yield fail(
            expected="no process left, and the port free",
            seen="; ".join(left),
            fix="let deploy.sh `exec` the server, and start nothing that leaves its session or user",
        )
    elif stopped.killed:
        names = ", ".join(sorted({name for _, name in stopped.killed}))
        yield warn(
            expected=f"every process ends within {stopped.grace_s:.0f} s of SIGTERM",
            seen=f"SIGKILL was needed for {len(stopped.killed)} of them: {shortened(names)}",
            fix="let deploy.sh `exec` the server, and do not ignore SIGTERM",
        )
    elif stopped.seconds > SLOW_STOP_S:
        yield note(f"the server took {stopped.seconds:.0f} s to end after SIGTERM")
    yield from _kept(stopped)


def _kept(stopped: Stopped) -> Findings:
    """NPU memory that is still in use: a warning, since another process may have taken it."""
    for kept in stopped.memory_kept:
        holders = (
            ", held by " + ", ".join(kept.chip.holders[:4]) if kept.chip.holders else ", and no process is named"
        )
        yield warn(
            expected=f"the memory of {kept.chip.chip} free once every process has ended",
            seen=f"{_gib(kept.chip.used_bytes)} in use {stopped.memory_waited_s:.0f} s after the end, "
            f"{_gib(kept.before_bytes)} before the launch{holders} (npu-smi info)",
            fix="let deploy.sh start the server itself, not through a daemon or container; to free memory that no "
            "process holds, reset the chip (npu-smi set -t reset)",
            evidence={
                "chip": kept.chip.chip,
                "before_bytes": kept.before_bytes,
                "after_bytes": kept.chip.used_bytes,
                "holders": list(kept.chip.holders),
            },
        )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
