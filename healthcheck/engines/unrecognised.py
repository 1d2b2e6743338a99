"""A server that the kit does not recognise, and the launch of which nothing is known."""

from __future__ import annotations

from healthcheck.engines.base import Api, Engine, Grammar, Launch, Loading, Memory, Options

UNRECOGNISED = Engine(
    name="unknown",
    of_many_programs=True,
    options=Options(remote_code=True),
    loading=Loading(as_vllm=True),
    memory=Memory(),
)
"""A program that may start any engine, vLLM included."""

NO_SERVER = Engine(
    name="",
    options=Options(remote_code=True),
    loading=Loading(as_vllm=True, generation_config=True, gguf_alone=True),
    memory=Memory(),
)
"""In place of the engine of a submission that starts no server, or that was not read.

Its weights are judged like those of vLLM, and may be made for an engine that reads GGUF files.
"""

LAUNCHES = (
    Launch(
        engine=UNRECOGNISED,
        programs=(),
        api=Api.UNKNOWN,
        port=None,
        host=None,
        model_options=(),
        name_is="?",
        bind_options=("bind", "listen"),
        grammar=Grammar(short={"-b": "bind", "-p": "port"}),
    ),
)
