"""How a simulated endpoint behaves: a record, nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.simulator.manners import Manner
from healthcheck.simulator.request import Tokenizer, Words

DEFAULT_ACCURACY: Mapping[str, float] = {"easy": 0.9, "medium": 0.7, "hard": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The knowledge of the simulated model, its sampling, and its server's dialect.

    Attributes:
        model: the served model name.
        dialect: whose habits on the wire (`dialects.DIALECTS`).
        manner: how the model talks; every manner is honest.
        faults: names of faults (`catalogue.FAULTS`), applied in order.
        seed: two simulators with the same seed give the same answers to the same requests in the same order.
        answers: question → right answer; the question is found as the last user message or within it.
        labels: question → tier, for `accuracy`; a question without one is of the tier "medium".
        accuracy: tier → probability that a sample is right.
        correlation: of two samples of one problem being right, 0 independent to 1 all alike.
        solver: one of `solvers.SOLVERS` in place of accuracy and correlation; "" for those.
        tokens_per_second: pace of each stream; 0 writes an answer in one go.
        first_token_s: seconds before the first token.
        slots: how many requests are served concurrently, the others wait; 0 serves all.
        answer_tokens: about how many tokens an answer has.
        context_tokens: the context length; a longer request is refused with status 400, as vLLM does.
        competent: repeats a code word of the prompt; otherwise the model answers nonsense to everything.
        tokenizer: how it counts prompts, limits and the pieces of a stream.
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
