"""xLLM, a server in C++ for NPUs and other accelerators.

Sources: xllm/xllm.cpp, xllm/server/xllm_server.cpp, xllm/api_service/chat_service_impl.cpp,
xllm/core/framework/config and xllm/launch_server.py of github.com/xLLM-AI/xllm (formerly jd-opensource/xllm), 2026.
"""

from __future__ import annotations

import functools

from healthcheck.engines.base import Engine, Grammar, Launch, Loading, Options, Serving

XLLM = Engine(
    name="xllm",
    package="",  # built from its repository; the package of this name on PyPI is another project
    options=Options(host="", name="--model_id", decide_port=True, name_the_model=True),
    serving=Serving(chat_at_one_path=True, has_a_name=True, refuses_other_names=True),
    # It looks up models by model_type, and has templates for some of them (--use_cpp_chat_template).
    loading=Loading(by_architecture=False, own_templates=True),
)

_Launch = functools.partial(
    Launch,
    engine=XLLM,
    port=8010,
    host_options=(),  # the HTTP server listens on every address; --host only names the instance
    name_options=("model-id",),
    key_options=(),
    name_is="basename",
    overriding_option="config-json-file",
    grammar=Grammar(valued=frozenset({"model", "model-id", "port", "host", "devices", "backend"})),
)

LAUNCHES = (
    _Launch(programs=("xllm",)),
    _Launch(
        programs=("-m xllm.launch_server",), port_options=("port", "start-port")
    ),  # it starts the program, with its arguments
)
