"""Derives the engine's request from the recorded command: arguments, variables, and the simulated device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck.ascend.hardware import Family, Npu
from healthcheck.core.records import JsonValue
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.vllm_cli.catalogue import nearest
from healthcheck.stages.plan.vllm_cli.grammar import Argument, parse
from healthcheck.stages.plan.vllm_cli.judgement import whole_argv
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

BUILDS = {Family.A2: ("A2", 220), Family.A3: ("A3", 250), Family.P310: ("_310P", 202), Family.A5: ("A5", 260)}
"""vllm-ascend's build name of a family, and the first of its SoC numbers.

Source: vllm_ascend/utils.py of the 0.23.0 release.
"""
NOT_THE_ENGINES = {
    "--config", "--chat-template", "--trusted-chat-template", "--tool-parser-plugin", "--reasoning-parser-plugin",
    "--middleware", "--log-config-file", "--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--api-key",
    "--allowed-local-media-path",
}  # fmt: skip
"""Options of the HTTP server that name files, code or keys: not part of the engine's configuration."""
OTHER_CONFIGURATIONS = ("hf-config-path", "tokenizer", "speculative-config")
"""Options that name other folders, which may contain Python code."""
CONFIG_BYTES = 4 << 20
DEADLINE_S = 300.0
"""A case takes 25 to 70 s on two busy cores, most of it imports."""
SETTINGS = re.compile(r"(VLLM|HCCL)_\w+|ASCEND_LAUNCH_BLOCKING|PYTORCH_NPU_ALLOC_CONF")
KEPT_BACK = re.compile(
    r"VLLM_(PLUGINS|API_KEY|TARGET_DEVICE|USE_MODELSCOPE|NO_USAGE_STATS|LOGGING_\w+|CONFIGURE_LOGGING)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question for the engine.

    Attributes:
        root: the submission's own folder; `weights` the folder behind MODEL_PATH.
        engine_python: the Python with both packages, "" to search for one.
        npu, devices: the kind and number of simulated NPUs; "" and 0 if not named.
    """

    plan: LaunchPlan
    root: Path
    weights: Path
    engine_python: str = ""
    npu: str = ""
    devices: int = 0
    deadline_s: float = DEADLINE_S


def obstacle(question: Question, npu: Npu) -> str:
    """Why there is no question for the engine, or ""."""
    server = question.plan.server
    if server is None or server.engine != "vllm":
        return msg("the server is {engine}, not vLLM", server.engine) if server else msg("no server is started")
    if npu.family not in BUILDS:
        return msg("vllm-ascend has no build for {label}", npu.label)
    unknown = next((word for word in server.argv if UNRESOLVED in word), "")
    if unknown:
        return msg("the dry run could not determine {unknown} among the arguments", unknown)
    config = question.weights / "config.json"
    if not config.is_file():
        return msg("{weights} has no config.json to build from", question.weights)
    if server.option("trust-remote-code") is not None and _may_bring_code(server, config):
        return msg(
            "with --trust-remote-code the engine would run the Python code of a model, which is not done here"
        )
    return ""


def _may_bring_code(server: ServerCommand, config: Path) -> bool:
    """Whether the configuration may use a class that comes with the model."""
    if any(server.option(name) is not None for name in OTHER_CONFIGURATIONS):
        return True
    with config.open("rb") as file:
        text = file.read(CONFIG_BYTES + 1)
    return len(text) > CONFIG_BYTES or b"auto_map" in text


def request(question: Question, server: ServerCommand, npu: Npu, vllm: str) -> dict[str, JsonValue]:
    """The request for build_engine_config.py."""
    release = nearest(vllm)
    words = whole_argv(server, release)
    arguments = parse(words, release).arguments
    left_out = {at for each in arguments if each.option.name in NOT_THE_ENGINES for at in _span(each, words)}
    argv: list[JsonValue] = [_moved(word, question, server) for at, word in enumerate(words) if at not in left_out]
    model, build = str(question.weights), BUILDS[npu.family][0]
    return {"argv": argv, "model": model, "given": dict(_given(arguments)), "build": build}


def variables(server: ServerCommand, npu: Npu, devices: int) -> dict[str, str]:
    """The variables that the submission exports, except those that name paths, and the simulated NPU."""
    settings = {
        name: value
        for name, value in server.env.items()
        if SETTINGS.fullmatch(name) and not KEPT_BACK.fullmatch(name) and "/" not in value
    }
    pretended = {
        "name": f"Ascend{npu.name}",
        "devices": devices,
        "memory_bytes": npu.usable_bytes,
        "bfloat16": npu.bfloat16,
        "soc": BUILDS[npu.family][1],
    }
    return {**settings, "NPU_ADAPTER_STUB_NPU": json_text.dump_line(pretended).decode().strip()}


def _span(argument: Argument, words: tuple[str, ...]) -> range:
    """The indices of an option and its values."""
    return range(argument.at, argument.at + (1 if "=" in words[argument.at] else 1 + len(argument.values)))


def _moved(word: str, question: Question, server: ServerCommand) -> str:
    """The word with the paths of this machine instead of those of the dry run."""
    plan = question.plan
    for there, here in ((plan.model_path, question.weights), (plan.root, question.root)):
        pattern = rf"(?<![\w/]){re.escape(there)}(?=[/\"',}}]|$)"
        word = re.sub(pattern, str(here).replace("\\", r"\\"), word)
    if not word.startswith(("-", "/", "{")) and "/" in word:
        folder = server.cwd.removeprefix(plan.root).lstrip("/") if server.cwd.startswith(plan.root) else ""
        inside = question.root / folder / word
        word = str(inside) if inside.exists() else word
    return word


def _given(arguments: tuple[Argument, ...]) -> Iterator[tuple[str, str]]:
    """The name of each option's variable, or of a key in its JSON, with the option as written."""
    for argument in arguments:
        yield from ((key, argument.text) for value in argument.values for key in _keys(value))
        if argument.key:
            yield argument.key.rpartition(".")[2], argument.text
    for argument in arguments:
        if not argument.key:
            yield argument.option.name.removeprefix("--").replace("-", "_"), argument.text


def _keys(text: str) -> Iterator[str]:
    if not text.startswith("{"):
        return
    try:
        value = json_text.load(text)
    except JsonError:
        return
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, Mapping):
            yield from each
            stack += each.values()
