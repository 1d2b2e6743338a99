"""The checks of the service stage: the port before the launch, the start, and how the service ends."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.processes import Listener, shortened
from healthcheck.records import Stage
from healthcheck.service.failures import describe_exit, explain, place
from healthcheck.service.records import Ended, Launch, LaunchOutcome, PortFacts, Stopped

SLOW_STOP_S = 20.0


@check(
    "service/port-free",
    "Nothing else uses port 8000",
    stage=Stage.SERVICE,
    why="With another server on the port, the kit would measure that one, or the launch would fail for no fault of "
    "the submission.",
    rule=contract.LISTENS_ON_PORT,
)
def port_free(facts: PortFacts) -> Findings:
    """Before the launch, nobody may hold port 8000, on IPv4 or IPv6, on any address.

    The service starts deploy.sh on a machine of its own, where the port is free. If another process has it here, no
    launch is tried: the answer would be about that process. This is no fault of the submission, so the verdict is
    inconclusive, not not-ready.

    Connections in TIME_WAIT do not count: a server may bind beside them.

    To repair: stop the process that the message names (a server left from an earlier try, most often), or run the
    kit in a container or network namespace of its own.
    """
    for holder in _distinct(facts.holders):
        verb = "listens on" if holder.listening else "holds"
        owner = holder.process
        yield unsettled(
            expected=f"port {facts.port} free",
            seen=f"{holder.owner} {verb} {place(holder)}",
            fix=f"stop it (kill {owner.pid}) and run again"
            if owner
            else f"find it as root (ss -ltnp 'sport = :{facts.port}'), stop it and run again",
            evidence={"pid": owner.pid, "command": owner.command, "user": owner.user} if owner else {},
        )


@check(
    "service/starts",
    "deploy.sh starts a server that answers",
    stage=Stage.SERVICE,
    why="The service runs deploy.sh, then asks /v1/chat/completions on port 8000; without an answer the job fails.",
    rule=contract.STARTS_THE_SERVICE,
    requires=("service/port-free",),
)
def starts(launch: Launch) -> Findings:
    """deploy.sh must bring up a server that answers a streamed chat on port 8000.

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


@check(
    "service/stays-up",
    "The server that became ready is still the one that answers",
    stage=Stage.SERVICE,
    why="An evaluation takes hours; a server that dies or restarts meanwhile loses answers.",
    rule=contract.STARTS_THE_SERVICE,
    requires=("service/starts",),
)
def stays_up(ended: Ended) -> Findings:
    """From the first answer until the end of the probe, the same processes must serve.

    A server that dies under load fails the job. One that a loop in deploy.sh starts again loses every request that
    was under way, and takes minutes to load.

    To repair: read the cause that the log gives; most often memory (lower --max-model-len, --max-num-seqs or
    --gpu-memory-utilization), or an operator that fails on the first long prompt.
    """
    before = ended.stopped.before
    if ended.launch.outcome is not LaunchOutcome.READY:
        raise NotApplicable("the service never became ready")
    if before.running and not before.gone and before.listeners:
        yield from _left_alone(ended)
        return
    if before.restarted:
        seen = "the server died and was started again: " + "; ".join(str(process) for process in before.gone[:3])
    elif not before.running:
        seen = f"every process of the launch is gone ({describe_exit(before.exit_status)})"
    elif before.gone:
        seen = "gone: " + "; ".join(str(process) for process in before.gone[:3])
    else:
        seen = f"nobody listens on port {ended.launch.port} any more"
    cause = ended.diagnosis.cause if ended.diagnosis else None
    block = ended.diagnosis.block if ended.diagnosis else ()
    said = "\n".join(
        f"  {ended.launch.log.name}:{line.number}: {line.text}" for line in (cause.lines if cause else block[-8:])
    )
    yield fail(
        expected="the server that became ready answers until the end",
        seen=seen + (f"\n{said}" if said else ""),
        fix=cause.failure.fix if cause else f"read the end of {ended.launch.log}",
        where=str(ended.launch.log),
    )


@check(
    "service/stops",
    "The service ends when it is asked to",
    stage=Stage.SERVICE,
    why="A job can be stopped while it runs; what stays behind keeps the NPUs and the port from the next one.",
    requires=("service/port-free",),
)
def stops(ended: Ended) -> Findings:
    """After SIGTERM every process of the launch must end within reasonable time, and port 8000 be free again.

    The kit sends SIGTERM to every process that deploy.sh started, waits, then sends SIGKILL. Workers that left
    their process group or session are found all the same. The service's own way of stopping is unknown, so a server
    that needs SIGKILL is a warning. Where there are NPUs, the memory of those that the launch took must come back
    within seconds of its last process, as npu-smi tells it; where not, that is a warning too.

    To repair: end deploy.sh in `exec vllm serve …`, so that the signal reaches the server; do not trap or ignore
    SIGTERM; do not start helpers that outlive it.
    """
    stopped = ended.stopped
    if not stopped.before.running and not stopped.survivors:
        raise NotApplicable("it had ended before it was asked to")
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
            fix="let deploy.sh `exec` the server, and let nothing in it ignore SIGTERM",
        )
    elif stopped.seconds > SLOW_STOP_S:
        yield note(f"it took {stopped.seconds:.0f} s to end after SIGTERM")
    yield from _kept(stopped)


def _kept(stopped: Stopped) -> Findings:
    """Memory of an NPU that is still taken; no rule of the service speaks of it, and another may have taken it."""
    for kept in stopped.memory_kept:
        holders = (
            ", held by " + ", ".join(kept.chip.holders[:4]) if kept.chip.holders else ", and no process is named"
        )
        yield warn(
            expected=f"the memory of {kept.chip.chip} given back once every process has ended",
            seen=f"{_gib(kept.chip.used_bytes)} in use {stopped.memory_waited_s:.0f} s after the end, "
            f"{_gib(kept.before_bytes)} before the launch{holders} (npu-smi info)",
            fix="let deploy.sh start the server itself, through no daemon or container; memory that nobody holds "
            "comes back with a reset of the chip (npu-smi set -t reset)",
            evidence={
                "chip": kept.chip.chip,
                "before_bytes": kept.before_bytes,
                "after_bytes": kept.chip.used_bytes,
                "holders": list(kept.chip.holders),
            },
        )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"


def _left_alone(ended: Ended) -> Findings:
    """deploy.sh ended after the first answer, and its server goes on."""
    status = ended.stopped.before.exit_status
    if status is None or ended.launch.exit_status is not None:
        return
    yield fail(
        expected="deploy.sh runs as long as the server does",
        seen=f"deploy.sh ended after the first answer ({describe_exit(status)}), and its server went on without it",
        fix="end deploy.sh in `exec vllm serve …`, without `&`",
        where=contract.ENTRY_POINT,
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


def _distinct(holders: tuple[Listener, ...]) -> tuple[Listener, ...]:
    """One entry a process: a server that listens on IPv4 and IPv6 is one obstacle."""
    by_owner = {holder.process.pid if holder.process else 0: holder for holder in reversed(holders)}
    return tuple(reversed(by_owner.values()))


PORT_CHECKS = (port_free,)
START_CHECKS = (starts,)
END_CHECKS = (stays_up, stops)
