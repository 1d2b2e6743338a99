"""SGLang."""

from __future__ import annotations

from healthcheck.engines.base import (
    LOOPBACK,
    Engine,
    Grammar,
    Launch,
    Loading,
    Memory,
    Options,
    Serving,
)

SGLANG = Engine(
    name="sglang",
    package="sglang",
    options=Options(decide_port=True, name_the_model=True, config_file=True, remote_code=True),
    serving=Serving(
        chat_at_one_path=True, has_a_name=True, named_by_path=True, binds_host_as_given=True
    ),
    loading=Loading(own_templates=True),
    memory=Memory(),
)

LAUNCHES = (
    Launch(
        engine=SGLANG,
        programs=("-m sglang.launch_server", "sglang serve", "-m sglang.srt.server"),
        port=30000,
        host=LOOPBACK,
        model_options=("model-path", "model"),
        grammar=Grammar(
            switches=frozenset(
                {"trust-remote-code", "disable-radix-cache", "enable-metrics", "is-embedding"}
            ),
            valued=frozenset({"model-path", "port", "host"}),
        ),
    ),
)
