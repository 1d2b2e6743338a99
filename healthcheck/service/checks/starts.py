"""service/starts: deploy.sh starts a server that answers."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, check, fail, note, warn
from healthcheck.records import Stage
from healthcheck.service.failures import describe_exit, explain, place
from healthcheck.service.records import Launch, LaunchOutcome


@check(
    "service/starts",
    "deploy.sh starts a server that answers",
    stage=Stage.SERVICE,
    why=f"The service runs deploy.sh, then asks {contract.CHAT_PATH} on port {contract.PORT}; "
    "without an answer the job fails.",
    rule=contract.STARTS_THE_SERVICE,
    requires=("service/port-free",),
)
def starts(launch: Launch) -> Findings:
    """deploy.sh must bring up a server that answers a streamed chat on port {port}.

    It is run from a clean export of what is committed, in the export's folder, with the shell that its first line
    names, without a terminal, with MODEL_PATH and few other variables. The start counts as done at the first
    correct streamed completion: an open port, /health and /v1/models answer before a model works. The server must
    belong to what deploy.sh started.

    How long the service waits is unknown; the kit waits 30 minutes unless told otherwise.

    It is given up earlier where waiting is pointless: nothing has moved (no output, no CPU time, no I/O of any of
    its processes) for 10 minutes, or for 3 while a request that was taken waits for its answer. A server that
    loads, compiles or captures graphs is never taken for a silent one. A refusal (HTTP 400, say) is final after
    30 seconds where the server lists its model; an HTTP 500, an empty list, or another port that the log announces
    may come of a gateway in front of a model that loads, and is waited on while processes are at work.

    A failed start is named for what it is: an exit (with its status or signal), a script that ended and left a
    process in the background, a restart loop, a server on another port, one that accepts connections and never
    answers, one that answers something else than a chat. Where the log shows a known failure, its cause and fix are
    given; otherwise the last error block is.

    Where no server comes, and the last error is the want of what the service's image brings and this machine lacks
    (vllm, torch_npu, vllm_ascend, CANN, an NPU), that says nothing about the submission, and the verdict is
    inconclusive: verify up to the weights here, and launch where that software is. Where deploy.sh gets past such
    an error and then fails of another, or serves elsewhere or wrongly, it fails.

    To repair: read the lines that are quoted, or the whole log at the path that is given;
    `npu-adapter diagnose LOGFILE` reads any other log. What is quoted has no tokens, keys and passwords in it; the
    log itself is left as it came, so look through it before you pass it on.
    """
    if launch.outcome is LaunchOutcome.READY:
        yield from _remarks(launch)
    else:
        yield explain(launch)
    if launch.outcome is not LaunchOutcome.READY and launch.withheld:
        yield note(
            "deploy.sh was not given these variables of your shell, as the service does not have them: "
            + ", ".join(launch.withheld)
        )


def _remarks(launch: Launch) -> Findings:
    """What is worth saying of a launch that became ready."""
    yield note(
        f"ready after {launch.ready_s or 0:.0f} s (the service's limit is unknown), run by "
        f"`{' '.join(launch.command)}`, log in {launch.log}"
    )
    if launch.exit_status is not None:
        yield fail(
            expected="deploy.sh runs as long as the server does",
            seen=f"deploy.sh ended ({describe_exit(launch.exit_status)}) and left the server in the background",
            fix="end deploy.sh in `exec vllm serve …`, without `&` and without nohup: where deploy.sh is the main "
            "process of a container, the server dies with it",
            where=contract.ENTRY_POINT,
        )
    if launch.listeners and all(listener.loopback for listener in launch.listeners):
        yield warn(
            expected="the server listens on every address (0.0.0.0)",
            seen=f"it listens on {place(launch.listeners[0])} only, which other machines cannot reach; where the "
            "service's client runs is unknown",
            fix="pass --host 0.0.0.0",
        )
    if launch.listeners and not any(listener.process for listener in launch.listeners):
        yield warn(
            expected=f"the process that listens on port {launch.port} can be seen",
            seen="its owner is hidden from this user, so it may be none of deploy.sh's",
            fix="run the kit as the user that deploy.sh's server runs as, or as root",
        )
