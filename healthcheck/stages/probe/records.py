"""What a probe run is made of: the settings, one record a sample, the run."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthcheck import contract
from healthcheck.text.messages import msg, plural

if TYPE_CHECKING:  # the options of a probe need its settings alone, and the grader takes longer than --help may
    from healthcheck.stages.probe.grading import Grade
    from healthcheck.stages.probe.problems import Problem

CLIENT = msg("the service's client will print")
"""The name, among a run's figures, of what the evaluation client would make of it."""
THE_KIT = "npu-adapter-kit"
"""The grader of what needs no other."""
QUESTION = "{question}"
"""Where a prompt of the user's own has the question."""
LETTERS = "ABCDEFGHIJ"
COLUMNS = ("question", msg("answer"), *LETTERS, "choices", "tier", "image")
"""The columns that a data set's own names can map to; those of choices are letters."""


def count_of_problems(number: int) -> str:
    """How many problems: "120 problems"."""
    return plural("{n} problem", "{n} problems", number, number)


def count_of_samples(number: int) -> str:
    """How many samples: "1 sample"."""
    return plural("{n} sample", "{n} samples", number, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one request may take, and how often it is tried.

    Attributes:
        silence_s: between bytes; before its first text, in which no answer of the server moves: a long queue is no
            fault, and the evaluation client waits for ever.
        answer_s: for the whole answer from its first byte; no less than a second for each token that it may have.
        limit_s: in place of `answer_s`, however many tokens it may have; None for none.
        attempts: tries of one request in all; connection errors, 429 and 5xx are tried again.
        first_wait_s: before the second try; it doubles from try to try.
        strikes: how many consecutive failed requests end the run.
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
    """A problem that is shown with its answer before one that is asked: any, or one of the data set `source`."""

    question: str
    answer: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What a request has beside the problem. What is empty or None is not sent.

    Attributes:
        system: the system message.
        prompt: the user message, with {question} and maybe {instruction} in it; "" for the kit's own.
        examples: shown before the problem, each as a user and an assistant message.
        request_seed: the seed of the first sample of a problem; the next has the next number.
        chat_template_kwargs: variables of the chat template, such as enable_thinking.
        extra_body: further fields of the body.
        headers: headers whose values are not secrets.
        headers_env: headers, each with the environment variable that has its value.
        api_key_env: the environment variable that has the API key.
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
    """What a run is held against: the results of another run, and what has to agree with it.

    Attributes:
        folder: where it was read from.
        problems_sha256: digest of its problems.
        counts: samples and right ones of each problem, in the order of the bank.
    """

    folder: str
    problems_sha256: str
    samples: int
    temperature: float
    max_tokens: int
    counts: Sequence[tuple[int, int]]
    request: RequestOptions = field(default_factory=RequestOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A file of problems.

    Attributes:
        problems: how many; None for an equal share.
        columns: the file's name of a column where the kit has another: {"question": "prompt"}.
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
        replicas: the roots of further servers of the same model, among which the samples are spread.
        commit: that the servers were launched from, "" if it is unknown.
        model: the model's name; "" takes the first that /v1/models lists, as the evaluation client does.
        family: the built-in family that the problems come from.
        dataset: path of a file of problems in place of a family, "" for none; of several, all paths.
        datasets: the files where there are several.
        columns: of the data set's columns, those that have another name there.
        few_shot: how many examples precede each problem.
        few_shot_file: path of a file that the examples come from, "" for the problems' own source.
        problems: how many different ones; of a family, spread evenly over its tiers.
        samples: answers for each problem (n); k goes up to n.
        temperature: the service's is unknown, and its client's stock value of 0.01 makes the n samples copies of
            each other, so that pass@n and cons@n say nothing. 0.7 is what models commonly ship with.
        max_tokens: room for a thinking model on grade-school problems; lowered to what the server's context
            length leaves beside the prompt, because a server refuses a request that asks for more.
        references: the accuracy that healthy weights have on these problems, by tier, "all" for the whole bank;
            with it the run gives a verdict.
        reference_run: the run that `references` come from, None if they were given as a number.
        margin: the loss against the reference that "no worse" excludes; None for the smallest that the samples
            asked for settle.
        gate: how far below the reference is bad, up to which distance it is good, and the error of either verdict;
            in place of a margin.
        concurrency: requests that each server has open.
        threshold: the least accuracy that passes; judged by its interval.
        logprobs: ask for the tokens' log-probabilities, which the evaluation client does not.
        grading_noise: shares of right answers that the grader misses and of wrong ones that it passes.
        bootstrap: resamples for bootstrap intervals beside the headline, 0 for none; papers take 1000.
        full: measure every sample even when the verdict is already clear.
        adaptive_k: stop sampling a problem whose majority is settled at this error, 0 for certain; None for never.
        request: what each request has beside the problem.
    """

    url: str
    replicas: tuple[str, ...] = ()
    commit: str = ""
    model: str = ""
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
    grading_noise: tuple[float, float] = (0.0, 0.0)
    bootstrap: int = 0
    full: bool = False
    adaptive_k: float | None = None
    patience: Patience = field(default_factory=Patience)
    request: RequestOptions = field(default_factory=RequestOptions)

    @property
    def servers(self) -> tuple[str, ...]:
        """The roots of all servers."""
        return (self.url, *self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One request of the run and what became of it.

    Attributes:
        order: its place in dispatch order, from 0.
        problem: the problem's place in the bank, from 0.
        repeat: which of the problem's samples it is, from 0.
        text: the answer as the server streamed it; "" if the request failed.
        error: why it failed, "" if an answer came. A failed request is counted as wrong, and counted apart.
        retried: the errors of earlier tries.
        faults: what the evaluation client would have misread in the stream.
        finish_reason: "" if the server sent none.
        mean_logprob: of its tokens, None if the server gave none.
        server: the root of the server that was asked last, "" in records of before there could be several.
        first_s, seconds: from the request to the first byte and to the end, of the try that counted.
    """

    order: int
    problem: int
    repeat: int
    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    error: str = ""
    retried: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    completion_tokens: int | None = None
    mean_logprob: float | None = None
    server: str = ""
    first_s: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A server that was taken out of a run: `why` is for the user."""

    url: str
    why: str


class EndedBy(enum.Enum):
    """What ended a run early; the values begin the sentence that the run folder keeps."""

    EVIDENCE = msg("the evidence is clear")
    FAILURES = msg("requests failed")
    INTERRUPT = msg("interrupted")
    KILL = msg("the run was killed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """What a probe measured.

    Attributes:
        settings: as used: the model's name filled in, max_tokens lowered where it had to be.
        samples: every sample on record, in dispatch order; `grades[i]` is that of `samples[i]`.
        planned: how many samples the run was to have.
        stopped: why it ended before that, "" if it did not.
        folder: the run folder.
        started: local time of the start, "20260326_151326"; pid: of the process that started it.
        drawn_from: how many different problems a data set has; None if it is not on record.
        lost: the servers that were taken out of it, in any part of the run.
    """

    settings: ProbeSettings
    problems: tuple[Problem, ...]
    samples: tuple[Sample, ...]
    grades: tuple[Grade, ...]
    planned: int
    stopped: str
    seconds: float
    folder: Path
    started: str = ""
    pid: int = 0
    server: Mapping[str, Any] = field(default_factory=dict)
    drawn_from: int | None = None
    lost: tuple[Lost, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        """The roots of all servers that it had, in any part of the run."""
        return tuple(self.server.get("replicas", {})) or self.settings.servers

    @property
    def again(self) -> str:
        """The command that continues it, with the servers that are left, or with new ones that it launches."""
        if self.settings.commit:
            return f"npu-adapter probe REPOSITORY --on ADDRESS --weights DIR --resume {self.folder}"
        gone = {each.url for each in self.lost}
        servers = [url for url in self.settings.servers if url not in gone] or self.settings.servers
        return f"npu-adapter probe {' '.join(servers)} --resume {self.folder}"

    @property
    def ended_by(self) -> EndedBy | None:
        """What `stopped` says, None if the run came to its end."""
        return next((each for each in EndedBy if self.stopped.startswith(each.value)), None)

    @property
    def complete(self) -> tuple[int, ...]:
        """Indices into `samples` of the longest complete stretch of dispatch order.

        What came after a gap came early: short answers before long ones. Figures from those would be biased.
        """
        return tuple(place for place, sample in enumerate(self.samples) if sample.order == place)

    @property
    def failed(self) -> tuple[Sample, ...]:
        """The samples whose request failed."""
        return tuple(sample for sample in self.samples if sample.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The part of a run that figures are made of: the same number of samples for each of its problems.

    Attributes:
        problems: places in the bank.
        rows: for each of them, the places of its samples in `run.samples`; all rows are of one length.
    """

    problems: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def repeats(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    @property
    def flat(self) -> tuple[int, ...]:
        return tuple(place for row in self.rows for place in row)
