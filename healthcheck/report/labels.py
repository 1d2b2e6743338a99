"""The labels of report.json's keys on the pages. Fields of the API and data, such as models and variables, stay."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from healthcheck.core.records import JsonValue
from healthcheck.text.messages import Message, joined, msg

LABELS: Mapping[str, str] = {
    "api_key_env": msg("variable of the API key"),
    "arguments": msg("command line of the server"),
    "asked by": msg("questions asked by"),
    "at": msg("begun at"),
    "cache salt": msg("cache salts accepted"),
    "cann": "CANN",
    "columns": msg("columns of the data set"),
    "command": msg("command line"),
    "compared as text, because": msg("compared as text, because"),
    "concurrency": msg("requests at once"),
    "cores": msg("processor cores"),
    "dataset": msg("data set"),
    "datasets": msg("data sets"),
    "device memory in MB": msg("device memory in MB"),
    "devices": msg("NPU devices"),
    "drawn_from": msg("problems that were there to draw from"),
    "driver": msg("NPU driver"),
    "engine": msg("recognised engine"),
    "engine_config": msg("vLLM's own check of its arguments"),
    "options_catalogue": msg("release whose catalogue checked the options"),
    "environment": msg("environment variables"),
    "examples": msg("few-shot examples"),
    "family": msg("kind of problems"),
    "few_shot": msg("few-shot examples"),
    "few_shot_file": msg("file of few-shot examples"),
    "headers": msg("HTTP headers"),
    "headers_env": msg("HTTP headers from variables"),
    "host memory in bytes": msg("host memory in bytes"),
    "kit": "npu-adapter-kit",
    "launch": msg("launch of deploy.sh"),
    "libraries": msg("libraries of the kit"),
    "log": msg("log file"),
    "log-probabilities a token": msg("log-probabilities a token"),
    "logprobs": msg("log-probabilities asked for"),
    "machine": msg("this machine"),
    "memory limit in bytes": msg("memory limit in bytes"),
    "memory_gib": msg("memory in GiB"),
    "model": msg("model name"),
    "models": msg("models listed"),
    "npu_devices": msg("NPU devices"),
    "outcome": msg("how it ended"),
    "probe": msg("accuracy probe"),
    "probe.server": msg("server as it answered"),
    "problems": msg("number of problems"),
    "problems_sha256": msg("SHA-256 of the problems"),
    "processors": msg("usable processors"),
    "prompt": msg("prompt template"),
    "python": "Python",
    "ready_s": msg("seconds until it was ready"),
    "reference": msg("compared with"),
    "recorded_machine": msg("the recorded machine"),
    "recording": msg("recording"),
    "repository": msg("adapter repository"),
    "request": msg("in each request"),
    "request_seed": msg("seed of the requests"),
    "requests": msg("number of requests"),
    "samples": msg("samples of each problem"),
    "sandbox": msg("mode of the dry run"),
    "seconds": msg("time in seconds"),
    "seed": msg("random seed"),
    "server": msg("HTTP header Server"),
    "service": msg("profile of the service"),
    "sha256": "SHA-256",
    "server.header": msg("HTTP header Server"),
    "server_command": msg("command of the server"),
    "settings": msg("settings read from"),
    "shared memory in bytes": msg("shared memory in bytes"),
    "started_by": msg("line that started it"),
    "stopped": msg("why it stopped early"),
    "system": msg("operating system"),
    "request.system": msg("system message"),
    "task": msg("task type"),
    "torch_npu": "torch-npu",
    "url": "URL",
    "version": msg("version of the engine"),
    "version_matrix": msg("version matrix"),
    "versions": msg("installed versions"),
    "vllm": "vLLM",
    "vllm_ascend": "vllm-ascend",
    "weights": msg("weights read from"),
    "weights_fingerprint": msg("fingerprint of the weights"),
}
"""By key, or by the last two keys of the path if a key has two meanings.

Keys that are already words are listed for their translation.
"""

NUMBERED: Mapping[str, Callable[[str], Message]] = {
    "firmware of NPU": lambda number: msg("firmware of NPU {number}", number=number),
    "link of device": lambda number: msg("link of device {number}", number=number),
}
"""Keys that end with a number, by their words."""


def label(path: Sequence[str]) -> str:
    """The label of the key at the end of a path."""
    words, _, number = path[-1].rpartition(" ")
    if words in NUMBERED:
        return NUMBERED[words](number)
    return LABELS.get(".".join(path[-2:])) or LABELS.get(path[-1], path[-1])


def labelled(
    fields: Mapping[str, JsonValue], *, below: tuple[str, ...] = ()
) -> Iterator[tuple[str, JsonValue]]:
    """The values of a record, each with its label; labels of nested values are joined along their path.

    Empty values are left out. `below`: the keys of the record itself, which labels do not repeat.
    """
    for path, value in _values(fields, below):
        yield joined(" · ", (label(path[: end + 1]) for end in range(len(below), len(path)))), value


def _values(
    fields: Mapping[str, JsonValue], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from _values(value, (*path, key))
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            yield from _values(
                {str(number): each for number, each in enumerate(value, 1)}, (*path, key)
            )
        elif value is not None and value != "":
            yield (*path, key), value


def text(value: JsonValue) -> str:
    """A value as text for the pages: a list as the words of a command line."""
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
