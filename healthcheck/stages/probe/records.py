"""The records of a probe run: its settings, its samples, the run itself."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthcheck import contract
from healthcheck.core import check as declaring
from healthcheck.text.messages import msg, plural

if TYPE_CHECKING:  # the options of a probe need its settings alone, and importing the grader is too slow for --help
    from healthcheck.stages.probe.grading import Grade
    from healthcheck.stages.probe.problems import Problem

CLIENT = msg("the service's client will print")
"""The name, among a run's figures, of the evaluation client's figure."""
THE_KIT = "npu-adapter-kit"
"""The grader of answers that need no other."""
QUESTION = "{question}"
"""The place of the question in the user's own prompt."""
LETTERS = "ABCDEFGHIJ"
COLUMNS = ("question", msg("answer"), *LETTERS, "choices", "tier", "image")
"""The columns to which a data set's own names can map; the choices are letters."""
check = functools.partial(declaring.check, requires=("endpoint/stream",))
"""Declares a check of a run, which needs answers in streams."""


def count_of_problems(number: int) -> str:
    """A number of problems in words: "120 problems"."""
    return plural("{n} problem", "{n} problems", number, n=number)


def count_of_samples(number: int) -> str:
    """A number of samples in words: "1 sample"."""
    return plural("{n} sample", "{n} samples", number, n=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits and retries of one request.

    Attributes:
        silence_s: between bytes. A busy server may send none before its first text: a long queue is not a fault,
            and the evaluation client waits without limit.
        answer_s: for the whole answer from its first byte; at least a second for each token of max_tokens.
        limit_s: replaces `answer_s`, however many tokens are allowed; None for no replacement.
        attempts: attempts per request in total; connection errors, 429 and 5xx are retried.
        first_wait_s: before the second attempt; it doubles with each attempt.
        strikes: this many consecutive failed requests end the run.
    """

    connect_s: float = 10.0
    silence_s: float = 300.0
    answer_s: float = 1800.0
    limit_s: float | None = None
    attempts: int = 4
    first_wait_s: float = 0.5
    strikes: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A problem with its answer, shown before another: before any, or only those of the data set `source`."""

    question: str
    answer: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The fields of a request besides the problem. Empty fields and None are not sent.

    Attributes:
        system: the system message.
        prompt: the user message, with {question} and optionally {instruction}; "" for the kit's own.
        examples: shown before the problem, each as a user and an assistant message.
        request_seed: the seed of the first sample of a problem; it increases by one with each sample.
        chat_template_kwargs: variables of the chat template, such as enable_thinking.
        extra_body: further fields of the body.
        headers: headers whose values are not secrets.
        headers_env: headers, each with the environment variable that holds its value.
        api_key_env: the environment variable that holds the API key.
    """

    system: str = ""
    prompt: str = ""
    examples: tuple[Example, ...] = ()
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    request_seed: int | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    api_key_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRun:
    """The reference of a run: the results of another run, and the settings that have to agree.

    Attributes:
        folder: the folder of that run.
        problems_sha256: digest of its problems.
        counts: samples and right ones of each problem, in the order of the bank.
        strict_counts: the same with only the right ones in the form that the prompt asks for; empty if unknown.
    """

    folder: str
    problems_sha256: str
    samples: int
    temperature: float
    max_tokens: int
    counts: Sequence[tuple[int, int]]
    request: RequestOptions = field(default_factory=RequestOptions)
    strict_counts: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A file of problems.

    Attributes:
        problems: their number; None for an equal share.
        columns: the file's names of columns, by the kit's names: {"question": "prompt"}.
    """

    file: str
    problems: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


def _temperature() -> float:
    known = contract.service().temperature
    return 0.7 if known is None else known


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """The request of a probe run.

    Attributes:
        url: the server's root, without a path.
        model: the model's name; "" selects the first that /v1/models lists, as the evaluation client does.
        family: the built-in family of problems.
        dataset: path of a file of problems instead of a family, "" for none; all paths if there are several.
        datasets: the files, if there are several.
        columns: the columns that have another name in the data set.
        few_shot: number of examples before each problem.
        few_shot_file: path of a file of examples, "" for the problems' own source.
        problems: number of distinct problems; those of a family are spread evenly over its tiers.
        samples: answers per problem (n); k goes up to n.
        temperature: the service's is unknown. Its client's stock value of 0.01 makes the n samples copies of each
            other, so that pass@n and cons@n are meaningless. 0.7 is a common default of models.
        max_tokens: enough for a reasoning model on grade-school problems; lowered to the server's context length
            minus the prompt, since a server refuses requests for more.
        references: the accuracy of healthy weights on these problems, by tier, "all" for the whole bank; required
            for a verdict.
        reference_run: the source of `references`, None if they were given as a number.
        margin: the loss against the reference that "no worse" excludes; None for the smallest that the requested
            samples can settle.
        gate: the distance below the reference that is bad, the distance that is still good, and the error of either
            verdict; replaces the margin.
        concurrency: concurrent requests.
        threshold: the least accuracy that passes; judged by its interval.
        logprobs: request log-probabilities of the tokens, which the evaluation client does not.
        full: take every sample even if the verdict is already clear.
        request: the fields of each request besides the problem.
        parameters: of the weights, 0 where they are unknown.
    """

    url: str
    model: str = field(default_factory=lambda: contract.service().requested(""))
    family: str = "arithmetic"
    dataset: str = ""
    datasets: tuple[DataSet, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    few_shot: int = 0
    few_shot_file: str = ""
    problems: int = 120
    samples: int = field(default_factory=lambda: contract.SAMPLES_PER_PROBLEM)
    concurrency: int = field(default_factory=lambda: contract.service().concurrency or 64)
    temperature: float = field(default_factory=_temperature)
    max_tokens: int = field(default_factory=lambda: contract.service().max_tokens or 4096)
    seed: int = 0
    references: Mapping[str, float] = field(default_factory=dict)
    reference_run: ReferenceRun | None = None
    margin: float | None = None
    gate: tuple[float, float, float] | None = None
    threshold: float | None = None
    logprobs: bool = False
    full: bool = False
    patience: Patience = field(default_factory=Patience)
    request: RequestOptions = field(default_factory=RequestOptions)
    parameters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One request of the run.

    Attributes:
        order: its index in dispatch order, from 0.
        problem: the problem's index in the bank, from 0.
        repeat: the index among the problem's samples, from 0.
    """

    order: int
    problem: int
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Slot):
    """One request of the run and its result.

    Attributes:
        text: the answer as the server streamed it; "" if the request failed.
        error: why the request failed, "" if an answer came. A failed request counts as wrong.
        retried: the errors of earlier attempts.
        faults: parts of the stream that the evaluation client would have misread.
        finish_reason: "" if the server sent none.
        prompt_tokens, completion_tokens: as the server counts them, None if it does not.
        mean_logprob: of its tokens, None if the server sent none.
        first_s, seconds: from the request to the first byte and to the end, for the attempt that counted.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    error: str = ""
    retried: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    mean_logprob: float | None = None
    first_s: float = 0.0
    seconds: float = 0.0


FEW_PROBLEMS = 30
"""With fewer the interval is wider than any difference that one asks about."""


class EndedBy(enum.Enum):
    """Why a run ended early."""

    EVIDENCE = "evidence"
    FAILURES = "failures"
    CUT = "cut"
    INTERRUPT = "interrupt"
    KILL = "kill"

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return _ENDINGS[self]


_ENDINGS = {
    EndedBy.EVIDENCE: msg("the evidence is clear"),
    EndedBy.FAILURES: msg("requests failed"),
    EndedBy.CUT: msg("every answer was cut at max_tokens"),
    EndedBy.INTERRUPT: msg("interrupted"),
    EndedBy.KILL: msg("the run was killed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """The samples of a probe.

    Attributes:
        settings: as used: with the model's name, and max_tokens lowered if necessary.
        samples: every sample on record, in dispatch order; `grades[i]` is the grade of `samples[i]`.
        planned: the planned number of samples.
        stopped: why the run ended early, in words; "" if it did not.
        ended_by: the same as a code; None if it did not.
        folder: the run folder.
        drawn_from: the number of distinct problems in the data set; None if it is not on record.
        alone: further samples that were asked one at a time, with their grades; they count in no figure.
    """

    settings: ProbeSettings
    problems: tuple[Problem, ...]
    samples: tuple[Sample, ...]
    grades: tuple[Grade, ...]
    planned: int
    stopped: str
    seconds: float
    folder: Path
    server: Mapping[str, Any] = field(default_factory=dict)
    drawn_from: int | None = None
    alone: tuple[tuple[Sample, Grade], ...] = ()
    ended_by: EndedBy | None = None

    @property
    def again(self) -> str:
        """The command that continues the run."""
        return f"npu-adapter probe {self.settings.url} --resume {self.folder}"

    @property
    def complete(self) -> tuple[int, ...]:
        """Indices into `samples` of the longest complete prefix of dispatch order.

        Samples after a gap finished early: short answers before long ones. Figures from them would be biased.
        """
        return tuple(place for place, sample in enumerate(self.samples) if sample.order == place)

    @property
    def answered(self) -> tuple[tuple[Sample, Grade], ...]:
        """The samples whose request did not fail, each with its grade."""
        pairs = zip(self.samples, self.grades, strict=True)
        return tuple((sample, grade) for sample, grade in pairs if not sample.error)

    @property
    def failed(self) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.samples if sample.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The part of a run that the figures use: the same number of samples for each of its problems.

    Attributes:
        problems: indices in the bank.
        rows: for each problem, the indices of its samples in `run.samples`; all rows have the same length.
    """

    problems: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def repeats(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    @property
    def flat(self) -> tuple[int, ...]:
        return tuple(place for row in self.rows for place in row)
