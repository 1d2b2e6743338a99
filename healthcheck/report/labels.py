"""What the pages call the keys of report.json. Fields of the API and data, such as models and variables, stay."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from healthcheck.records import JsonValue

LABELS: Mapping[str, str] = {
    "adaptive_k": "adaptive number of samples",
    "api_key_env": "variable of the API key",
    "arguments": "command line of the server",
    "asked by": "questions asked by",
    "at": "begun at",
    "cache salt": "cache salts accepted",
    "cann": "CANN",
    "columns": "columns of the data set",
    "command": "command line",
    "compared as text, because": "compared as text, because",
    "concurrency": "requests at once",
    "cores": "processor cores",
    "dataset": "data set",
    "datasets": "data sets",
    "device memory in MB": "device memory in MB",
    "devices": "NPU devices",
    "drawn_from": "problems that were there to draw from",
    "driver": "NPU driver",
    "engine": "recognised engine",
    "engine_config": "vLLM's own check of its arguments",
    "environment": "environment variables",
    "examples": "few-shot examples",
    "family": "kind of problems",
    "few_shot": "few-shot examples",
    "few_shot_file": "file of few-shot examples",
    "governors": "CPU governors",
    "headers": "HTTP headers",
    "headers_env": "HTTP headers from variables",
    "host memory in bytes": "host memory in bytes",
    "kit": "npu-adapter-kit",
    "launch": "launch of deploy.sh",
    "log": "log file",
    "log-probabilities a token": "log-probabilities a token",
    "logprobs": "log-probabilities asked for",
    "lost": "servers that were lost",
    "machine": "this machine",
    "memory limit in bytes": "memory limit in bytes",
    "model": "model name",
    "models": "models listed",
    "outcome": "how it ended",
    "probe": "accuracy probe",
    "probe.server": "server as it answered",
    "problems": "number of problems",
    "problems_sha256": "SHA-256 of the problems",
    "processors": "usable processors",
    "prompt": "prompt template",
    "python": "Python",
    "ready_s": "seconds until it was ready",
    "recorded_machine": "recorded machine",
    "reference": "compared with",
    "replicas": "servers of the same model",
    "repository": "adapter repository",
    "request": "in each request",
    "request_seed": "seed of the requests",
    "requests": "number of requests",
    "samples": "samples of each problem",
    "sandbox": "mode of the dry run",
    "seconds": "time in seconds",
    "seed": "random seed",
    "server": "HTTP header Server",
    "server.header": "HTTP header Server",
    "server_command": "command of the server",
    "settings": "settings read from",
    "shared memory in bytes": "shared memory in bytes",
    "started_by": "line that started it",
    "stopped": "why it stopped early",
    "system": "operating system",
    "request.system": "system message",
    "task": "task type",
    "torch_npu": "torch-npu",
    "url": "URL",
    "version": "version of the engine",
    "versions": "installed versions",
    "vllm": "vLLM",
    "vllm_ascend": "vllm-ascend",
    "weights": "weights read from",
    "weights_fingerprint": "fingerprint of the weights",
}
"""By key, or by the last two keys of its path where one key has two meanings.

A key that is words already is here for its translation.
"""

NUMBERED = ("firmware of NPU {}", "link of device {}")
"""Keys with a number in them, for their translation."""


def label(path: Sequence[str]) -> str:
    """What the key at the end of a path is called."""
    return LABELS.get(".".join(path[-2:])) or LABELS.get(path[-1], path[-1])


def labelled(fields: Mapping[str, JsonValue], *, below: tuple[str, ...] = ()) -> Iterator[tuple[str, JsonValue]]:
    """The values of a record, each with its label; a value of an inner record has the labels on the way to it.

    Empty values are left out. `below`: the keys of the record itself, which no label repeats.
    """
    for path, value in _values(fields, below):
        yield " · ".join(label(path[: end + 1]) for end in range(len(below), len(path))), value


def _values(fields: Mapping[str, JsonValue], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from _values(value, (*path, key))
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            yield from _values({str(number): each for number, each in enumerate(value, 1)}, (*path, key))
        elif value is not None and value != "":
            yield (*path, key), value


def text(value: JsonValue) -> str:
    """A value as the pages show it: a list as the words of a command line."""
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
