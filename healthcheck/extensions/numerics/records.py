"""The records of the numerics stage: requests, readings, results."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.text.messages import msg

TokenIds = tuple[int, ...]


class Relation(enum.Enum):
    """The difference between two requests whose log-probabilities must agree. The values are words of a report."""

    AGAIN = msg("the same request again")
    AFTER_ABORT = msg("after a request that was cancelled")
    BATCH = msg("in a batch")
    MIXED_LENGTHS = msg("in a batch with prompts of other lengths")
    WARM_PREFIX = msg("with its whole prefix in the cache")
    SHARED_PREFIX = msg("with a part of its prefix in the cache")
    WHILE_DECODING = msg("while other requests decode")
    DECODED = msg("decoded instead of prefilled")
    AT_EDGE = msg("decoded from the edge of a block or of a graph size on")
    STREAMED = msg("as a stream")
    CHAT = msg("by chat, and its tokens to /v1/completions")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericsSettings:
    """The settings of a run.

    Attributes:
        url: the server's root.
        model: the model name of requests; "" for the first that the server lists.
        longest_tokens: no prompt is longer.
        max_batch: the largest batch to try, usually the server's --max-num-seqs; else what a probe has in flight.
        pairs: comparisons of each kind in a first round; a second round has up to four times as many for a suspect
            kind.
        seed: of the choice of prompts.
    """

    url: str
    model: str = ""
    longest_tokens: int = 2200
    max_batch: int = field(default_factory=lambda: contract.service().concurrency or 64)
    pairs: int = 6
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The capabilities of the server.

    Attributes:
        takes_ids: whether it takes prompts as token ids; if not, as text.
        logprobs: the number of log-probabilities per token.
        context: its context length in tokens, None if unknown.
        version: its answer to /version, "" if there is none.
        header: its Server header, "" if there is none.
    """

    model: str
    logprobs: int
    context: int | None
    takes_ids: bool = True
    version: str = ""
    header: str = ""


def asked_by(server: Server) -> str:
    """The form of prompts for the server, in words."""
    return (
        msg("token ids to /v1/completions") if server.takes_ids else msg("text to /v1/completions")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The most likely tokens at one position of a completion, with their natural log-probabilities."""

    token: str
    top: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A completion with its log-probabilities, greedy but in a Sample; `error` is the reason if there is none."""

    positions: tuple[Position, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: its tokens, or a text if the server accepts no tokens."""

    text: str = ""
    ids: TokenIds = ()

    @property
    def length(self) -> int:
        """The number of tokens, or of characters of a text."""
        return len(self.ids) or len(self.text)

    @property
    def sent(self) -> JsonValue:
        """The value of the request's field."""
        return list(self.ids) or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The comparison of two readings that should agree, up to the first different token.

    Attributes:
        shift: the largest change of a log-probability, in nats, among tokens of at least 2 %.
        flip: the lead in nats of a token for which the other reading chose another; 0.0 if all agree.
        diverged: whether the readings differ at the last position.
    """

    shift: float
    flip: float
    diverged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One comparison: a prompt requested alone, and in the situation of the relation.

    Attributes:
        size: of the batch; for DECODED and AT_EDGE, the number of decoded tokens; else 0.
        row: the place in the batch.
        again: whether it belongs to the second round, with prompts of suspect lengths in suspect rows.
        prompt: the prompt of the compared reading.
        reproduce: shell commands that repeat the requests and print what must agree, for a pair that differs by
            more than rounding; else "".
    """

    relation: Relation
    size: int
    prompt: Prompt
    difference: Difference
    reproduce: str = ""
    row: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A run to compare with: its server's answers to prompts that were requested alone.

    Attributes:
        trial: the tokens of a fixed text, to detect another tokenizer.
    """

    place: str
    server: Server
    trial: TokenIds
    readings: tuple[tuple[TokenIds, Reading], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Local weights to compare with.

    Attributes:
        python: the Python of an environment with torch and transformers.
        remote_code: whether code that comes with the weights may run.
    """

    folder: str
    python: str
    remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One token, predicted by the reference and by this server from the same previous tokens.

    Attributes:
        prompt: number of the prompt.
        kl: of the reference against this server, in nats.
        agrees: whether both have the same most likely token.
        lost: by how much the reference's token is less likely here, in nats.
        rounding: the divergence of the same weights in bfloat16 from float32, None if unknown.
    """

    prompt: int
    kl: float
    agrees: bool
    lost: float
    rounding: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A completion whose tokens were drawn.

    Attributes:
        temperature: as requested.
        neutral: whether every parameter of sampling was requested; if not, the server's own defaults apply.
    """

    temperature: float
    neutral: bool
    prompt: Prompt
    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An answer, and its token that lies furthest behind the likeliest one.

    Attributes:
        behind: nats; 0.0 if each token is the likeliest.
        token: its text, and `likeliest` that of the other.
    """

    answer: str
    behind: float = 0.0
    token: str = ""
    likeliest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericsRun:
    """The measurements of a run.

    Attributes:
        pairs: the comparisons.
        alone: each prompt with its reading when requested alone, for a later run to compare with.
        broken: readings that failed, as (prompt length, reason).
        leads: of each greedy reading, how much likelier than a token that it chose another one was, in nats.
        samples: completions at other temperatures, and with the server's own defaults.
        own_answers: answers by chat, as the server scores them.
        requests, seconds: the cost of the run.
        trial: the tokens of a fixed text, () if the server does not report them.
        steps: the comparison with a reference, token by token.
        reference: its place and version, "" without one.
        unread: why the weights of the reference could not be computed, or "".
    """

    server: Server
    settings: NumericsSettings
    pairs: tuple[Pair, ...]
    alone: tuple[tuple[Prompt, Reading], ...]
    broken: tuple[tuple[int, str], ...] = ()
    leads: tuple[float, ...] = ()
    samples: tuple[Sample, ...] = ()
    own_answers: tuple[Scored, ...] = ()
    requests: int = 0
    seconds: float = 0.0
    trial: TokenIds = ()
    steps: tuple[Step, ...] = ()
    reference: str = ""
    unread: str = ""
