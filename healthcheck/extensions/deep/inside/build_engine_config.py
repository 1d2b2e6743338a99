"""Builds the engine's configuration for arguments of `vllm serve` with vLLM's and vllm-ascend's own code.

    python build_engine_config.py REQUEST ANSWER

REQUEST has `argv`, `model` (the folder of the weights), `given` (the options of the submission, by the name of
their variable) and `build` (the device family for which vllm-ascend should consider itself built). ANSWER has the
stage reached, the error, and the given options that now have another value. Nothing runs on a device.
"""

import ast
import contextlib
import importlib
import json
import logging
import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

PARSERS = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.launchers.cli_args")
PARTS = (
    "model_config", "cache_config", "parallel_config", "scheduler_config", "load_config", "attention_config",
    "compilation_config", "lora_config", "observability_config",
)  # fmt: skip
BUILT = {
    "model_config": ("max_model_len", "dtype", "quantization"),
    "cache_config": ("block_size",),
    "parallel_config": ("tensor_parallel_size", "distributed_executor_backend"),
}
SAME = {"half": "float16", "float": "float32"}
FILE_BYTES = 64 << 20
TEXT_CHARS = 4000
MOST_LINES = 100


class Refused(Exception):  # noqa: N818 - what a report shows
    """The parser would have ended the program with this message."""


class Answer:
    """The answer so far, always up to date on disk."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self.fields: dict[str, object] = {"stage": "begin", "error": None, "resets": [], "built": {}}

    def write(self, **fields: object) -> None:
        self.fields |= fields
        half = self._path.with_name(f"{self._path.name}.half")
        half.write_text(json.dumps(self.fields), encoding="utf-8")
        half.replace(self._path)


class Warnings(logging.Handler):
    """Collects the lines in which vllm-ascend names a parameter that it resets."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "parameter=" in text and "resetting" in text and len(self.lines) < MOST_LINES:
            self.lines.append(text)


class Launch:
    """The steps of `vllm serve` from its arguments to the configuration."""

    cli: Any
    arguments: Any
    config: Any

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self.warnings = Warnings()

    def load(self) -> None:
        importlib.import_module("torch_npu")
        build_info: Any = importlib.import_module("vllm_ascend._build_info")
        build_info.__device_type__ = self._request["build"]
        platform = importlib.import_module("vllm.platforms").current_platform
        if platform.device_type != "npu":
            raise ImportError(f"vLLM takes this for a machine with {platform.device_type!r}, not with an NPU")
        self.cli = cli_module()
        for name in ("vllm", "vllm_ascend"):
            logging.getLogger(name).addHandler(self.warnings)

    def parse(self) -> None:
        base: Any = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser

        class Parser(base):  # type: ignore[misc]
            def error(self, message: str) -> NoReturn:
                raise Refused(message)

        parser = self.cli.make_arg_parser(Parser(prog="vllm serve"))
        self.arguments = parser.parse_args(self._request["argv"])
        self.arguments.model = self._request["model"]
        self.arguments.model_tag = None
        self.arguments.trust_remote_code = False  # no code of the model runs here, whatever was requested

    def validate(self) -> None:
        self.cli.validate_parsed_serve_args(self.arguments)

    def build(self) -> None:
        engine = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(self.arguments)
        usage = importlib.import_module("vllm.usage.usage_lib").UsageContext.OPENAI_API_SERVER
        self.config = engine.create_engine_config(usage_context=usage)


def run(request: dict[str, Any], answer: Answer) -> None:
    launch = Launch(request)
    steps = {"import": launch.load, "parse": launch.parse, "validate": launch.validate, "build": launch.build}
    try:
        for stage, step in steps.items():
            answer.write(stage=stage)
            step()
        answer.write(stage="done", resets=resets(request["given"], launch), built=built(launch.config))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
        answer.write(error=told(error))


def cli_module() -> ModuleType:
    for name in PARSERS:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    raise ImportError(f"vLLM has its parser in none of {', '.join(PARSERS)}")


def resets(given: dict[str, str], launch: Launch) -> list[dict[str, str]]:
    """The given options with another value in the configuration, or that vllm-ascend reports as reset."""
    said = {line.partition("parameter=")[2].partition(",")[0].strip(): line for line in launch.warnings.lines}
    found = []
    for name, option in given.items():
        wanted, now = plain(getattr(launch.arguments, name, None)), final(launch.config, name)
        comparable = wanted is not None and type(now) is type(wanted)
        if (comparable and wanted == now) or (name not in said and (not comparable or wanted in ("auto", -1))):
            continue
        values = {"given": str(wanted), "now": str(now) if comparable else ""}
        found.append({"option": option, **values, "said": said.get(name, "")})
    return found


def final(config: Any, name: str) -> object:
    """The plain value of a field in the first part of the configuration that has it."""
    parts = (getattr(config, part, None) for part in PARTS)
    holder = next((part for part in parts if name in getattr(type(part), "__dataclass_fields__", {})), None)
    return plain(getattr(holder, name, None))


def plain(value: object) -> object:
    """A number, a boolean or a word; None for anything else."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return SAME.get(value, value)
    text = str(value)
    return text.removeprefix("torch.") if text.startswith("torch.") else None


def built(config: Any) -> dict[str, object]:
    """A few values of the configuration, for the report."""
    named = ((part, name) for part, names in BUILT.items() for name in names)
    values = {name: plain(getattr(getattr(config, part), name, None)) for part, name in named}
    return {name: value for name, value in values.items() if value is not None}


def told(error: BaseException) -> dict[str, object]:
    """The error as plain facts, which the kit judges."""
    inner, text = unwrapped(error)
    frames = traceback.extract_tb(inner.__traceback__, limit=-1)
    file, line = (frames[0].filename, frames[0].lineno or 0) if frames else ("", 0)
    unanswered = any(kind.__name__ == "Unanswerable" for kind in causes(inner))
    return {
        "kinds": [kind.__name__ for kind in type(inner).__mro__],
        "text": text[:TEXT_CHARS],
        "raised_in": f"{file.rpartition('site-packages/')[2]}:{line}" if file else "",
        "deliberate": isinstance(inner, Refused) or has_entries(inner) or is_raised(file, line),
        "from_stub": unanswered or "stub of" in str(error),
    }


def unwrapped(error: Any) -> tuple[BaseException, str]:
    """The error that a validator raised inside pydantic's, with its text; else pydantic's own message."""
    if not has_entries(error):
        return error, str(error).strip()
    entries = error.errors(include_url=False)
    inner = next((entry["ctx"]["error"] for entry in entries if "error" in entry.get("ctx", {})), None)
    if isinstance(inner, BaseException):
        return unwrapped(inner)
    return error, "; ".join(f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in entries)


def has_entries(error: BaseException) -> bool:
    """Whether it is a pydantic error, raised by compiled code for a value of the wrong type."""
    return callable(getattr(error, "errors", None))


def causes(error: BaseException | None) -> Iterator[type[BaseException]]:
    """The types of an error and of its causes."""
    for _ in range(20):
        if error is None:
            return
        yield type(error)
        error = error.__cause__ or error.__context__


def is_raised(file: str, line: int) -> bool:
    """Whether the line belongs to a raise or assert statement: an accidental error does not."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    raising = (node for node in ast.walk(tree) if isinstance(node, (ast.Raise, ast.Assert)))
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in raising)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Answer(sys.argv[2]))
