"""The recorded server command, for comparing two runs. Missing values are "unknown"."""

from __future__ import annotations

import re

from healthcheck.core.records import JsonValue
from healthcheck.stages.plan.records import ServerCommand
from healthcheck.text.redact import redacted, without_secrets

UNKNOWN = "unknown"
MOST_CHARACTERS = 2000
_CONCERNS = re.compile(
    r"(?:VLLM|ASCEND|HCCL|NPU|PYTORCH|TORCH|ACL|ATB|CANN|OMP|HF|TRANSFORMERS|TASK_QUEUE|CPU_AFFINITY|LD)_"
)


def server(recorded: ServerCommand) -> dict[str, JsonValue]:
    """The arguments and variables with which deploy.sh starts the server, without secrets."""
    variables = {
        name: value[:MOST_CHARACTERS]
        for name, value in sorted(recorded.env.items())
        if _CONCERNS.match(name)
    }
    return {
        "engine": recorded.engine.name,
        "arguments": list[JsonValue](redacted(recorded.argv, without_secrets)),
        "started_by": recorded.where or UNKNOWN,
        "environment": dict[str, JsonValue](redacted(variables, without_secrets)),
    }
