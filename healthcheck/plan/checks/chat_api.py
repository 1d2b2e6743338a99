"""plan/chat-api: the server offers the chat completions API."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, check, fail, warn
from healthcheck.plan import repairs
from healthcheck.plan.records import Api, LaunchPlan, ServerCommand
from healthcheck.plan.servers.served import STARTED, line_of, served, unresolved
from healthcheck.records import Stage

_WITHOUT_TEXT = {
    "skip-tokenizer-init": "without a tokenizer every chat request is refused",
    "tokens-only": "completions have token ids and no text",
}
LEAST_CONTEXT = 1024
"""Tokens; the stock request of the service's client requests 512 after a prompt with examples (inferred)."""

_WITHOUT_CHAT = {
    Api.DEMO: "vLLM's demonstration server, which has no OpenAI-compatible API",
    Api.EMBEDDING: "an embedding or pooling server, which generates no text",
    Api.HEADLESS: "an engine without an HTTP server",
    Api.OPENAI_OTHER: "a server without that route",
}


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

    An option that may refuse some requests is a warning: --middleware, whose code the dry run does not execute,
    and a --max-model-len below 1024, as the service's client requests 512 tokens after its prompt (inferred).

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
    expected = f"a server of {contract.CHAT_PATH}"
    if server.api in _WITHOUT_CHAT:
        yield fail(
            expected=expected,
            seen=f"{_WITHOUT_CHAT[server.api]}: {server.command}",
            fix=f"end deploy.sh with: {contract.LAUNCH}",
            where=server.where,
        )
    elif server.api is Api.UNKNOWN:
        yield unresolved(plan, expected, f"which routes {server.engine} offers")
    yield from _refused_requests(plan, server)
    if server.option("ssl-certfile") or server.option("ssl-keyfile"):
        yield fail(
            expected="plain HTTP",
            seen=f"TLS is switched on: {server.command}",
            fix=repairs.no_tls(server),
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
                fix=f"remove --{name}",
                where=line_of(plan, name, name.replace("-", "_")),
            )
    if server.option("middleware") is not None:
        yield warn(
            expected="a server that answers every request",
            seen=f"--middleware {server.option('middleware')}, whose code the dry run does not execute",
            fix="remove --middleware, or verify without --until: the launch and endpoint stages settle it",
            where=line_of(plan, "middleware"),
        )
    length = server.option("max-model-len") or ""
    if length.isdecimal() and 0 < int(length[:9]) < LEAST_CONTEXT:
        yield warn(
            expected=f"room for a prompt and a completion: at least {LEAST_CONTEXT} tokens",
            seen=f"--max-model-len {length}: longer requests get status 400",
            fix="raise --max-model-len, or remove it",
            where=line_of(plan, "max-model-len", "max_model_len"),
            rule=contract.CLIENT_IS_AISBENCH,
        )
