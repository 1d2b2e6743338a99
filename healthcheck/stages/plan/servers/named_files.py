"""Files, models and modules in a server's options and environment, besides the served weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from healthcheck.engines.base import Engine
from healthcheck.sandbox.job import Record
from healthcheck.stages.plan.servers.options import UNRESOLVED, CommandLine
from healthcheck.stages.plan.servers.python_path import LEFT_OUT, NAMED

FILE_VARIABLES = frozenset((
    "VLLM_LOGGING_CONFIG_PATH", "RANK_TABLE_FILE", "RANKTABLEFILE", "DISAGGREGATED_PREFILL_RANK_TABLE_PATH",
    "MOONCAKE_CONFIG_PATH", "LMCACHE_CONFIG_FILE", "MMC_LOCAL_CONFIG_PATH", "UCM_CONFIG_FILE",
))  # fmt: skip
"""Environment variables with a file that a library opens."""
_FILE_OPTIONS = {
    "config", "chat-template", "chat-template-file", "tool-parser-plugin", "reasoning-parser-plugin", "mmproj",
    "log-config-file", "allowed-local-media-path",
}  # fmt: skip
_MODEL_OPTIONS = {
    "tokenizer", "hf-config-path", "generation-config", "lora-modules", "speculative-config",
    "speculative-config.model",
}  # fmt: skip
"""Options with the folder of a model besides the served one."""
_MODULE_IN_JSON = re.compile(r'"\w+_module_path"\s*:\s*"([\w.]+)"')
_IN_JSON = re.compile(r'"(?:model|path)"\s*:\s*"([^"]*)"')
_PATH = re.compile(r"/|\.(jinja2?|json|txt|tpl)$")
_HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_PLACEHOLDER = re.compile(
    r"(?<![a-z])your(?![a-z])|<[^<>]+>|\{[^{}]+\}|\[(?!ngram\])[^\[\]]+\]|path[_-]?to[_-]|xxx|placeholder|model_?(?:path|dir)$",
    re.IGNORECASE,
)
"""A placeholder in place of a model's name."""
_DRAFT = "speculative-config"
_OWN_DRAFTS = {"ngram", "[ngram]", "ngram_gpu", "suffix", "extract_hidden_states"}


def missing(line: CommandLine, options: Mapping[str, str], record: Record) -> Iterator[str]:
    """The options with a file or folder that did not exist when the server started.

    `options` are those of the command line and of its configuration file.
    """
    for name in sorted(_FILE_OPTIONS & options.keys()):
        value = options[name]
        template = name == "chat-template" and (
            any(sign in value for sign in "{}\n") or not _PATH.search(value)
        )
        if value and not template and UNRESOLVED not in value and value not in record.paths:
            yield line.spelled.get(name, f"--{name} {value}")
    for name, model in _models(line, options, record):
        if model.startswith(("/", "./", "../")) or _PLACEHOLDER.search(model):
            yield f"--{name} {model}"


def missing_by_variable(record: Record) -> Iterator[str]:
    """The environment variables ("NAME=value") whose file did not exist when the server started."""
    for name in sorted(FILE_VARIABLES & record.env.keys()):
        value = record.env[name]
        if value and UNRESOLVED not in value and value not in record.paths:
            yield f"{name}={value}"


def on_the_hub(line: CommandLine, options: Mapping[str, str], record: Record) -> Iterator[str]:
    """The options with the name of a model on a hub instead of an existing folder."""
    for name, model in _models(line, options, record):
        # A name with a dot and without a slash is a Python class (pkg.Proposer).
        bare = (
            name.startswith(_DRAFT) and model not in _OWN_DRAFTS and not re.search(r"[./]", model)
        )
        if (_HUB.fullmatch(model) or bare) and not _PLACEHOLDER.search(model):
            yield f"--{name} {model}"


def code(
    engine: Engine, line: CommandLine, options: Mapping[str, str], record: Record, place: str
) -> Iterator[str]:
    """The options with Python code at a place ("" for missing code), each once with the code's name."""
    found: dict[str, None] = {}
    for name in sorted(engine.options.code & options.keys()):
        for word in line.lists.get(name) or options[name].split():
            named = (
                _MODULE_IN_JSON.findall(options[name]) if options[name].startswith("{") else [word]
            )
            here = (
                each
                for each in named
                if NAMED.fullmatch(each) and record.modules.get(each, "") == place
            )
            found |= {f"--{name} {each}": None for each in here}
    yield from found


def left_out(
    engine: Engine, line: CommandLine, options: Mapping[str, str], record: Record
) -> Iterator[tuple[str, str]]:
    """The options with code that a setup.py leaves out, with its file and line."""
    for place in dict.fromkeys(record.modules.values()):
        if place.startswith(LEFT_OUT):
            for spelled in code(engine, line, options, record, place):
                yield spelled, place.removeprefix(LEFT_OUT)


def _models(
    line: CommandLine, options: Mapping[str, str], record: Record
) -> Iterator[tuple[str, str]]:
    """Missing models with their option."""
    for name in sorted(_MODEL_OPTIONS & options.keys()):
        for word in line.lists.get(name) or (options[name],):
            plain = word.partition("=")[2] if name == "lora-modules" else word
            found = _IN_JSON.findall(word) if word.startswith("{") else [plain]
            yield from ((name, model) for model in found if model and model not in record.paths)
