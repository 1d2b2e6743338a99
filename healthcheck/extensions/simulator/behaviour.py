"""The record of a simulated endpoint's behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.extensions.simulator.manners import Manner
from healthcheck.extensions.simulator.request import Tokenizer, Words

DEFAULT_ACCURACY: Mapping[str, float] = {"easy": 0.9, "medium": 0.7, "hard": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The knowledge of the simulated model, its sampling, and its server's dialect.

    Attributes:
        model: the served model name.
        dialect: the server whose wire format is used (`dialects.DIALECTS`).
        manner: the model's style; every manner is honest.
        faults: names of faults (`catalogue.FAULTS`), applied in order.
        seed: two simulators with the same seed give the same answers to the same requests in the same order.
        answers: question → right answer; the question is found as the last user message or within it.
        labels: question → tier, for `accuracy`; the default is "medium".
        accuracy: tier → probability that a sample is right.
        correlation: of two samples of one problem being right, from 0 (independent) to 1 (equal).
        solver: one of `solvers.SOLVERS`, which replaces accuracy and correlation; "" for none.
        tokens_per_second: pace of each stream; 0 writes an answer in one go.
        first_token_s: seconds before the first token.
        slots: the most concurrent requests, the others wait; 0 for no limit.
        answer_tokens: the approximate number of tokens of an answer.
        context_tokens: the context length; longer requests are refused with status 400, as in vLLM.
        competent: whether the model repeats a code word of the prompt; if not, it answers only nonsense.
        tokenizer: for prompts, limits and the pieces of a stream.
    """

    model: str = "simulated"
    dialect: str = "vllm"
    manner: Manner = Manner.PLAIN
    faults: tuple[str, ...] = ()
    seed: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    accuracy: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_ACCURACY))
    correlation: float = 0.0
    solver: str = ""
    tokens_per_second: float = 0.0
    first_token_s: float = 0.0
    slots: int = 0
    answer_tokens: int = 30
    context_tokens: int = 8192
    competent: bool = True
    tokenizer: Tokenizer = field(default_factory=Words)

    @property
    def token_s(self) -> float:
        """Seconds between two tokens of a stream."""
        return 1 / self.tokens_per_second if self.tokens_per_second else 0.0
