"""The checks of the plan stage: what deploy.sh would launch, against what the service needs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.check import Check, Findings, NotApplicable, check, fail, note, warn
from healthcheck.plan import advice, script
from healthcheck.plan.engines import is_fixed_address
from healthcheck.plan.facts import LaunchPlan, ServerCommand
from healthcheck.plan.recognise import UNRESOLVED
from healthcheck.plan.standins.note import ADDRESS
from healthcheck.plan.start import starts_server
from healthcheck.plan.surroundings import self_contained
from healthcheck.records import Finding, Stage

_STARTED = ("plan/starts-server",)
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "[::1]"}
_ENDED_BY_ITSELF = {-15, -9, 124, 137, 143}
"""SIGTERM and SIGKILL as Python and as shells count them, and the status of timeout: a rehearsal sends none."""
_LONGER_THAN_ANY_EVALUATION_S = 7 * 86400
_SETTLED_LATER = "run `npu-adapter verify` without --until: the launch stage settles it"


def served(plan: LaunchPlan) -> ServerCommand:
    """The server that the checks are about."""
    if plan.server is None:
        raise NotApplicable("deploy.sh starts no server")
    return plan.server


def _line(plan: LaunchPlan, *needles: str) -> str:
    """The line of deploy.sh with one of the needles, else the recorded command."""
    for needle in needles:
        number = script.find_line(plan.script, [needle]) if needle else None
        if number:
            return f"{contract.ENTRY_POINT}:{number}"
    return served(plan).where or served(plan).command


def _unresolved(plan: LaunchPlan, expected: str, what: str) -> Finding:
    server = served(plan)
    return warn(
        expected=expected,
        seen=f"{what} could not be told from a rehearsal; recorded: {server.command}",
        fix=_SETTLED_LATER,
        where=server.where,
    )


@check(
    "plan/chat-api",
    "The server offers the chat completions API",
    stage=Stage.PLAN,
    rule=contract.CHAT_REQUIRED,
    why="Every request of an accuracy evaluation goes to /v1/chat/completions.",
    requires=_STARTED,
)
def chat_api(plan: LaunchPlan) -> Findings:
    """The service evaluates every task over /v1/chat/completions, with streaming.

    vLLM offers it with `vllm serve` and with `python3 -m vllm.entrypoints.openai.api_server`. It does not with
    its demonstration server (`python3 -m vllm.entrypoints.api_server`), with pooling or embedding runners
    (`--task embed`, `--runner pooling`), or with `--headless`, which serves no HTTP at all. Servers of your own
    need that route too. A server with TLS (`--ssl-certfile`) answers no plain HTTP request.
    """
    server = served(plan)
    expected = f"a server of {contract.CHAT_PATH}"
    reasons = {
        "demo": "vLLM's demonstration server, which has no OpenAI-compatible API",
        "embedding": "an embedding or pooling server, which generates no text",
        "headless": "--headless: an engine without an HTTP server",
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
        yield _unresolved(plan, expected, f"which routes {server.engine} offers")
    if server.option("ssl-certfile") or server.option("ssl-keyfile"):
        yield fail(
            expected="plain HTTP",
            seen=f"TLS is switched on: {server.command}",
            fix=advice.no_tls(server),
            where=_line(plan, "--ssl"),
            rule=contract.LISTENS_ON_PORT,
        )


@check(
    "plan/model-path",
    "The weights come from MODEL_PATH",
    stage=Stage.PLAN,
    rule=contract.WEIGHTS_FROM_MODEL_PATH,
    why="The service downloads the weights itself, to a folder that only MODEL_PATH names.",
    requires=_STARTED,
)
def model_path(plan: LaunchPlan) -> Findings:
    """The service puts the weights somewhere and says where in the environment variable MODEL_PATH.

    deploy.sh is rehearsed twice: with an ordinary MODEL_PATH, and with one that has spaces and characters beyond
    ASCII. Both times the model that would be served must be that folder, or a copy of or link to it that the
    script makes. A fixed path, a name on a model hub, or another variable is not there when it counts.

    Repair: write "$MODEL_PATH" (with the quotes) where the model is named, for example
    `vllm serve "$MODEL_PATH"`.
    """
    server = served(plan)
    models = [server.model] if server.model else [other.model for other in plan.servers if other.model]
    if not models and server.model is not None:
        models = [server.model]
    if not models:
        yield _unresolved(plan, f"the weights in {plan.model_path} ($MODEL_PATH)", "which weights are served")
        return
    found = list(_wrong_model(plan, server, models))
    yield from found
    if not found and server.engine == "vllm":
        yield from _quotes(plan)


def _wrong_model(plan: LaunchPlan, server: ServerCommand, models: list[str]) -> Iterator[Finding]:
    model = next((model for model in models if _is_within(model, plan.model_path)), models[-1])
    shown = repr(model) if model else "empty"
    seen = f"the model is {shown}, and MODEL_PATH was {plan.model_path!r}: {server.command}"
    if UNRESOLVED in model:
        yield _unresolved(plan, "the weights in $MODEL_PATH", f"which weights {model} are")
    elif not _is_within(model, plan.model_path):
        yield fail(
            expected="the weights in $MODEL_PATH",
            seen=seen,
            fix='name "$MODEL_PATH" as the model',
            where=_line(plan, model, os.path.basename(model.rstrip("/")), "--model"),
        )
    elif model != plan.model_path and server.engine != "llama.cpp":
        yield warn(
            expected="the weights in $MODEL_PATH itself",
            seen=seen,
            fix='name "$MODEL_PATH" as the model, unless the weights are uploaded in that subfolder',
            where=_line(plan, "MODEL_PATH"),
        )


def _is_within(model: str, folder: str) -> bool:
    return model == folder or model.startswith(folder.rstrip("/") + "/")


def _quotes(plan: LaunchPlan) -> Iterator[Finding]:
    """What happened with a MODEL_PATH that needs quotes."""
    second = plan.spaced
    if second is not None and second.model == plan.spaced_model_path:
        return
    number = script.unquoted_line(plan.script, contract.MODEL_PATH_VARIABLE)
    seen = f"model {second.model!r}: {second.command}" if second else _no_second(plan)
    yield fail(
        expected=f"the same with MODEL_PATH={plan.spaced_model_path!r}",
        seen=seen,
        fix='put double quotes around it wherever it is used: "$MODEL_PATH"',
        where=f"{contract.ENTRY_POINT}:{number}" if number else served(plan).where,
        evidence={"line": script.line_at(plan.script, number) if number else ""},
    )


def _no_second(plan: LaunchPlan) -> str:
    run = plan.spaced_run
    last = (run.stderr.strip().splitlines() or [""])[-1] if run else ""
    return f"no server was started; the last words were: {last!r}"


@check(
    "plan/port",
    "The server listens on port 8000",
    stage=Stage.PLAN,
    rule=contract.LISTENS_ON_PORT,
    why="The service connects to port 8000 and to no other.",
    requires=_STARTED,
)
def port(plan: LaunchPlan) -> Findings:
    """The service connects to port 8000.

    The port is the one that the engine would really use: from the command line in any spelling, from a
    configuration file, or the engine's own default (vLLM 8000, SGLang 30000, llama.cpp 8080, LMDeploy 23333,
    MindIE 1025). VLLM_PORT is for vLLM's internal communication and does not set it.

    Repair: pass `--port 8000` (LMDeploy: `--server-port 8000`).
    """
    server = served(plan)
    if (
        server.port is None
        and UNRESOLVED not in server.port_source
        and server.port_source.startswith(("-", "port"))
    ):
        yield fail(
            expected=f"port {contract.PORT}",
            seen=f"{server.port_source} is no port: {server.command}",
            fix=advice.port(server),
            where=_line(plan, server.port_source.split()[0].split("=")[0]),
        )
    elif server.port is None:
        yield _unresolved(plan, f"port {contract.PORT}", f"the port ({server.port_source})")
    elif server.port != contract.PORT:
        yield fail(
            expected=f"port {contract.PORT}",
            seen=f"port {server.port} ({server.port_source}): {server.command}",
            fix=advice.port(server),
            where=server.port_source
            if ".y" in server.port_source
            else _line(plan, server.port_source, str(server.port)),
            evidence={"port": server.port, "source": server.port_source},
        )


@check(
    "plan/host",
    "The server listens on every interface",
    stage=Stage.PLAN,
    rule=contract.LISTENS_ON_PORT,
    why="Whether the service's client runs on the same host is unknown; loopback answers only there.",
    requires=_STARTED,
)
def host(plan: LaunchPlan) -> Findings:
    """A server on 127.0.0.1 answers only clients on the same host and in the same container.

    The service does not say where its client runs, so loopback is a warning. Engines differ in what they do by
    default: vLLM and LMDeploy listen everywhere, SGLang, llama.cpp and uvicorn on loopback only.

    Repair: pass `--host 0.0.0.0`.
    """
    server = served(plan)
    if server.host is not None and server.host.strip().lower() in _LOOPBACK:
        explicit = any(server.option(name) for name in ("host", "server-name", "hostname", "bind"))
        yield warn(
            expected="an address that is reachable from outside, such as 0.0.0.0",
            seen=f"{server.host}{'' if explicit else f', the default of {server.engine}'}: {server.command}",
            fix=advice.host(server),
            where=_line(plan, server.host) if explicit else server.where,
        )
    elif server.host is None:
        yield _unresolved(plan, "an address that is reachable from outside", "the address")
    elif server.host == ADDRESS:
        yield warn(
            expected="every address of the machine: whether the client uses this one is unknown",
            seen=f"only the machine's own address, found out when deploy.sh runs: {server.command}",
            fix=advice.host(server),
            where=server.where,
        )
    elif is_fixed_address(server.host):
        yield fail(
            expected="an address that the service's machine has, such as 0.0.0.0",
            seen=f"the fixed address {server.host}, which only its own machine can listen on: {server.command}",
            fix=advice.host(server),
            where=_line(plan, server.host),
        )


@check(
    "plan/served-name",
    "The model is served under the name that the service asks for",
    stage=Stage.PLAN,
    rule=contract.SERVED_NAME,
    why="The service asks for the model by the path of its weights; a server with another name answers 404.",
    requires=_STARTED,
)
def served_name(plan: LaunchPlan) -> Findings:
    """The service asks for a model whose name is the weight path, the value of MODEL_PATH to the letter.

    vLLM serves a model under the path that it was given unless `--served-model-name` says otherwise, and
    answers 404 to any other name. So leave that option away, or have "$MODEL_PATH" among its values. A link to
    the weights, or a slash behind the path, is another name. llama.cpp calls the option `--alias`; some servers
    have a fixed name by default.
    """
    server = served(plan)
    if not server.served_names:
        if server.engine in {"vllm", "sglang", "lmdeploy", "llama.cpp"} or server.api == "openai-chat":
            yield _unresolved(plan, "the weight path as the model's name", "the served name")
        return
    if any(UNRESOLVED in name for name in server.served_names):
        yield _unresolved(plan, "the weight path as the model's name", "the served name")
    elif plan.model_path not in server.served_names and server.model is not None:
        names = ", ".join(map(repr, server.served_names))
        option = next((name for name in ("served-model-name", "alias", "model-name") if server.option(name)), "")
        by_path = server.served_names[0] in {server.model, *server.argv}
        if not option and by_path and not _is_within(server.model, plan.model_path):
            return  # plan/model-path says it
        yield fail(
            expected=f"the weight path, {plan.model_path!r}, among the names",
            seen=f"served as {names}{f' (--{option})' if option else ''}: {server.command}",
            fix=advice.name(server, option, plan.model_path),
            where=_line(plan, f"--{option}", f"--{option.replace('-', '_')}") if option else server.where,
            evidence={"names": list(server.served_names)},
        )


@check(
    "plan/no-api-key",
    "The server demands no API key",
    stage=Stage.PLAN,
    rule=contract.CHAT_STREAMING,
    why="The service has no key to send: every request would be refused with status 401.",
    requires=_STARTED,
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
            where=_line(plan, server.api_key, server.api_key.replace("-", "_")),
        )


@check(
    "plan/foreground",
    "deploy.sh stays for as long as the server does",
    stage=Stage.PLAN,
    rule=contract.STARTS_THE_SERVICE,
    why="Once deploy.sh has ended the service may take the adapter for stopped, and its processes end with it.",
    requires=_STARTED,
)
def foreground(plan: LaunchPlan) -> Findings:
    """The server belongs in the foreground of deploy.sh.

    A script that puts the server into the background (`&`, nohup, setsid) and ends leaves nothing behind that
    the service could watch, and in a container everything ends with it. Background and `wait`, a pipe into
    `tee`, a loop that supervises the server, and best of all `exec` keep it.

    A limit on its time (`timeout 600 vllm serve …`) ends it in the middle of the evaluation, which loads up to
    100 GB and then asks every problem five times. How long that takes is unknown, so a limit is a warning.

    Repair: make the server the last command, with `exec` in front, or end with `wait`; put no limit on its time.
    """
    server = served(plan)
    if not server.foreground:
        status = plan.run.exit_status
        yield fail(
            expected="deploy.sh stays while the server runs",
            seen=f"deploy.sh ended with status {status} after starting: {server.command}",
            fix="leave out what ends the server (a kill, a timeout)"
            if status in _ENDED_BY_ITSELF
            else "write exec in front of the server's command and no & behind it, or end deploy.sh with: wait",
            where=server.where,
        )
    elif server.limit_s is not None and server.limit_s < _LONGER_THAN_ANY_EVALUATION_S:
        yield warn(
            expected="the server runs until the evaluation is over, and how long that takes is unknown",
            seen=f"it is ended after {server.limit_s:g} s, whatever it is doing then: {server.command}",
            fix="leave out the time limit (timeout …, timeout=…) around the server",
            where=server.where,
        )


@check(
    "plan/one-port-each",
    "No two servers want the same port",
    stage=Stage.PLAN,
    why="The second server on a port ends with an error, and which one is the second depends on timing.",
    requires=_STARTED,
)
def one_port_each(plan: LaunchPlan) -> Findings:
    """Two servers that run at the same time need two ports.

    Of two servers on one port the second ends with "address already in use". Repair: start one of them, or give
    the one that the service does not talk to another port.
    """
    running = [server for server in plan.servers if server.foreground and server.api != "headless"]
    ports = [server.port for server in running if server.port is not None]
    for number in sorted({number for number in ports if ports.count(number) > 1}):
        commands = "; ".join(server.command for server in running if server.port == number)
        yield warn(expected=f"one server on port {number}", seen=commands, fix="start one of them")
    for text in plan.notes:
        if " " in text:
            yield note(text)


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
