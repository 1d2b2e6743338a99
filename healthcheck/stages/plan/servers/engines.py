"""Table of inference servers: their programs, option names and defaults."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.stages.plan.records import Api
from healthcheck.stages.plan.servers.options import Grammar, vllm_grammar

EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with, never bound
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One way to start a server.

    Attributes:
        programs: command words that start the engine ("vllm serve"); a module as "-m name". The longest match wins.
        port, host: the engine's defaults; None if unknown.
        port_options, …: long option names, in order of precedence.
        port_variables, …: environment variables that apply without such an option.
        positional_model: the first positional argument is the model.
        name_is: the default model name: "model" (the path as given), "basename", a fixed name, or "?" (unknown).
    """

    name: str
    programs: tuple[str, ...]
    api: Api = Api.OPENAI_CHAT
    port: int | None = 8000
    host: str | None = EVERYWHERE
    port_options: tuple[str, ...] = ("port",)
    host_options: tuple[str, ...] = ("host",)
    bind_options: tuple[str, ...] = ()
    model_options: tuple[str, ...] = ("model",)
    name_options: tuple[str, ...] = ("served-model-name",)
    key_options: tuple[str, ...] = ("api-key",)
    port_variables: tuple[str, ...] = ()
    host_variables: tuple[str, ...] = ()
    model_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    positional_model: bool = False
    default_model: str | None = None
    name_is: str = "model"
    grammar: Grammar = field(default_factory=Grammar)


_SHORT_LLAMA = {
    "-m": "model",
    "-a": "alias",
    "-c": "ctx-size",
    "-t": "threads",
    "-ngl": "n-gpu-layers",
}
_SGLANG_SWITCHES = frozenset(
    {"trust-remote-code", "disable-radix-cache", "enable-metrics", "is-embedding"}
)
_BIND = {"-b": "bind", "-w": "workers", "-k": "worker-class", "-t": "timeout", "-c": "config"}
_WebServer = functools.partial(Engine, api=Api.UNKNOWN, model_options=(), name_is="?")
"""A web server; the submission's own code or configuration makes it a model server."""

ENGINES: tuple[Engine, ...] = (
    Engine(
        name="vllm",
        programs=("vllm serve", "-m vllm.entrypoints.cli.main serve", "-m vllm serve", "vllm-omni serve"),
        key_variables=("VLLM_API_KEY",), positional_model=True, default_model="Qwen/Qwen3-0.6B",
    ),
    Engine(
        name="vllm", programs=("-m vllm.entrypoints.openai.api_server", "-m vllm.entrypoints.openai"),
        key_variables=("VLLM_API_KEY",), default_model="Qwen/Qwen3-0.6B",
    ),
    Engine(name="vllm", programs=("-m vllm.entrypoints.api_server",), api=Api.DEMO),
    Engine(name="vllm", programs=("-m vllm", "vllm"), api=Api.UNKNOWN, port=None),
    Engine(
        name="sglang", programs=("-m sglang.launch_server", "sglang serve", "-m sglang.srt.server"), port=30000,
        host=LOOPBACK, model_options=("model-path", "model"),
        grammar=Grammar(switches=_SGLANG_SWITCHES, valued=frozenset({"model-path", "port", "host"})),
    ),
    Engine(
        name="lmdeploy",
        programs=("lmdeploy serve api_server", "-m lmdeploy serve api_server", "-m lmdeploy.serve"),
        port=23333, port_options=("server-port",), host_options=("server-name",), name_options=("model-name",),
        key_options=("api-keys",), positional_model=True, model_options=("model-path",),
    ),
    Engine(
        name="lmdeploy", programs=("lmdeploy serve", "lmdeploy", "-m lmdeploy"), api=Api.OPENAI_OTHER, port=23333,
    ),
    Engine(
        name="llama.cpp", programs=("llama-server", "server"), port=8080, host=LOOPBACK, name_options=("alias",),
        port_variables=("LLAMA_ARG_PORT",), host_variables=("LLAMA_ARG_HOST",),
        model_variables=("LLAMA_ARG_MODEL",),
        key_options=("api-key", "api-key-file"), key_variables=("LLAMA_API_KEY",),
        grammar=Grammar(short=_SHORT_LLAMA, switches=frozenset({"jinja", "metrics", "no-mmap", "mlock"})),
    ),
    Engine(
        name="llama.cpp", programs=("-m llama_cpp.server",), host=LOOPBACK, name_options=("model-alias",),
        port_variables=("PORT",), host_variables=("HOST",), model_variables=("MODEL",),
    ),
    Engine(
        name="mindie", programs=("mindieservice_daemon", "mindie_llm_server", "-m mindie"), port=None, host=None,
        name_is="?", model_options=(),
    ),
    Engine(
        name="swift", programs=("swift deploy", "-m swift.cli.deploy"), name_is="basename",
        grammar=Grammar(valued=frozenset({"model", "port", "host", "served-model-name", "infer-backend"})),
    ),
    Engine(
        name="llamafactory", programs=("llamafactory-cli api", "-m llamafactory"), port_options=(), host_options=(),
        port_variables=("API_PORT",), host_variables=("API_HOST",), model_options=("model-name-or-path",),
        name_is="gpt-3.5-turbo", name_options=(), key_options=(), key_variables=("API_KEY",),
    ),
    _WebServer(name="proxy", programs=("nginx", "haproxy", "caddy"), port=None),
    _WebServer(
        name="litellm", programs=("litellm", "-m litellm"), port=4000, port_variables=("PORT",),
        host_variables=("HOST",), name_options=(), key_options=(), key_variables=("LITELLM_MASTER_KEY",),
        model_options=(),
        grammar=Grammar(
            short={"-c": "config", "-m": "model"},
            valued=frozenset({"config", "port", "host", "model", "api-base", "num-workers"}),
        ),
    ),
    _WebServer(
        name="uvicorn", programs=("uvicorn", "-m uvicorn", "python:uvicorn"), host=LOOPBACK,
        port_variables=("UVICORN_PORT",), host_variables=("UVICORN_HOST",),
    ),
    _WebServer(
        name="gunicorn", programs=("gunicorn", "-m gunicorn"), host=LOOPBACK, bind_options=("bind",),
        grammar=Grammar(short=_BIND),
    ),
    _WebServer(
        name="flask", programs=("flask", "-m flask", "python:flask"), port=5000, host=LOOPBACK,
        grammar=Grammar(short={"-p": "port", "-h": "host", "-A": "app"}),
        port_variables=("FLASK_RUN_PORT",), host_variables=("FLASK_RUN_HOST",),
    ),
    _WebServer(name="fastapi", programs=("fastapi run", "fastapi", "-m fastapi")),
    _WebServer(name="aiohttp", programs=("python:aiohttp",), port=8080),
    _WebServer(
        name="python-http", programs=("python:http.server", "python:asyncio", "python:tornado"),
    ),
    _WebServer(
        name="python-http", programs=("-m http.server",), api=Api.OPENAI_OTHER, host_options=("bind",),
    ),
)  # fmt: skip

UNKNOWN = _WebServer(
    name="unknown",
    programs=(),
    port=None,
    host=None,
    bind_options=("bind", "listen"),
    grammar=Grammar(short={"-b": "bind", "-p": "port"}),
)
WEB_SERVERS = frozenset(
    each.name for each in ENGINES if each.api is Api.UNKNOWN and not each.model_options
)
"""The engines that serve a program of the author, or pass requests on."""


def grammar_of(engine: Engine) -> Grammar:
    """The known options of an engine; those of vLLM are read from the catalogues on demand."""
    return vllm_grammar() if engine.name == "vllm" else engine.grammar


def find_engine(argv: tuple[str, ...]) -> tuple[Engine, tuple[str, ...]]:
    """The engine that a recorded command starts, and the engine's arguments."""
    words = (argv[0].rpartition("/")[2], *argv[1:])
    best, engine, skipped = "", UNKNOWN, 1
    for each in ENGINES:
        for program in each.programs:
            parts, at = tuple(program.split()), int(program.startswith("-m "))
            here = words[at : at + len(parts)]
            below = (
                at
                and len(parts) == len(here) == 2
                and here[0] == "-m"
                and here[1].startswith(f"{parts[1]}.")
            )
            if (here == parts or below) and len(program) > len(best):
                best, engine, skipped = program, each, at + len(parts)
    return engine, words[skipped:]


def by_variable(names: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The first environment variable that is set, with its value."""
    return next(((name, environment[name]) for name in names if environment.get(name)), None)


def is_fixed_address(host: str) -> bool:
    """Whether the host is an IP address of one machine, neither unspecified nor loopback."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback)
