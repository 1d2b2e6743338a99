"""What ran, for whoever compares two runs: the server as it was recorded. "unknown" is said."""

from __future__ import annotations

import re

from healthcheck.plan.commands import without_key
from healthcheck.plan.records import ServerCommand
from healthcheck.records import JsonValue

UNKNOWN = "unknown"
MOST_CHARACTERS = 2000
_CONCERNS = re.compile(
    r"(?:VLLM|ASCEND|HCCL|NPU|PYTORCH|TORCH|ACL|ATB|CANN|OMP|HF|TRANSFORMERS|TASK_QUEUE|CPU_AFFINITY|LD)_"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)


def server(recorded: ServerCommand) -> dict[str, JsonValue]:
    """The arguments and the variables with which deploy.sh starts the server, keys apart."""
    variables = {name: value for name, value in sorted(recorded.env.items()) if _CONCERNS.match(name)}
    return {
        "engine": recorded.engine,
        "arguments": list[JsonValue](without_key(recorded.argv)),
        "started_by": recorded.where or UNKNOWN,
        "environment": {name: _shown(name, value) for name, value in variables.items()},
    }


def _shown(name: str, value: str) -> str:
    return "***" if _SECRET.search(name) else value[:MOST_CHARACTERS]
