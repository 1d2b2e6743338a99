"""The evaluation service's requirements of a submission, and the only place that states them.

Every rule carries the sentence that it comes from. A finding that breaks a documented rule is a failure and
quotes it; one that rests on an inference is a warning. When the service changes, this file changes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

READ_ON = "2026-11-21"
PAGE = "Model accuracy evaluation (the service's own documentation page)"

PORT = 8000
CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
ENTRY_POINT = "deploy.sh"
REQUIREMENTS = "requirements.txt"
MODEL_PATH_VARIABLE = "MODEL_PATH"
LAUNCH = f'exec vllm serve "${MODEL_PATH_VARIABLE}" --host 0.0.0.0 --port {PORT}'
"""A last line of deploy.sh that meets the service's rules."""
MAX_WEIGHT_BYTES = 100 * 10**9
"""The page says "100 GB": read strictly, as powers of ten."""
SAMPLES_PER_PROBLEM = 5
"""The service's default for num_return_sequences; n = k = this number."""


class Status(enum.Enum):
    """How sure it is that the service has this rule."""

    DOCUMENTED = "documented"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the service, with the words that it was read from."""

    sentence: str
    status: Status
    source: str = PAGE
    read_on: str = READ_ON

    def quote(self) -> str:
        """The rule as a report prints it."""
        return f"“{self.sentence}” — {self.source}, {self.status.value}, read {self.read_on}"


def _documented(sentence: str) -> Rule:
    return Rule(sentence=sentence, status=Status.DOCUMENTED)


def _inferred(sentence: str, source: str) -> Rule:
    return Rule(sentence=sentence, status=Status.INFERRED, source=source)


ROOT_FILES = _documented("requirements.txt and deploy.sh must be at the repository root.")
STARTS_THE_SERVICE = _documented(
    "deploy.sh: The evaluation service uses this script to install dependencies and start the adapter "
    "project (required)."
)
PROVIDED = _documented(
    "Torch NPU, CANN, and Python are provided by the environment for the selected framework version—do not "
    "duplicate them in requirements.txt (that can cause install conflicts)."
)
WEIGHTS_FROM_MODEL_PATH = _documented(
    "To pass the weight path in the shell script, use the environment variable $MODEL_PATH (path to the "
    "weight files)."
)
LISTENS_ON_PORT = _documented(
    "Inference must expose a standard OpenAPI-compatible inference API, and the HTTP server must listen on "
    f"port {PORT}."
)
CHAT_STREAMING = _documented(
    "The model inference service must be reachable via the streaming API at /v1/chat/completions."
)
CHAT_REQUIRED = _documented(
    "Accuracy evaluation relies on /v1/chat/completions. If that endpoint is missing, the accuracy job fails."
)
SERVED_NAME = _documented(
    "you do not need --served-model-name; the evaluation service uses the weight path as the served model "
    "name automatically."
)
WEIGHT_LIMIT = _documented("Maximum size: 100 GB. If exceeded: Weight download fails and the accuracy job fails.")
TASK_TYPES = _documented(
    "The evaluation service calls the matching inference API for the selected weights’ task type. Supported "
    "task types: text-generation, image-text-to-text, any-to-any."
)
REPEATS = _documented("The accuracy service defaults num_return_sequences to 5.")
CLIENT_IS_AISBENCH = _inferred(
    "The evaluation client is AISBench: its report layout and version hash are those of the service's sample.",
    "the service's sample report, compared with AISBench's source",
)


class Task(enum.Enum):
    """The task codes that the service evaluates, all over the chat endpoint."""

    TEXT_GENERATION = "text-generation"
    IMAGE_TEXT_TO_TEXT = "image-text-to-text"
    ANY_TO_ANY = "any-to-any"


UNKNOWN = (
    "the start-up time-out",
    "the number and kind of NPUs",
    "the image and its framework versions",
    "the shell and working directory of deploy.sh, and who installs requirements.txt",
    "whether the network is there during installation",
    "whether the client runs on the same host",
    "the data set, max_tokens, temperature and concurrency of a task",
)
"""What the service does not document. Reports list it, so that a pass is not read as more than it is."""
