"""LMDeploy."""

from __future__ import annotations

from healthcheck.engines.base import Api, Engine, Launch, Loading, Options, Serving

_PORT = 23333

LMDEPLOY = Engine(
    name="lmdeploy",
    package="lmdeploy",
    options=Options(
        port="--server-port", host="--server-name", name="--model-name", decide_port=True
    ),
    serving=Serving(chat_at_one_path=True, has_a_name=True, named_by_path=True),
    loading=Loading(own_templates=True),
)

LAUNCHES = (
    Launch(
        engine=LMDEPLOY,
        programs=("lmdeploy serve api_server", "-m lmdeploy serve api_server", "-m lmdeploy.serve"),
        port=_PORT,
        port_options=("server-port",),
        host_options=("server-name",),
        name_options=("model-name",),
        key_options=("api-keys",),
        positional_model=True,
        model_options=("model-path",),
    ),
    Launch(
        engine=LMDEPLOY,
        programs=("lmdeploy serve", "lmdeploy", "-m lmdeploy"),
        api=Api.OPENAI_OTHER,
        port=_PORT,
    ),
)
