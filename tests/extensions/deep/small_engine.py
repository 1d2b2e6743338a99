"""An environment for `verify --deep` in which vLLM, vllm-ascend and torch are a few lines each.

It is found, asked and judged as the real one is; the engine refuses, resets and breaks as its arguments say.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from healthcheck.ascend import stacks

VERSIONS = {"vllm": "0.23.0+empty", "vllm-ascend": stacks.DEFAULT, "transformers": "5.5.4", "torch": "2.13.0"}
MODULES = {
    "torch/__init__.py": """
import sys, types
class utils:
    rename_privateuse1_backend = staticmethod(lambda name: None)
class distributed: ...
def _register_device_module(name, module):
    sys.modules["torch." + name] = module
    globals()[name] = module
""",
    "vllm/__init__.py": "",
    "vllm/utils/__init__.py": "",
    "vllm/utils/argparse_utils.py": "from argparse import ArgumentParser as FlexibleArgumentParser",
    "vllm/platforms.py": """
import torch_npu, torchair, acl.rt, vllm_ascend._build_info
from torch_npu.contrib import transfer
from torchvision.transforms.v2 import functional
@torch_npu.compiled
def step(): return 1
class Options(torch_npu.ProcessGroup.Options): ...
assert not isinstance(step, torch_npu.Event)
stream: torch_npu.Stream | None = None
class current_platform: device_type = "npu" if step() == 1 else "cpu"
""",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/openai/__init__.py": "",
    "vllm/entrypoints/openai/cli_args.py": """
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    for name in ("--model", "--host", "--quantization", "--tool-call-parser", "--served-model-name",
                 "--hf-config-path", "--speculative-config"):
        parser.add_argument(name)
    for name in ("--port", "--tensor-parallel-size", "--block-size", "--max-model-len"):
        parser.add_argument(name, type=int)
    for name in ("--disable-cascade-attn", "--enable-auto-tool-choice", "--trust-remote-code"):
        parser.add_argument(name, action="store_true")
    return parser

def validate_parsed_serve_args(arguments):
    if arguments.enable_auto_tool_choice and not arguments.tool_call_parser:
        raise TypeError("Error: --enable-auto-tool-choice requires --tool-call-parser")
""",
    "vllm/usage/__init__.py": "",
    "vllm/usage/usage_lib.py": "class UsageContext: OPENAI_API_SERVER = 'api'",
    "vllm/engine/__init__.py": "",
    "vllm/engine/arg_utils.py": """
import dataclasses, json, logging, os, signal, subprocess, sys, time
import torch, torch_npu, vllm_ascend._build_info

@dataclasses.dataclass
class Model: max_model_len: int; dtype: str; quantization: str; disable_cascade_attn: bool
@dataclasses.dataclass
class Cache: block_size: int
@dataclasses.dataclass
class Parallel: tensor_parallel_size: int; distributed_executor_backend: str = "mp"
@dataclasses.dataclass
class Config: model_config: Model; cache_config: Cache; parallel_config: Parallel

class Invalid(ValueError):
    def errors(self, include_url): return [{"loc": ("block_size",), "msg": "Input should be 16 or 128"}]

class AsyncEngineArgs:
    @classmethod
    def from_cli_args(cls, arguments):
        made = cls()
        made.asked = arguments
        return made

    def create_engine_config(self, usage_context):
        asked, heads = self.asked, json.load(open(self.asked.model + "/config.json"))["num_attention_heads"]
        size = asked.tensor_parallel_size or 1
        if asked.trust_remote_code: raise ValueError("the code of the model would run now")
        if asked.speculative_config:
            draft = json.loads(asked.speculative_config)["model"]
            raise ValueError(f"Invalid repository ID or local directory specified: '{draft}'. Please verify")
        if asked.quantization == "own": raise ValueError("own code: pass trust_remote_code=True")
        if asked.quantization == "accident": {}["nothing"]
        if asked.quantization == "npu": bool(torch_npu.npu.get_mode())
        if asked.quantization == "swallowed":
            try: int(torch.npu.anything)
            except Exception: raise ValueError("the device is none of ours")
        if asked.quantization == "missing": raise ValueError("bitsandbytes is not installed")
        if asked.quantization == "no-config": raise OSError("no file named so")
        if asked.quantization == "gone": os.kill(os.getpid(), signal.SIGKILL)
        if asked.quantization == "loud": print("x" * 5_000_000)
        if asked.quantization == "slow":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "left-behind"])
            time.sleep(600)
        if asked.quantization == "build": raise ValueError(f"built for {vllm_ascend._build_info.__device_type__}, "
            f"{torch.npu.device_count()} of {torch.npu.get_device_name(0)}, {os.environ.get('VLLM_ASCEND_ENABLE_NZ')}")
        if asked.block_size == 17: raise Invalid()
        if size == 5: raise AssertionError
        if heads % size:
            raise ValueError(
                f"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({size}).")
        if asked.disable_cascade_attn:
            logging.getLogger("vllm_ascend").warning("Not on Ascend. parameter=disable_cascade_attn, action: resetting to False.")
        logging.getLogger("vllm").warning("Not on Ascend. parameter=not_given, action: resetting to None.")
        longest = asked.max_model_len if asked.max_model_len != -1 else 4096
        return Config(Model(longest, "bfloat16", asked.quantization, False), Cache(128), Parallel(size))
""",
    "vllm_ascend/__init__.py": "",
    "vllm_ascend/_build_info.py": "__device_type__ = 'A2'",
}


def make(folder: Path, versions: Mapping[str, str] = VERSIONS, **modules: str) -> Path:
    """The environment, as a folder with bin/python; `modules` replace the text of a module ("vllm_platforms")."""
    for name, text in MODULES.items():
        path = folder / "site-packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(modules.get(name.removesuffix(".py").replace("/", "_"), text), encoding="utf-8")
    for name, version in versions.items():
        info = folder / "site-packages" / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
        )
    site = folder / "site-packages"
    script = f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec {sys.executable} -S "$@"\n'
    return executable(folder, script)


def executable(folder: Path, script: str) -> Path:
    """A folder whose bin/python is this script."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(script, encoding="utf-8")
    python.chmod(0o755)
    return folder
