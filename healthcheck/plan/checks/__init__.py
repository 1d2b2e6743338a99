"""The checks of the plan stage: what deploy.sh would launch, against what the service needs."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Check, Findings, check, fail, warn
from healthcheck.plan import advice, readiness_polls
from healthcheck.plan.check_address import host, one_port_each, port
from healthcheck.plan.check_model import model_path, served_name
from healthcheck.plan.checks.self_contained import self_contained
from healthcheck.plan.checks.starts_server import starts_server
from healthcheck.plan.dry_run.sandbox.watch import PATIENCE_S
from healthcheck.plan.records import LaunchPlan, ServerCommand
from healthcheck.plan.script import deploy_sh, trace
from healthcheck.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.records import Stage

_ENDED_BY_ITSELF = {-15, -9, 124, 137, 143}
"""SIGTERM and SIGKILL as Python and as shells count them, and the status of timeout: a rehearsal sends none."""
_WITHOUT_TEXT = {
    "skip-tokenizer-init": "without a tokenizer every chat request is refused",
    "tokens-only": "answers have token ids and no text",
}
LEAST_CONTEXT = 1024
"""Tokens; the stock request of the service's client asks for 512 behind a prompt with examples (inferred)."""
_LONGER_THAN_ANY_EVALUATION_S = 7 * 86400


@check(
    "plan/chat-api",
    "The server offers the chat completions API",
    stage=Stage.PLAN,
    rule=contract.CHAT_REQUIRED,
    why="Every request of an accuracy evaluation goes to /v1/chat/completions.",
    requires=STARTED,
)
def chat_api(plan: LaunchPlan) -> Findings:
    """The service evaluates every task over /v1/chat/completions, with streaming.

    vLLM offers it with `vllm serve` and with `python3 -m vllm.entrypoints.openai.api_server`. It does not with
    its demonstration server (`python3 -m vllm.entrypoints.api_server`), with pooling or embedding runners
    (`--task embed`, `--runner pooling`), or with `--headless`, `--grpc` or `--api-server-count 0`, which serve no
    HTTP. Servers of your own need that route too. A server with TLS (`--ssl-certfile`) answers no plain HTTP
    request, one with --skip-tokenizer-init no chat, and one with --tokens-only has no text in its answers.

    What may refuse single requests is a warning: --middleware, whose code the rehearsal does not run, and a
    --max-model-len below 1024 tokens, as the service's client asks for 512 tokens behind its prompt (inferred).
    """
    server = served(plan)
    expected = f"a server of {contract.CHAT_PATH}"
    reasons = {
        "demo": "vLLM's demonstration server, which has no OpenAI-compatible API",
        "embedding": "an embedding or pooling server, which generates no text",
        "headless": "an engine without an HTTP server",
        "openai-other": "a server without that route",
    }
    if server.api in reasons:
        yield fail(
            expected=expected,
            seen=f"{reasons[server.api]}: {server.command}",
            fix='end deploy.sh with: exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000',
            where=server.where,
        )
    elif server.api == "unknown":
        yield unresolved(plan, expected, f"which routes {server.engine} offers")
    yield from _refused_requests(plan, server)
    if server.option("ssl-certfile") or server.option("ssl-keyfile"):
        yield fail(
            expected="plain HTTP",
            seen=f"TLS is switched on: {server.command}",
            fix=advice.no_tls(server),
            where=line_of(plan, "--ssl"),
            rule=contract.LISTENS_ON_PORT,
        )


def _refused_requests(plan: LaunchPlan, server: ServerCommand) -> Findings:
    """Options with which the route is there and requests are refused."""
    for name, why in _WITHOUT_TEXT.items():
        if server.option(name) is not None:
            yield fail(
                expected=f"a server of {contract.CHAT_PATH}",
                seen=f"--{name}: {why}: {server.command}",
                fix=f"take --{name} out",
                where=line_of(plan, name, name.replace("-", "_")),
            )
    if server.option("middleware") is not None:
        yield warn(
            expected="a server that answers every request",
            seen=f"--middleware {server.option('middleware')}, whose code was not rehearsed",
            fix="leave --middleware out, or verify without --until: the launch and endpoint stages settle it",
            where=line_of(plan, "middleware"),
        )
    length = server.option("max-model-len") or ""
    if length.isdecimal() and 0 < int(length[:9]) < LEAST_CONTEXT:
        yield warn(
            expected=f"room for a prompt and an answer: at least {LEAST_CONTEXT} tokens",
            seen=f"--max-model-len {length}: longer requests get status 400",
            fix="raise --max-model-len, or leave it out",
            where=line_of(plan, "max-model-len", "max_model_len"),
            rule=contract.CLIENT_IS_AISBENCH,
        )


@check(
    "plan/no-api-key",
    "The server demands no API key",
    stage=Stage.PLAN,
    rule=contract.CHAT_STREAMING,
    why="The service has no key to send: every request would be refused with status 401.",
    requires=STARTED,
)
def no_api_key(plan: LaunchPlan) -> Findings:
    """The service sends no Authorization header that a submission could choose.

    A server that is started with `--api-key`, or with VLLM_API_KEY in its environment, answers every request
    with status 401. Repair: remove the option, or `unset VLLM_API_KEY` before the server starts.
    """
    server = served(plan)
    if server.api_key:
        by_option = server.api_key.startswith("-")
        yield fail(
            expected="a server that answers without a key",
            seen=f"a key is demanded by {server.api_key}",
            fix=f"remove {server.api_key}" if by_option else f"do not export {server.api_key}",
            where=line_of(plan, server.api_key, server.api_key.replace("-", "_")),
        )


@check(
    "plan/foreground",
    "deploy.sh stays for as long as the server does",
    stage=Stage.PLAN,
    rule=contract.STARTS_THE_SERVICE,
    why="Once deploy.sh has ended the service may take the adapter for stopped, and its processes end with it.",
    requires=STARTED,
)
def foreground(plan: LaunchPlan) -> Findings:
    """The server belongs in the foreground of deploy.sh.

    A script that puts the server into the background (`&`, nohup, setsid) and ends leaves nothing behind that
    the service could watch, and in a container everything ends with it. Background and `wait`, a pipe into
    `tee`, a loop that supervises the server, and best of all `exec` keep it.

    A limit on its time (`timeout 600 vllm serve …`) ends it in the middle of the evaluation, which loads up to
    100 GB and then asks every problem five times. How long that takes is unknown, so a limit is a warning.

    The same holds for a script that waits for its server and ends where that is not ready in time: a rehearsal in
    which the server never gets ready shows how long it waits. Ten minutes, as vLLM waits for its own engine
    (VLLM_ENGINE_READY_TIMEOUT_S), are taken for enough; that is an inference.

    Repair: make the server the last command, with `exec` in front, or end with `wait`; put no limit on its time.
    """
    server = served(plan)
    if not server.foreground:
        status = plan.run.exit_status
        yield fail(
            expected="deploy.sh stays while the server runs",
            seen=f"deploy.sh ended with status {status} after starting: {server.command}",
            fix=_stay(plan, server.where),
            where=server.where,
        )
    elif server.limit_s is not None and server.limit_s < _LONGER_THAN_ANY_EVALUATION_S:
        yield warn(
            expected="the server runs until the evaluation is over, and how long that takes is unknown",
            seen=f"it is ended after {server.limit_s:g} s, whatever it is doing then: {server.command}",
            fix="leave out the time limit (timeout …, timeout=…) around the server",
            where=server.where,
        )
    yield from _gives_up(plan)


def _stay(plan: LaunchPlan, where: str) -> str:
    """What keeps a deploy.sh that ended beside its server."""
    status = plan.run.exit_status
    if status in _ENDED_BY_ITSELF:
        return "leave out what ends the server (a kill, a timeout)"
    if status and (question := readiness_polls.in_vain(plan)):
        return f"correct the question for {question}, or ask nothing: exec in front of the server's command"
    number = where.rpartition(":")[2]
    ends = deploy_sh.ending_lines(plan.script, int(number), status or 0) if number.isdigit() else ()
    if ends:
        named = ", ".join(map(str, ends[:3]))
        return (
            f"write wait in place of the exit that ends deploy.sh (line {named}), or exec in front of the server's "
            "command, no & behind it, and nothing after it"
        )
    return "write exec in front of the server's command and no & behind it, or end deploy.sh with: wait"


def _gives_up(plan: LaunchPlan) -> Findings:
    """A script that ends where the server is not ready soon enough."""
    run = plan.loading_run
    if run is None or run.ended_by != "exit" or not (run.slept_s or run.asked) or run.slept_s >= PATIENCE_S:
        return
    servers = tuple(" ".join(server.command.split()[:2]) for server in run.servers)
    behind = tuple(command for command in run.traced if not command.startswith(servers))
    stop = trace.stopped(plan.script, behind)
    line = deploy_sh.line_at(plan.script, stop.line) or stop.command
    yield warn(
        expected="deploy.sh stays while the server loads, and how long up to 100 GB take is unknown",
        seen=f"it ends {f'after waiting {run.slept_s:g} s' if run.slept_s else 'at once'} where the server is not "
        f"ready by then: “{line}”",
        fix=f"wait for the server itself (wait $!, or exec), or for at least {PATIENCE_S:g} s",
        where=f"{contract.ENTRY_POINT}:{stop.line}" if stop.line else served(plan).where,
    )


CHECKS: tuple[Check[LaunchPlan], ...] = (
    starts_server,
    self_contained,
    chat_api,
    model_path,
    port,
    host,
    served_name,
    no_api_key,
    foreground,
    one_port_each,
)
