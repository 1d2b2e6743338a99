"""service/starts: deploy.sh starts a server that answers."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, check, fail, note, warn
from healthcheck.stages.service.failures import describe_exit, explain, place
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.text.messages import msg


@check(
    "service/starts",
    msg("deploy.sh starts a server that answers"),
    why=msg(
        "The service runs deploy.sh, then sends requests to {chat_path} on port {port}; without an answer the job "
        "fails."
    ),
    rule=contract.STARTS_THE_SERVICE,
    requires=("service/port-free",),
)
def starts(launch: Launch) -> Findings:
    """deploy.sh must start a server that answers a streamed chat on port {port}.

    The kit runs deploy.sh in a clean export of the commit, with the shell that its first line names (bash if it
    names none), without a terminal, with MODEL_PATH and few other variables. The server is ready at the first
    correct streamed completion: an open port, /health and /v1/models can answer before the model works. The
    server must be a process that deploy.sh started.

    The service's deadline is unknown; the kit waits 30 minutes by default. If the service's profile says how long a
    start may take, that is the deadline.

    It gives up earlier if waiting is pointless: no process has produced output, CPU time or I/O for 10 minutes, or
    for 3 while an accepted request waits for its answer. A server that loads, compiles or captures graphs does not
    count as idle. A refusal (such as HTTP 400) is final after 30 seconds if the server lists its model. An HTTP
    500, an empty list, or another port in the log may come from a gateway in front of a loading model; the kit
    waits while processes are working.

    The message names the failure: an exit (with its status or signal), a script that ended and left a process in
    the background, a restart loop, a server on another port, a server that accepts connections and never answers,
    or one that does not answer with a chat completion. If the last error of the log shows a known failure, the
    message gives its cause and fix; if several may be the cause, all of them; otherwise what the last error says.

    If no server starts, and the last error is that this machine lacks software of the service's image (vllm,
    torch_npu, vllm_ascend, CANN, an NPU), the verdict is inconclusive: verify up to the weights here, and launch on
    a machine that has it. If deploy.sh continues after such an error and then fails with another, or serves on
    another port or wrongly, the check fails. The verdict is inconclusive, too, if a signal told the server to stop
    (SIGTERM, as its log or the exit status of deploy.sh says): who sent it is unknown.

    To repair: read the quoted lines, or the whole log; `npu-adapter diagnose LOGFILE` reads any other log. Quoted
    lines contain no tokens, keys and passwords. The log itself is not redacted, so review it before you share it.

    Example:
    ```sh deploy.sh
    vllm serve "$MODEL_PATH" --port {port} &
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    if launch.outcome is LaunchOutcome.READY:
        yield from _remarks(launch)
        return
    yield explain(launch)
    if launch.withheld:
        kept = msg(
            "deploy.sh was not given these variables of your shell, as the service does not have them: "
        )
        yield note(kept + ", ".join(launch.withheld))


def _remarks(launch: Launch) -> Findings:
    """Remarks about a launch that became ready."""
    limit, ready_s, command = (
        contract.service().start_up_seconds,
        launch.ready_s or 0,
        " ".join(launch.command),
    )
    if limit:
        yield note(
            msg(
                "ready after {ready_s:.0f} s, run by `{command}`, log in {log}",
                ready_s=ready_s,
                command=command,
                log=launch.log,
            )
        )
    else:
        yield note(
            msg(
                "ready after {ready_s:.0f} s (the service's limit is unknown), run by `{command}`, log in {log}",
                ready_s=ready_s,
                command=command,
                log=launch.log,
            )
        )
    if limit and ready_s > limit:
        expected = msg("an answer within {limit} s", limit=limit)
        seen = msg("the first one came after {ready_s:.0f} s", ready_s=ready_s)
        fix = msg(
            "have deploy.sh do less before the server starts, and the server less before it answers"
        )
        yield fail(expected=expected, seen=seen, fix=fix, rule=contract.START_UP)
    if launch.exit_status is not None:
        ended = describe_exit(launch.exit_status)
        seen = msg("deploy.sh ended ({exit}) and left the server in the background", exit=ended)
        fix = msg(
            "end deploy.sh in `exec vllm serve …`, without `&` and without nohup: if deploy.sh is the main "
            "process of a container, the server dies with it"
        )
        expected = msg(
            "deploy.sh stays while the server runs (what the service does if it ends is unknown)"
        )
        yield At(contract.ENTRY_POINT).unsettled(expected=expected, seen=seen, fix=fix)
    if launch.listeners and all(listener.loopback for listener in launch.listeners):
        expected = msg("the server listens on every address (0.0.0.0)")
        seen = msg(
            "it listens only on {place}, which other machines cannot reach; whether the service's client runs "
            "on the same machine is unknown",
            place=place(launch.listeners[0]),
        )
        yield warn(expected=expected, seen=seen, fix=msg("pass --host 0.0.0.0"))
    if launch.listeners and not any(listener.process for listener in launch.listeners):
        expected = msg("a visible process that listens on port {port}", port=launch.port)
        seen = msg("its owner is hidden from this user, so deploy.sh may not have started it")
        fix = msg("run the kit as the user that deploy.sh's server runs as, or as root")
        yield warn(expected=expected, seen=seen, fix=fix)
