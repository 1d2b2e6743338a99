"""What is known about inference servers: how each is started, names its options, and what it does by default."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.plan.records import Api
from healthcheck.plan.servers.options import Grammar, vllm_grammar

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is looked for
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One way to start a server.

    Attributes:
        programs: command words that start it, longest match first ("vllm serve"); a module as "-m name".
        port, host: the engine's defaults; None where it has none that is known.
        port_options, …: long option names, in the order in which they count.
        port_variables, …: environment variables that set it where no option does.
        positional_model: the first positional argument names the model.
        name_is: what it calls the model by default: "model" (the path as given), "basename", or a fixed name.
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


_VLLM = vllm_grammar()
_SHORT_LLAMA = {"-m": "model", "-a": "alias", "-c": "ctx-size", "-t": "threads", "-ngl": "n-gpu-layers"}
_SGLANG_SWITCHES = frozenset({"trust-remote-code", "disable-radix-cache", "enable-metrics", "is-embedding"})
_BIND = {"-b": "bind", "-w": "workers", "-k": "worker-class", "-t": "timeout", "-c": "config"}

ENGINES: tuple[Engine, ...] = (
    Engine(
        name="vllm",
        programs=("vllm serve", "-m vllm.entrypoints.cli.main serve", "-m vllm serve", "vllm-omni serve"),
        key_variables=("VLLM_API_KEY",), positional_model=True, default_model="Qwen/Qwen3-0.6B", grammar=_VLLM,
    ),
    Engine(
        name="vllm", programs=("-m vllm.entrypoints.openai.api_server", "-m vllm.entrypoints.openai"),
        key_variables=("VLLM_API_KEY",), default_model="Qwen/Qwen3-0.6B", grammar=_VLLM,
    ),
    Engine(name="vllm", programs=("-m vllm.entrypoints.api_server",), api=Api.DEMO, grammar=_VLLM),
    Engine(name="vllm", programs=("-m vllm", "vllm"), api=Api.UNKNOWN, port=None, grammar=_VLLM),
    Engine(
        name="sglang", programs=("-m sglang.launch_server", "sglang serve", "-m sglang.srt.server"), port=30000,
        host=LOOPBACK, model_options=("model-path", "model"), positional_model=False,
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
        name="tgi", programs=("text-generation-launcher", "-m text_generation_launcher"), port=3000,
        port_options=("port",), host_options=("hostname",), model_options=("model-id",), port_variables=("PORT",),
        model_variables=("MODEL_ID",), grammar=Grammar(short={"-p": "port"}), name_options=(),
    ),
    Engine(
        name="fastchat", programs=("-m fastchat.serve.openai_api_server",), host=LOOPBACK, model_options=(),
        name_is="?", name_options=(), key_options=("api-keys",),
    ),
    Engine(
        name="fastchat", programs=("-m fastchat.serve.controller",), api=Api.OPENAI_OTHER, port=21001,
        model_options=(),
    ),
    Engine(
        name="fastchat", programs=("-m fastchat.serve",), api=Api.OPENAI_OTHER, port=21002, name_is="basename",
        model_options=("model-path",), name_options=("model-names",),
    ),
    Engine(
        name="ollama", programs=("ollama serve", "ollama"), port=11434, host=LOOPBACK, model_options=(),
        name_is="?", port_variables=("OLLAMA_HOST",), host_variables=("OLLAMA_HOST",),
    ),
    Engine(name="xinference", programs=("xinference", "xinference-local"), port=9997, host=LOOPBACK, name_is="?"),
    Engine(
        name="swift", programs=("swift deploy", "-m swift.cli.deploy"), name_is="basename",
        grammar=Grammar(valued=frozenset({"model", "port", "host", "served-model-name", "infer-backend"})),
    ),
    Engine(
        name="llamafactory", programs=("llamafactory-cli api", "-m llamafactory"), port_options=(), host_options=(),
        port_variables=("API_PORT",), host_variables=("API_HOST",), model_options=("model-name-or-path",),
        name_is="gpt-3.5-turbo", name_options=(), key_options=(), key_variables=("API_KEY",),
    ),
    Engine(name="trtllm", programs=("trtllm-serve serve", "trtllm-serve"), host=LOOPBACK, positional_model=True),
    Engine(name="litellm", programs=("litellm", "-m litellm"), port=4000, name_is="?"),
    Engine(name="transformers", programs=("transformers serve",), host=LOOPBACK, model_options=("force-model",)),
    Engine(name="aphrodite", programs=("aphrodite run", "-m aphrodite"), port=2242, positional_model=True),
    Engine(name="ktransformers", programs=("-m ktransformers",), port=10002, model_options=("model-path",)),
    Engine(
        name="proxy", programs=("nginx", "haproxy", "caddy"), api=Api.UNKNOWN, port=None, model_options=(),
        name_is="?",
    ),
    Engine(name="tritonserver", programs=("tritonserver",), api=Api.OPENAI_OTHER, port_options=("http-port",)),
    Engine(
        name="uvicorn", programs=("uvicorn", "-m uvicorn", "python:uvicorn"), api=Api.UNKNOWN, host=LOOPBACK,
        model_options=(), name_is="?", port_variables=("UVICORN_PORT",), host_variables=("UVICORN_HOST",),
    ),
    Engine(
        name="gunicorn", programs=("gunicorn", "-m gunicorn"), api=Api.UNKNOWN, host=LOOPBACK,
        bind_options=("bind",), model_options=(), name_is="?", grammar=Grammar(short=_BIND),
    ),
    Engine(
        name="hypercorn", programs=("hypercorn", "-m hypercorn", "python:hypercorn"), api=Api.UNKNOWN,
        host=LOOPBACK, bind_options=("bind",), model_options=(), name_is="?", grammar=Grammar(short=_BIND),
    ),
    Engine(
        name="flask", programs=("flask", "-m flask", "python:flask"), api=Api.UNKNOWN, port=5000, host=LOOPBACK,
        model_options=(), name_is="?", grammar=Grammar(short={"-p": "port", "-h": "host", "-A": "app"}),
        port_variables=("FLASK_RUN_PORT",), host_variables=("FLASK_RUN_HOST",),
    ),
    Engine(
        name="fastapi", programs=("fastapi run", "fastapi", "-m fastapi"), api=Api.UNKNOWN, model_options=(),
        name_is="?",
    ),
    Engine(name="aiohttp", programs=("python:aiohttp",), api=Api.UNKNOWN, port=8080, model_options=(), name_is="?"),
    Engine(
        name="waitress", programs=("python:waitress", "waitress-serve"), api=Api.UNKNOWN, port=8080, name_is="?",
        model_options=(), bind_options=("listen",),
    ),
    Engine(
        name="granian", programs=("granian", "-m granian"), api=Api.UNKNOWN, host=LOOPBACK, model_options=(),
        name_is="?", port_variables=("GRANIAN_PORT",), host_variables=("GRANIAN_HOST",),
    ),
    Engine(
        name="daphne", programs=("daphne", "-m daphne"), api=Api.UNKNOWN, host=LOOPBACK, model_options=(),
        name_is="?", host_options=("bind",), grammar=Grammar(short={"-p": "port", "-b": "bind"}),
    ),
    Engine(name="gradio", programs=("python:gradio", "gradio"), api=Api.OPENAI_OTHER, port=7860, name_is="?"),
    Engine(name="streamlit", programs=("streamlit",), api=Api.OPENAI_OTHER, port=8501, name_is="?"),
    Engine(
        name="python-http", programs=("python:http.server", "python:asyncio", "python:bottle", "python:tornado"),
        api=Api.UNKNOWN, model_options=(), name_is="?",
    ),
    Engine(
        name="python-http", programs=("-m http.server",), api=Api.OPENAI_OTHER, model_options=(), name_is="?",
        host_options=("bind",),
    ),
)  # fmt: skip

UNKNOWN = Engine(name="unknown", programs=(), api=Api.UNKNOWN, port=None, host=None, model_options=(), name_is="?")


def find_engine(argv: tuple[str, ...]) -> tuple[Engine, tuple[str, ...]]:
    """The engine that a recorded command starts, and what it receives."""
    words = _words(argv)
    best: tuple[int, Engine, tuple[str, ...]] = (0, UNKNOWN, words[1:])
    for engine in ENGINES:
        for program in engine.programs:
            parts = program.split()
            if parts[0] == "-m":
                matches = len(words) > 2 and words[1] == "-m" and _starts(words[1:], parts)
                skipped = len(parts) + 1
            else:
                matches = words[: len(parts)] == tuple(parts)
                skipped = len(parts)
            length = len(program)
            if matches and length > best[0]:
                best = (length, engine, words[skipped:])
    return best[1], best[2]


def _starts(words: tuple[str, ...], parts: list[str]) -> bool:
    """`-m module` also matches the modules below it where nothing longer does."""
    exact = words[: len(parts)] == tuple(parts)
    return exact or (len(parts) == 2 and words[1].startswith(f"{parts[1]}."))


def _words(argv: tuple[str, ...]) -> tuple[str, ...]:
    return (argv[0].rpartition("/")[2], *argv[1:])


def by_variable(names: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The first of the environment variables that is set, with its value."""
    return next(((name, environment[name]) for name in names if environment.get(name)), None)


def is_address(host: str) -> bool:
    """Whether it is an IP address, written out."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_fixed_address(host: str) -> bool:
    """Whether it is the address of one machine, written out."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback)
