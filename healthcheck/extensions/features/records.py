"""The records of `npu-adapter features`: what was asked for, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Body = dict[str, Any]
AUTO, REQUIRED, NONE, NAMED = (
    f"tool_choice {each}" for each in ("auto", "required", "none", "named")
)
BOTH = "two calls"
HISTORY, SCHEMA, OBJECT, GUIDED = (
    "a tool turn in the history",
    "json_schema",
    "json_object",
    "guided_json",
)
CHOICE, REGEX = "structured_outputs.choice", "structured_outputs.regex"
LIMIT, HELLO, TWO, STOP = "max_tokens", "no parameters", "n", "stop"
SEED, GREEDY, NARROW = "seed", "temperature", "top_p"
THINKING, PLAIN = "enable_thinking true", "enable_thinking false"
SHORT, FIRST, MIDDLE, LAST = "a short text", *(f"a number at {share} %" for share in (10, 50, 90))
CODES = {SHORT: "7342", FIRST: "5186", MIDDLE: "9627", LAST: "3859"}
"""The code number in each text of `features/long-context`."""
BEYOND = "beyond the length"
STREAMED, AGAIN = ", streamed", ", again"
"""The names of the requests in requests.json, and what is appended to them where one is sent in another way."""


class Call(NamedTuple):
    """A tool call as the server said it; `arguments` is its text, which should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one chat completion, plain or put together from a stream.

    Attributes:
        status: of HTTP; 0 if the exchange broke off.
        choices: how many there were; text, reasoning, finish and calls are those of the first.
        tokens: as the server counts them, None if it does not; `read`: those of the prompt.
        seconds: from the request to the end of the answer.
        said: the server's error, or why the answer cannot be read; "" for an answer in order.
    """

    status: int = 200
    text: str = ""
    reasoning: str = ""
    finish: str = ""
    calls: tuple[Call, ...] = ()
    choices: int = 1
    tokens: int | None = None
    read: int | None = None
    seconds: float = 0.0
    said: str = ""

    @property
    def refused(self) -> bool:
        """Whether the server said clearly that it does not take the request."""
        return 400 <= self.status < 500


class Trial(NamedTuple):
    """A request of the rate; `calls` says whether a call is right, None if that is unknown.

    `before` says whether the answer of the reference run was right, None without one.
    """

    body: Body
    calls: bool | None
    answer: Answer = Answer()
    before: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesRun:
    """All answers of a run; `asked` has the requests to which the names of `answers` belong.

    Attributes:
        vllm: whether the model list names vLLM as the owner.
        header: the Server header.
        length: of prompt and answer, in tokens, as the model list says; None if it does not.
        tried: the tokens of the longest texts, fewer on a slow server; 0 if none were sent.
        endpoints: the HTTP status of other paths, 0 if there was no answer.
    """

    model: str
    vllm: bool
    header: str = ""
    asked: Mapping[str, Body]
    answers: Mapping[str, Answer]
    trials: tuple[Trial, ...]
    length: int | None = None
    tried: int = 0
    endpoints: Mapping[str, int] = field(default_factory=dict)
