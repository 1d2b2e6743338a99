"""The evaluation service's requirements of a submission, and the only place that states them.

Every rule carries the sentence that it comes from. A finding that breaks a documented rule is a failure and
quotes it; one that rests on an inference is a warning. When the service changes, this file changes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from healthcheck.text.messages import msg

READ_ON = "2026-11-21"
PAGE = msg("Model accuracy evaluation (the service's own documentation page)")

PORT = 8000
CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
ENTRY_POINT = "deploy.sh"
REQUIREMENTS = "requirements.txt"
MODEL_PATH_VARIABLE = "MODEL_PATH"
LAUNCH = msg('exec vllm serve "${model_path_variable}" --host 0.0.0.0 --port {port}', MODEL_PATH_VARIABLE, PORT)
"""A last line of deploy.sh that meets the service's rules."""
MAX_WEIGHT_GB = 100
MAX_WEIGHT = f"{MAX_WEIGHT_GB} GB"
"""The weight limit as the page writes it. The page does not say which unit that is."""
MAX_WEIGHT_BYTES = MAX_WEIGHT_GB * 10**9
"""The limit read strictly, in powers of ten."""
MAX_WEIGHT_GIB_BYTES = MAX_WEIGHT_GB * 2**30
SAMPLES_PER_PROBLEM = 5
"""The service's default for num_return_sequences; n = k = this number."""


class Status(enum.Enum):
    """How certain it is that the service has this rule."""

    DOCUMENTED = msg("documented")
    INFERRED = msg("inferred")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the service, with the sentence that states it."""

    sentence: str
    status: Status
    source: str = PAGE
    read_on: str = READ_ON

    def quote(self) -> str:
        """The rule as a report prints it."""
        return msg(
            "“{sentence}” — {source}, {value}, read {read_on}",
            self.sentence,
            self.source,
            self.status.value,
            self.read_on,
        )


def _documented(sentence: str) -> Rule:
    return Rule(sentence=sentence, status=Status.DOCUMENTED)


def _inferred(sentence: str, source: str) -> Rule:
    return Rule(sentence=sentence, status=Status.INFERRED, source=source)


ROOT_FILES = _documented(msg("requirements.txt and deploy.sh must be at the repository root."))
STARTS_THE_SERVICE = _documented(
    msg(
        "deploy.sh: The evaluation service uses this script to install dependencies and start the adapter "
        "project (required)."
    )
)
PROVIDED = _documented(
    msg(
        "Torch NPU, CANN, and Python are provided by the environment for the selected framework version—do not "
        "duplicate them in requirements.txt (that can cause install conflicts)."
    )
)
WEIGHTS_FROM_MODEL_PATH = _documented(
    msg(
        "To pass the weight path in the shell script, use the environment variable $MODEL_PATH (path to the "
        "weight files)."
    )
)
LISTENS_ON_PORT = _documented(
    msg(
        "Inference must expose a standard OpenAPI-compatible inference API, and the HTTP server must "
        "listen on port {port}.",
        PORT,
    )
)
CHAT_STREAMING = _documented(
    msg("The model inference service must be reachable via the streaming API at /v1/chat/completions.")
)
CHAT_REQUIRED = _documented(
    msg("Accuracy evaluation relies on /v1/chat/completions. If that endpoint is missing, the accuracy job fails.")
)
SERVED_NAME = _documented(
    msg(
        "you do not need --served-model-name; the evaluation service uses the weight path as the served model "
        "name automatically."
    )
)
WEIGHT_LIMIT = _documented(
    msg("Maximum size: 100 GB. If exceeded: Weight download fails and the accuracy job fails.")
)
TASK_TYPES = _documented(
    msg(
        "The evaluation service calls the matching inference API for the selected weights’ task type. Supported "
        "task types: text-generation, image-text-to-text, any-to-any."
    )
)
REPEATS = _documented(msg("The accuracy service defaults num_return_sequences to 5."))
CLIENT_IS_AISBENCH = _inferred(
    msg("The evaluation client is AISBench: its report layout and version hash are those of the service's sample."),
    msg("the service's sample report, compared with AISBench's source"),
)


class Task(enum.Enum):
    """The task codes that the service evaluates, all over the chat endpoint."""

    TEXT_GENERATION = "text-generation"
    IMAGE_TEXT_TO_TEXT = "image-text-to-text"
    ANY_TO_ANY = "any-to-any"


UNKNOWN = (
    msg("the start-up time-out"),
    msg("the number and kind of NPUs"),
    msg("the image and its framework versions"),
    msg("the shell and working directory of deploy.sh, and who installs requirements.txt"),
    msg("whether the network is there during installation"),
    msg("whether the client runs on the same host"),
    msg("the data set, max_tokens, temperature and concurrency of a task"),
)
"""What the service does not document. Reports list it, so that nobody reads too much into a pass."""
