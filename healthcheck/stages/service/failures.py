"""Findings for a launch that did not become ready: the symptom, the cause, and the repair."""

from __future__ import annotations

import signal
from collections.abc import Callable

from healthcheck import contract
from healthcheck.core.check import At, unsettled
from healthcheck.core.records import Finding
from healthcheck.stages.service import provided
from healthcheck.stages.service.blocks import Line
from healthcheck.stages.service.diagnosis import Diagnosis
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.stages.service.repairs import Setup, repair
from healthcheck.system.processes import Listener, shortened
from healthcheck.text.messages import joined, message, msg

SHOWN_LINES = 12
LINE_CHARACTERS = 300
_NOT_ITS_OWN = {LaunchOutcome.PORT_TAKEN, LaunchOutcome.INTERRUPTED}
_BY_TIMEOUT = 124
"""The exit status of `timeout`, which deploy.sh itself runs."""


def explain(launch: Launch) -> Finding:
    """The finding for a launch that is not ready."""
    expected = msg(
        "a streamed answer from {chat_path} on port {port}",
        chat_path=contract.CHAT_PATH,
        port=launch.port,
    )
    seen, fix = _WORDS[launch.outcome](launch)
    quoted = launch.diagnosis.telling[-SHOWN_LINES:]
    if launch.not_here:
        seen += msg(
            ". This machine has {not_here}; the service's image has it, so that this failure says "
            "nothing about the submission{quote}",
            not_here=joined(", ", launch.not_here),
            quote=_quote(launch, quoted),
        )
        instead = contract.stated(provided.INSTEAD)
        return unsettled(expected=expected, seen=seen, fix=instead, evidence=_evidence(launch))
    said, repairs = _diagnosed(launch.diagnosis, launch.setup)
    seen, fix = seen + said + _quote(launch, quoted), repairs or fix
    if launch.outcome in _NOT_ITS_OWN or _lost_the_port(launch) or _was_stopped(launch):
        return unsettled(expected=expected, seen=seen, fix=fix)
    rule = contract.LISTENS_ON_PORT if launch.outcome is LaunchOutcome.OTHER_PORT else None
    if (
        launch.outcome is LaunchOutcome.TIMED_OUT
        and launch.deadline_s == contract.service().start_up_seconds
    ):
        rule = contract.START_UP
    return At(str(launch.log)).fail(
        expected=expected, seen=seen, fix=fix, rule=rule, evidence=_evidence(launch)
    )


def _diagnosed(diagnosis: Diagnosis, setup: Setup) -> tuple[str, str]:
    """The words of the diagnosis, to append to the symptom, and the repair; both "" if nothing is known."""
    hits = diagnosis.candidates or tuple(hit for hit in (diagnosis.named,) if hit)
    if not hits:
        return "", ""
    said = joined(msg("; or: "), [hit.cause for hit in hits])
    each = ((repair(hit, setup), message(hit.failure.sources[0])) for hit in hits)
    fixes = joined(
        " Or: ",
        (
            msg("{repair} (source: {sources})", repair=words, sources=source)
            for words, source in each
        ),
    )
    if diagnosis.candidates:
        return msg(". Possible causes, of which the log proves none: {said}", said=said), fixes
    said = (
        msg(". Cause: {said}", said=said)
        if diagnosis.cause
        else msg(". The last error of the log: {said}", said=said)
    )
    return said, fixes


def describe_exit(status: int | None) -> str:
    """An exit status in words; negative for a signal, or 128 and more as shells report it."""
    if status is None:
        return msg("still running")
    number = -status if status < 0 else status - 128
    if status < 0 or status > 128:
        try:
            name = signal.Signals(number).name
        except ValueError:
            return msg("exit status {status}", status=status)
        ended = msg("exit status {status}, that is {name}", status=status, name=name)
        return msg("killed by {name}", name=name) if status < 0 else ended
    known = {126: msg(": not executable"), 127: msg(": command not found")}
    return msg("exit status {status}{meaning}", status=status, meaning=known.get(status, ""))


def place(listener: Listener) -> str:
    """Address and port as in a URL."""
    address = f"[{listener.address}]" if ":" in listener.address else listener.address
    return f"{address}:{listener.port}"


def _quote(launch: Launch, lines: tuple[Line, ...]) -> str:
    if lines:
        name = (launch.diagnosed or launch.log).name
        return joined(
            "",
            (
                msg(
                    "\n  {name}:{number}: {cut}", name=name, number=line.number, cut=_cut(line.text)
                )
                for line in lines
            ),
        )
    if launch.log_tail:
        tail = (f"\n  {_cut(line)}" for line in launch.log_tail[-SHOWN_LINES:])
        return msg("\nthe end of the log:") + "".join(tail)
    return msg("\nthe log is empty") if launch.pid else ""


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"


def _evidence(launch: Launch) -> dict[str, str | int | float | None]:
    hit, kind = launch.diagnosis.cause, launch.diagnosis.kind
    return {
        "outcome": launch.outcome.value,
        "exit_status": launch.exit_status,
        "seconds": round(launch.seconds, 1),
        "deadline_s": launch.deadline_s,
        "cause": hit.failure.id if hit else "",
        "kind": kind.failure.id if kind else "",
        "line": hit.lines[0].number if hit else None,
        "http_status": launch.answer.status if launch.answer else None,
        "log": str(launch.log),
    }


def _not_started(launch: Launch) -> tuple[str, str]:
    seen = msg(
        "`{command}` could not be run: {failure}",
        command=" ".join(launch.command),
        failure=launch.failure,
    )
    return seen, msg(
        "name a shell that is there in the first line of deploy.sh: #!/bin/sh or #!/bin/bash, with LF line ends"
    )


def _exited(launch: Launch) -> tuple[str, str]:
    after = msg("after {seconds:.0f} s", seconds=launch.seconds)
    if launch.exit_status == 0:
        seen = msg(
            "deploy.sh ended {after} with exit status 0 and left no process: no server was started, or it ended",
            after=after,
        )
        return seen, msg(
            "end deploy.sh in `exec vllm serve …` so that it runs as long as the server does"
        )
    memory = _memory(launch)
    left = (
        msg(", {processes} processes left behind", processes=len(launch.processes))
        if launch.processes
        else ""
    )
    ended = describe_exit(launch.exit_status)
    seen = msg(
        "deploy.sh ended {after} while loading ({exit}{left}){memory}",
        after=after,
        exit=ended,
        left=left,
        memory=memory,
    )
    if memory:
        return seen, msg(
            "make it fit: fewer or smaller processes, a shorter --max-model-len, or a machine with more memory"
        )
    block = launch.diagnosis.block
    if _was_stopped(launch):
        return seen, msg(
            "look who sends SIGTERM: a time limit, a scheduler, a container that stops; then run it again"
        )
    said = msg("fix its last error, “{cut}”; ", cut=_cut(block[-1].text)) if block else ""
    return seen, msg("{said}read the last lines of the log in {log}", said=said, log=launch.log)


def _memory(launch: Launch) -> str:
    killed = launch.exit_status in {-signal.SIGKILL, 128 + signal.SIGKILL}
    if launch.oom_kills:
        return msg(
            "; the kernel killed {oom_kills} processes meanwhile because memory ran out",
            oom_kills=launch.oom_kills,
        )
    if killed:
        return msg(
            "; SIGKILL comes from outside: the memory limit of a container, or somebody's kill -9"
        )
    return ""


def _backgrounded(launch: Launch) -> tuple[str, str]:
    after = msg("{seconds:.0f} s after the start", seconds=launch.seconds)
    seen = msg(
        "deploy.sh ended with exit status 0 and left a process in the background, which died {after}",
        after=after,
    )
    return seen, msg(
        "end deploy.sh in `exec vllm serve …`, without `&` and without nohup, and let its output go to the log"
    )


def _restarting(launch: Launch) -> tuple[str, str]:
    command, times = launch.restarted
    seen = msg(
        "a restart loop: `{command}` was started {times} times in {seconds:.0f} s, and died",
        command=shortened(command),
        times=times,
        seconds=launch.seconds,
    )
    return seen, msg("start the server once, with `exec`; a loop only hides why it dies")


def _answers_wrongly(launch: Launch) -> tuple[str, str]:
    answer, path, own = launch.answer, contract.CHAT_PATH, contract.service().requested("")
    if answer is None:
        return msg("the server's answers are wrong"), msg("read the log in {log}", log=launch.log)
    seen = msg(
        "{request} (model {model}) was answered with HTTP {status}: {text}",
        request=f"POST {path}",
        model=repr(launch.model),
        status=answer.status,
        text=answer.text,
    )
    if answer.status == 200:
        return seen, msg(
            'stream the answer (text/event-stream) when the request has "stream": true'
        )
    fixes = {
        400: msg(
            "read why it refuses; a missing chat template belongs to the weights, or to --chat-template"
        ),
        401: msg("start the server without an API key"),
        403: msg("start the server without an API key"),
        404: msg("serve {chat_path}, and the model under the name {name}", chat_path=path, name=own)
        if own
        else msg(
            "serve {chat_path}, and the model under the weight path: no --served-model-name",
            chat_path=path,
        ),
        405: msg("serve POST {chat_path}", chat_path=path),
        422: msg(
            "accept the evaluation client's fields: it sends num_return_sequences and ignore_eos"
        ),
    }
    return seen, fixes.get(
        answer.status, msg("read the server's traceback in {log}", log=launch.log)
    )


def _other_port(launch: Launch) -> tuple[str, str]:
    ports = ", ".join(sorted({place(listener) for listener in launch.other_ports}))
    seen = msg(
        "nobody listens on port {port}; what deploy.sh started listens on {ports}",
        port=launch.port,
        ports=ports,
    )
    return seen, msg("start the server with --host 0.0.0.0 --port {port}", port=launch.port)


def _silent(launch: Launch) -> tuple[str, str]:
    still = _unanswered(launch)
    seen = msg(
        "{unanswered}, and for minutes no process has done anything: no output, no CPU time, no I/O",
        unanswered=still,
    )
    server = msg(
        "find out what the server waits for (py-spy dump --pid PID): a lock, the network, another rank"
    )
    script = msg("see what deploy.sh waits for: input, a lock, the network, another rank")
    return seen, server if launch.listeners else script


def _timed_out(launch: Launch) -> tuple[str, str]:
    ends_s = launch.deadline_s
    limit = msg(
        "{deadline_s:.0f} s after the start (the kit's deadline; the service's is unknown)",
        deadline_s=ends_s,
    )
    if ends_s == contract.service().start_up_seconds:
        limit = msg(
            "{deadline_s:.0f} s after the start (the service's deadline)", deadline_s=ends_s
        )
    fix = msg("read in the log what it is busy with; if a start takes this long, raise --deadline")
    if launch.listeners and not (launch.answer and launch.answer.status):
        owner = launch.listeners[0].process
        who = str(owner or msg("its owner"))
        fix = msg(
            "let only the model server open port {port}, by `exec vllm serve …`: {owner} does not "
            "answer; if a start takes this long, raise --deadline",
            port=launch.port,
            owner=who,
        )
    return msg("{unanswered}, {limit}", unanswered=_unanswered(launch), limit=limit), fix


def _unanswered(launch: Launch) -> str:
    left = msg("; deploy.sh itself has ended, and left processes in the background")
    ended = left if launch.exit_status == 0 else ""
    if launch.listeners:
        answer = msg(": {text}", text=launch.answer.text) if launch.answer else ""
        status = (
            msg(" HTTP {status}", status=launch.answer.status)
            if launch.answer and launch.answer.status
            else ""
        )
        where = place(launch.listeners[0])
        return msg(
            "port {port} is open ({where}) and no chat is answered{status}{answer}{ended}",
            port=launch.port,
            where=where,
            status=status,
            answer=answer,
            ended=ended,
        )
    if launch.other_ports:
        return _other_port(launch)[0] + ended
    return msg("nobody listens on port {port}{ended}", port=launch.port, ended=ended)


def _foreign(launch: Launch) -> tuple[str, str]:
    owner = launch.foreign[0].process if launch.foreign else None
    where = place(launch.foreign[0]) if launch.foreign else msg("port {port}", port=launch.port)
    seen = msg(
        "{owner} listens on {where} and was not started by deploy.sh",
        owner=str(owner or msg("a process")),
        where=where,
    )
    if not launch.contained:
        seen = msg(
            "{seen}: it took the port meanwhile, or a daemon started it for deploy.sh", seen=seen
        )
        return seen, msg(
            "stop that process and run again; if it is your server, let deploy.sh itself start it"
        )
    fix = msg(
        "let deploy.sh start the server itself, in the foreground: not through docker or another daemon"
    )
    return msg("{seen}: it runs in a container", seen=seen), fix


def _lost_the_port(launch: Launch) -> bool:
    """Whether another process of this machine took the port first, which may have nothing to do with deploy.sh."""
    died = launch.outcome is LaunchOutcome.EXITED and launch.exit_status != 0
    lost = died or launch.outcome is LaunchOutcome.FOREIGN_LISTENER
    return bool(launch.foreign) and not launch.contained and lost


def was_stopped(status: int | None, diagnosis: Diagnosis) -> bool:
    """Whether the service got SIGTERM: who sends it is unknown, and may have nothing to do with deploy.sh."""
    told = diagnosis.cause is not None and diagnosis.cause.failure.id.startswith("told-to-stop")
    return status in {-signal.SIGTERM, 128 + signal.SIGTERM} or (told and status != _BY_TIMEOUT)


def _was_stopped(launch: Launch) -> bool:
    ended = launch.outcome in {LaunchOutcome.EXITED, LaunchOutcome.BACKGROUNDED}
    return ended and was_stopped(launch.exit_status, launch.diagnosis)


def _port_taken(launch: Launch) -> tuple[str, str]:
    owners = joined("; ", (holder.owner for holder in launch.holders))
    return msg("port {port} is taken by {owners}", port=launch.port, owners=owners), msg(
        "stop it and run again"
    )


def _interrupted(launch: Launch) -> tuple[str, str]:
    return msg("the launch was interrupted after {seconds:.0f} s", seconds=launch.seconds), msg(
        "run it again"
    )


_WORDS: dict[LaunchOutcome, Callable[[Launch], tuple[str, str]]] = {
    LaunchOutcome.NOT_STARTED: _not_started,
    LaunchOutcome.EXITED: _exited,
    LaunchOutcome.BACKGROUNDED: _backgrounded,
    LaunchOutcome.RESTARTING: _restarting,
    LaunchOutcome.ANSWERS_WRONGLY: _answers_wrongly,
    LaunchOutcome.OTHER_PORT: _other_port,
    LaunchOutcome.SILENT: _silent,
    LaunchOutcome.TIMED_OUT: _timed_out,
    LaunchOutcome.PORT_TAKEN: _port_taken,
    LaunchOutcome.FOREIGN_LISTENER: _foreign,
    LaunchOutcome.INTERRUPTED: _interrupted,
}
