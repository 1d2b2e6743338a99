"""LLaMA-Factory, whose server takes its address from environment variables."""

from __future__ import annotations

from healthcheck.engines.base import Engine, Launch

LLAMAFACTORY = Engine(name="llamafactory", package="llamafactory", module="llama_factory")

LAUNCHES = (
    Launch(
        engine=LLAMAFACTORY,
        programs=("llamafactory-cli api", "-m llamafactory"),
        port_options=(),
        host_options=(),
        port_variables=("API_PORT",),
        host_variables=("API_HOST",),
        model_options=("model-name-or-path",),
        name_is="gpt-3.5-turbo",
        name_options=(),
        key_options=(),
        key_variables=("API_KEY",),
    ),
)
