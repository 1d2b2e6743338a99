"""llama.cpp: its own server, and that of llama-cpp-python."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.engines.base import LOOPBACK, Engine, Grammar, Launch, Loading, Options, Serving

LLAMA_CPP = Engine(
    name="llama.cpp",
    package="llama-cpp-python",
    options=Options(name="--alias", decide_port=True),
    serving=Serving(chat_at_one_path=True, has_a_name=True),
    loading=Loading(by_architecture=False, own_templates=True, gguf_alone=True, one_gguf_file=True),
)

LLAMA_CPP_PYTHON = replace(LLAMA_CPP, options=replace(LLAMA_CPP.options, name="--model_alias"))
"""The server of llama-cpp-python, whose options have underscores. Source: add_args_from_model in its cli.py."""

_SHORT = {
    "-m": "model",
    "-a": "alias",
    "-c": "ctx-size",
    "-t": "threads",
    "-ngl": "n-gpu-layers",
}

LAUNCHES = (
    Launch(
        engine=LLAMA_CPP,
        programs=("llama-server", "server"),
        port=8080,
        host=LOOPBACK,
        name_options=("alias",),
        port_variables=("LLAMA_ARG_PORT",),
        host_variables=("LLAMA_ARG_HOST",),
        model_variables=("LLAMA_ARG_MODEL",),
        key_options=("api-key", "api-key-file"),
        key_variables=("LLAMA_API_KEY",),
        grammar=Grammar(short=_SHORT, switches=frozenset({"jinja", "metrics", "no-mmap", "mlock"})),
    ),
    Launch(
        engine=LLAMA_CPP_PYTHON,
        programs=("-m llama_cpp.server",),
        host=LOOPBACK,
        name_options=("model-alias",),
        port_variables=("PORT",),
        host_variables=("HOST",),
        model_variables=("MODEL",),
    ),
)
