"""plan/chat-api: the server offers the chat completions API."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.engines.base import Api
from healthcheck.stages.plan import repairs
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.servers.options import tokens
from healthcheck.stages.plan.servers.served import STARTED, line_of, served, settled_later
from healthcheck.text.messages import msg

_WITHOUT_TEXT = {
    "skip-tokenizer-init": msg("without a tokenizer every chat request is refused"),
    "tokens-only": msg("completions have token ids and no text"),
}
PROMPT, COMPLETION = 1500, 512
"""Tokens of a request. The service's sample report has a prompt with four worked examples (AISBench's
demo_gsm8k_gen_4_shot_cot_chat_prompt), which has 1434 or 1538 tokens in two tokenizers. Its client requests 512 by
default. The data set and max_tokens of a task are not documented.
"""
ENOUGH = 4096

_WITHOUT_CHAT = {
    Api.DEMO: msg("vLLM's demonstration server, which has no OpenAI-compatible API"),
    Api.EMBEDDING: msg("an embedding or pooling server, which generates no text"),
    Api.HEADLESS: msg("an engine without an HTTP server"),
    Api.OPENAI_OTHER: msg("a server without that route"),
}


@check(
    "plan/chat-api",
    msg("The server offers the chat completions API"),
    rule=contract.CHAT_REQUIRED,
    why=msg("Every request of an accuracy evaluation goes to {chat_path}."),
    requires=STARTED,
)
def chat_api(plan: LaunchPlan) -> Findings:
    """The service evaluates every task over {chat_path}, with streaming.

    vLLM offers it with `vllm serve` and with `python3 -m vllm.entrypoints.openai.api_server`. It does not with
    its demonstration server (`python3 -m vllm.entrypoints.api_server`), with pooling or embedding runners
    (`--task embed`, `--runner pooling`), or with `--headless`, `--grpc` or `--api-server-count 0`, which serve no
    HTTP. Servers of your own need that route too; if their routes are unknown, the
    verdict is inconclusive. A server with TLS (`--ssl-certfile`) answers no plain HTTP
    request, one with --skip-tokenizer-init no chat, and one with --tokens-only has no text in its answers.

    An option that may refuse some requests is a warning: --middleware, whose code the dry run does not execute,
    and a --max-model-len in which a request would not fit. The service's sample report has prompts of about 1500
    tokens (four worked examples), and its client requests 512 more by default; both are inferred, and the prompts
    of another task may be longer. vLLM refuses what does not fit with status 400, and the answer counts as wrong.

    Example:
    ```sh
    exec python3 -m vllm.entrypoints.api_server --model "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    server = served(plan)
    expected = msg("a server of {chat_path}", chat_path=contract.CHAT_PATH)
    if server.api in _WITHOUT_CHAT:
        seen = msg(
            "{without_chat}: {quoted}",
            without_chat=_WITHOUT_CHAT[server.api],
            quoted=server.command,
        )
        fix = msg("end deploy.sh with: {launch}", launch=contract.LAUNCH)
        yield fail(expected=expected, seen=seen, fix=fix, where=server.where)
    elif server.front is not None:
        raise NotApplicable(
            msg("plan/front judges where {engine} passes chats", engine=server.front.kind)
        )
    elif server.api is Api.UNKNOWN:
        seen = msg(
            "which routes {engine} offers is unknown: {command}",
            engine=server.engine.name,
            command=server.command,
        )
        yield settled_later(expected, seen, server.where)
    elif behind := _server_behind(plan, server):
        seen = msg(
            "{front} is a program in front of {server}: whether it passes on streams is unknown "
            "before it runs",
            front=server.command,
            server=behind.command,
        )
        yield settled_later(expected, seen, server.where)
    yield from _refused_requests(plan, server)
    if server.option("ssl-certfile") or server.option("ssl-keyfile"):
        seen = msg("TLS is switched on: {quoted}", quoted=server.command)
        how, where = repairs.no_tls_repair(server), line_of(plan, "--ssl")
        yield fail(
            expected=msg("plain HTTP"),
            seen=seen,
            fix=how,
            where=where,
            rule=contract.LISTENS_ON_PORT,
        )


def _server_behind(plan: LaunchPlan, server: ServerCommand) -> ServerCommand | None:
    """The model server behind an own program with the chat route; None if there is none.

    The stubs read the routes of a program, and not what it does with a request.
    """
    if not server.engine.web_server:
        return None
    return next((other for other in plan.servers if not other.engine.web_server), None)


def _refused_requests(plan: LaunchPlan, server: ServerCommand) -> Findings:
    """Options with which the server has the route but rejects requests."""
    for name, why in _WITHOUT_TEXT.items():
        if server.option(name) is not None:
            expected = msg("a server of {chat_path}", chat_path=contract.CHAT_PATH)
            seen = msg("--{name}: {why}: {quoted}", name=name, why=why, quoted=server.command)
            where = line_of(plan, name, name.replace("-", "_"))
            yield fail(
                expected=expected, seen=seen, fix=msg("remove --{name}", name=name), where=where
            )
    if server.option("middleware") is not None:
        expected = msg("a server that answers every request")
        seen = msg(
            "--middleware {option}, whose code the dry run does not execute",
            option=server.option("middleware"),
        )
        fix = msg(
            "remove --middleware, or verify without --until: the launch and endpoint stages settle it"
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=line_of(plan, "middleware"))
    yield from _little_room(plan, server)


def _little_room(plan: LaunchPlan, server: ServerCommand) -> Findings:
    """A context length that is too short for a request of the service's sample report."""
    text = server.option("max-model-len") or ""
    length, asked = tokens(text) or 0, contract.service().max_tokens
    if not 0 < length < PROMPT + (asked or COMPLETION):
        return
    place, enough = _line_of_setting(plan, "max_model_len"), max(ENOUGH, PROMPT + (asked or 0))
    in_file = msg("write max_model_len = {enough} or more, or remove the line", enough=enough)
    in_command = msg("write --max-model-len {enough} or more, or remove the option", enough=enough)
    expected = msg(
        "room for a prompt of about {prompt} tokens, as in the service's sample report, and a "
        "completion of {completion}, which its client requests by default",
        prompt=PROMPT,
        completion=COMPLETION,
    )
    if asked:
        expected = msg(
            "room for a prompt and a completion of {completion} tokens, for which every request asks",
            completion=asked,
        )
    seen = msg(
        "--max-model-len {text}: not even the prompt fits; vLLM refuses such a request with status "
        "400, and a refused request counts as a wrong answer",
        text=text,
    )
    if length >= PROMPT:
        seen = msg(
            "--max-model-len {text}: the prompt leaves too little for the completion; vLLM refuses such "
            "a request with status 400, and a refused request counts as a wrong answer",
            text=text,
        )
    fix, where = (
        in_file if place else in_command,
        place or line_of(plan, "max-model-len", "max_model_len"),
    )
    say, rule = warn, contract.CLIENT_IS_AISBENCH
    if asked and length <= asked:
        say, rule = fail, contract.MAX_TOKENS
    yield say(expected=expected, seen=seen, fix=fix, where=where, rule=rule)


def _line_of_setting(plan: LaunchPlan, key: str) -> str:
    """The line of adapter.toml that sets a key; "" if there is none, or if deploy.sh has the option."""
    if key in plan.script or key.replace("_", "-") in plan.script:
        return ""
    return plan.settings_line(rf"\s*{key}\s*=")
