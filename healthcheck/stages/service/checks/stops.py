"""service/stops: the server ends after SIGTERM."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.stages.service.records import Ended
from healthcheck.system.processes import shortened
from healthcheck.text.messages import joined, msg

SLOW_STOP_S = 20.0


@check(
    "service/stops",
    msg("The server ends after SIGTERM"),
    why=msg(
        "A job can be stopped while it runs; remaining processes block the NPUs and the port for the next job."
    ),
    requires=("service/port-free",),
)
def stops(ended: Ended) -> Findings:
    """After SIGTERM every process of the launch must end within reasonable time, and port {port} be free again.

    The kit sends SIGTERM to every process that deploy.sh started, waits, then sends SIGKILL. It also finds workers
    that left their process group or session. The service's own way of stopping is unknown, so a server that needs
    SIGKILL only warns.

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
        raise NotApplicable(msg("the server had already exited"))
    strangers = {
        listener.process for listener in ended.launch.foreign if not ended.launch.contained
    }
    holders = tuple(holder for holder in stopped.holders if holder.process not in strangers)
    if stopped.survivors or holders:
        port, owners = (
            ended.launch.port,
            (str(each.process or msg("an unseen process")) for each in holders),
        )
        held = (
            msg("port {port} is still held by {process}", port=port, process=owner)
            for owner in owners
        )
        left = [*map(str, stopped.survivors), *held]
        fix = msg(
            "let deploy.sh `exec` the server, and start nothing that leaves its session or user"
        )
        yield fail(
            expected=msg("no process left, and the port free"), seen=joined("; ", left), fix=fix
        )
    elif stopped.killed:
        names = ", ".join(sorted({name for _, name in stopped.killed}))
        expected = msg(
            "every process ends within {grace_s:.0f} s of SIGTERM", grace_s=stopped.grace_s
        )
        seen = msg(
            "SIGKILL was needed for {killed} of them: {names}",
            killed=len(stopped.killed),
            names=shortened(names),
        )
        fix = msg("let deploy.sh `exec` the server, and do not ignore SIGTERM")
        yield warn(expected=expected, seen=seen, fix=fix)
    elif stopped.seconds > SLOW_STOP_S:
        yield note(
            msg("the server took {seconds:.0f} s to end after SIGTERM", seconds=stopped.seconds)
        )
