"""vLLM, with the plug-in vllm-ascend: the engine of the service's image, whose options the kit has catalogued."""

from __future__ import annotations

import functools

from healthcheck.engines.base import Api, Engine, Launch, Loading, Memory, Options, Serving

PROGRAM = "vllm"
DEFAULT_SHARE = 0.9
"""The default for gpu-memory-utilization before 0.23; 0.92 since (source: its argument parser)."""

VLLM = Engine(
    name="vllm",
    options=Options(
        catalogue="vllm-*.json",
        rewritten={"-O": "optimization-level"},
        decide_port=True,
        name_the_model=True,
        config_file=True,
        # Source: FlexibleArgumentParser.load_config_file.
        config_suffixes=(".yaml", ".yml"),
        adapters="lora-modules",
        socket="uds",
        remote_code=True,
        # `args.api_key or [envs.VLLM_API_KEY]` in api_server.py of 0.18.0 to 0.28.0, and in
        # serve/middleware/register.py of 0.29.0 to 0.33.0.
        empty_key_counts=False,
        # Sources: vllm/config and vllm/engine/arg_utils.py.
        code=frozenset({
            "worker-cls", "worker-extension-cls", "scheduler-cls", "logits-processors", "middleware",
            "distributed-executor-backend", "kv-transfer-config", "ec-transfer-config",
            "kv-transfer-config.kv-connector-module-path", "ec-transfer-config.ec-connector-module-path",
        }),
        # Sources: extras in vLLM's setup.py (0.23.0), and requirements/kv_connectors.txt.
        # No Dockerfile of vllm-ascend up to 0.30.0rc2 installs one of them.
        packages={
            "load-format": {
                "fastsafetensors": "fastsafetensors",
                "runai_streamer": "runai_model_streamer",
                "instanttensor": "instanttensor",
                "tensorizer": "tensorizer",
            },
            "kv-transfer-config": {"NixlConnector": "nixl"},
        },
        opened=frozenset({"VLLM_LOGGING_CONFIG_PATH"}),
    ),
    serving=Serving(
        chat_at_one_path=True,
        has_a_name=True,
        refuses_other_names=True,
        named_by_path=True,
        binds_host_as_given=True,
        needs_interfaces=True,
        owner="vllm",
    ),
    loading=Loading(
        as_vllm=True,
        by_vllm_ascend=True,
        generation_config=True,
        # Source: GGUFModelLoader._prepare_weights (vllm/model_executor/model_loader/gguf_loader.py).
        load_format_of_gguf="gguf",
    ),
    memory=Memory(share_options=("gpu-memory-utilization", "device-memory-utilization")),
)  # fmt: skip

_Launch = functools.partial(Launch, engine=VLLM)
_KEY = ("VLLM_API_KEY",)
_DEFAULT_MODEL = "Qwen/Qwen3-0.6B"

LAUNCHES = (
    _Launch(
        programs=("vllm serve", "-m vllm.entrypoints.cli.main serve", "-m vllm serve", "vllm-omni serve"),
        key_variables=_KEY, positional_model=True, default_model=_DEFAULT_MODEL,
    ),
    _Launch(
        programs=("-m vllm.entrypoints.openai.api_server", "-m vllm.entrypoints.openai"),
        key_variables=_KEY, default_model=_DEFAULT_MODEL,
    ),
    _Launch(programs=("-m vllm.entrypoints.api_server",), api=Api.DEMO),
    _Launch(programs=("-m vllm", "vllm"), api=Api.UNKNOWN, port=None),
)  # fmt: skip
