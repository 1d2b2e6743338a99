"""Stubs for the engines' Python interfaces: they record the servers and models that a program starts and loads."""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import os
import re
import sys
from typing import Any

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import image, main_guard, note, recorded_servers, shadows
from healthcheck.stages.plan.dry_run.stubs.permissive import Anything, Base

_SERVER_MODULES = tuple(f"{name}." for name in (
    "vllm", "vllm.entrypoints", "sglang", "lmdeploy", "llama_cpp.server", "fastchat.serve", "xinference",
    "swift.cli.deploy", "llamafactory", "mindie", "mindspeed", "litellm", "transformers.commands", "vllm_omni",
    "vllm_ascend", "ktransformers", "http.server", "streamlit", "gradio", "bentoml", "openllm",
))  # fmt: skip
"""Modules that start a server under `python -m`, including their submodules."""
_VLLM_PROGRAMS = tuple(f"vllm.{name}" for name in (
    "entrypoints.openai.api_server", "entrypoints.api_server", "entrypoints.cli.main", "entrypoints.grpc_server",
    "entrypoints.openai.run_batch", "entrypoints.launchers.api_server.entry", "entrypoints.launchers.grpc_server",
    "entrypoints.launchers.run_batch",
))  # fmt: skip
"""Submodules of vLLM that `python -m` can run in some release."""
_TYPING_ERROR = 0.85
"""Similarity of a misspelt module name to the correct one."""
_STARTS_PROCESSES = ("LLM", "AsyncLLMEngine", "AsyncLLM", "LLMEngine")
"""The classes of vLLM that start an engine process."""
_ENDS_BY_ITSELF = re.compile(
    r"\.(?:collect_env|check_env|env|version|run_batch|utils|bench\w*)(?:\.|$)"
)


class Arguments(argparse.Namespace):
    """Parsed arguments of an engine: every attribute exists; keeps the command line."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return None


class Parser(argparse.ArgumentParser):
    """An engine's own parser: accepts every option, since the real ones are unknown."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        argv = [str(a) for a in (sys.argv[1:] if args is None else args)]
        known, _ = super().parse_known_args(argv, namespace or Arguments())
        known.command_line_ = argv
        known.given_ = dict(vars(known))
        return known

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        return self.parse_args(args, namespace), []

    def error(self, message: str) -> Any:
        raise SystemExit(message)


def _changed(parsed: Any) -> list[str]:
    """The command line of parsed arguments, with attributes that were changed later."""
    values = dict(vars(parsed)) if hasattr(parsed, "__dict__") else {}
    argv = list(values.pop("command_line_", []))
    given = values.pop("given_", {})
    for name, value in values.items():
        if value != given.get(name) and value is not None:
            argv += option(name, value)
    return argv


def option(name: str, value: Any) -> list[str]:
    """A keyword argument as words of a command line."""
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    if value is False or value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [flag, *map(str, value)]
    return [flag, json.dumps(value) if isinstance(value, dict) else str(value)]


async def _vllm_run_server(parsed: Any, *_: Any, **__: Any) -> None:
    main_guard.record("run_server")
    shadows.record_for_server()
    recorded_servers.act_as_server(
        "python3", ["-m", "vllm.entrypoints.openai.api_server", *_changed(parsed)]
    )


def _vllm_main(*_: Any, **__: Any) -> None:
    main_guard.choose_spawn()
    if sys.argv[1:2] == ["serve"]:
        main_guard.record("main")
        shadows.record_for_server()
        recorded_servers.act_as_server("vllm", sys.argv[1:])
    note.record("exec", "vllm", *sys.argv[1:])


class Engine(Base):
    """A model in the process: an engine, its arguments, or a transformers model."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if type(self).__name__ in _STARTS_PROCESSES:
            main_guard.record(type(self).__name__)
        named = map(kwargs.get, ("model", "model_path", "model_name_or_path"))
        first = (each for each in args if isinstance(each, (str, os.PathLike)))
        _loads(
            type(self).__name__, next((each for each in (*named, *first) if each is not None), None)
        )

    @classmethod
    def from_engine_args(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__name__ in _STARTS_PROCESSES:
            main_guard.record(cls.__name__)
        return Anything(cls.__name__)

    @classmethod
    def from_cli_args(cls, parsed: Any, *args: Any, **kwargs: Any) -> Any:
        _loads(cls.__name__, getattr(parsed, "model", None) or getattr(parsed, "model_tag", None))
        return Anything(f"{cls.__name__}")

    @classmethod
    def add_cli_args(cls, parser: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(
            "--model" in action.option_strings for action in getattr(parser, "_actions", [])
        ):
            parser.add_argument("--model")
        return parser


def _loads(what: str, source: Any) -> None:
    if source is not None:
        note.record("python", calls.LOADS_MODEL, what, str(source))


def from_pretrained(source: Any = None, *args: Any, **kwargs: Any) -> Any:
    source = kwargs.get("pretrained_model_name_or_path", source)
    _loads("from_pretrained", source)
    return Anything("from_pretrained()")


class Pretrained(Base):
    """AutoModelForCausalLM and similar classes."""

    from_pretrained = staticmethod(from_pretrained)


def _pipeline(task: Any = None, model: Any = None, **_: Any) -> Any:
    _loads("pipeline", model)
    return Anything("pipeline()")


def download(repo: Any = None, *args: Any, **kwargs: Any) -> str:
    repo = kwargs.get("repo_id") or kwargs.get("model_id") or repo
    target = str(
        kwargs.get("local_dir") or kwargs.get("cache_dir") or os.path.join("/tmp", "downloaded")  # noqa: S108
    )
    note.record("python", calls.DOWNLOADS, str(repo))
    os.makedirs(target, exist_ok=True)
    return target


def _sglang_launch_server(arguments: Any = None, *_: Any, **more: Any) -> None:
    given = {**getattr(arguments, "__dict__", {}), **more}
    argv = [part for key, value in given.items() for part in option(key, value)]
    recorded_servers.act_as_server("python3", ["-m", "sglang.launch_server", *argv])


def parts(name: str) -> dict[str, Any]:
    """The stubbed attributes of an engine's library, by module name."""
    top = name.split(".", maxsplit=1)[0]
    if top in {"vllm", "vllm_ascend", "vllm_omni"}:
        return {
            "FlexibleArgumentParser": Parser, "run_server": _vllm_run_server, "main": _vllm_main,
            "make_arg_parser": lambda parser=None, *_: parser or Parser(),
            "validate_parsed_serve_args": lambda *_: None,
            "cli_env_setup": main_guard.choose_spawn,
            **{each: type(each, (Engine,), {}) for each in (*_STARTS_PROCESSES, "AsyncEngineArgs", "EngineArgs")},
        }  # fmt: skip
    if top == "sglang":
        return {
            "launch_server": _sglang_launch_server, "ServerArgs": Base,
            "Engine": type("Engine", (Engine,), {}), "prepare_server_args": Parser().parse_args,
        }  # fmt: skip
    if top in {
        "transformers",
        "modelscope",
        "openmind",
        "diffusers",
        "peft",
        "optimum",
        "sentence_transformers",
    }:
        return {"pipeline": _pipeline, "snapshot_download": download, "__getattr__": _pretrained}
    if top in {"huggingface_hub", "openmind_hub"}:
        return {"snapshot_download": download, "hf_hub_download": download}
    if name in {"torch", "torch.cuda"}:
        cuda: Any = Anything("torch.cuda")
        cuda.is_available, cuda.device_count = (lambda: False), (lambda: 0)
        return {"cuda": cuda} if name == "torch" else {"is_available": lambda: False}
    return {}


def _pretrained(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Pretrained if name[0].isupper() else Anything(f"transformers.{name}")


def not_there(module: str) -> str:
    """Python's message for a module that no vLLM release has; "" if a release has it or may have it."""
    if module == "vllm":
        return "No module named vllm.__main__; 'vllm' is a package and cannot be directly executed"
    if module.startswith("vllm.") and not all(module.split(".")):
        return f"No module named {module}"
    near = module.startswith("vllm.") and difflib.get_close_matches(
        module, _VLLM_PROGRAMS, 1, _TYPING_ERROR
    )
    if not near or module in near:
        return ""
    parts = zip(module.split("."), near[0].split("."), strict=False)
    wrong = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], parts)))
    missing = ".".join(module.split(".")[: wrong + 1])
    cause = f"ModuleNotFoundError: No module named {missing!r}"
    return f"Error while finding module specification for {module!r} ({cause})"


def serves(module: str) -> bool:
    """Whether the module, run as a program, is a server."""
    servers = (*_SERVER_MODULES, *(f"{name}." for name in image.server_modules()))
    return not _ENDS_BY_ITSELF.search(module) and f"{module}.".startswith(servers)


def run_module(name: str) -> None:
    """Replaces `runpy.run_module` for an absent library."""
    if serves(name):
        if name.startswith("vllm."):
            shadows.record_for_server()
        recorded_servers.act_as_server("python3", ["-m", name, *sys.argv[1:]])
    note.record("exec", "python3", "-m", name, *sys.argv[1:])
