"""What the numerics stage asks, reads and finds."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.text.messages import msg

TokenIds = tuple[int, ...]


class Relation(enum.Enum):
    """What differs between two requests whose log-probabilities must agree. The values are words of a report."""

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


class Api(enum.Enum):
    """How prompts reach the server, most exact first."""

    TOKEN_IDS = "token ids to /v1/completions"
    TEXT = "text to /v1/completions"
    CHAT = "messages to /v1/chat/completions"

    @property
    def words(self) -> str:
        """The value, which a kept reference has, as a message."""
        return {
            Api.TOKEN_IDS: msg("token ids to /v1/completions"),
            Api.TEXT: msg("text to /v1/completions"),
            Api.CHAT: msg("messages to {chat_path}", contract.CHAT_PATH),
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericsSettings:
    """What is asked of the server.

    Attributes:
        url: the server's root.
        model: the name that requests use; "" for the first that the server lists.
        longest_tokens: no prompt is longer.
        max_batch: the largest batch that is tried; the server's --max-num-seqs is the one to name.
        pairs: comparisons of each kind in a first round; a second round asks twice as many where one is suspect.
        seed: of the choice of prompts.
    """

    url: str
    model: str = ""
    longest_tokens: int = 2200
    max_batch: int = 32
    pairs: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the server can be asked.

    Attributes:
        logprobs: log-probabilities of a token that it gives; 0 where text is all that can be compared.
        salted: it takes `cache_salt`, so that a prompt can be asked twice without a hit in the prefix cache.
        context: its context length in tokens, None if unknown.
        without: why no log-probabilities are compared, "" if they are.
        version: its answer to /version, "" if there is none.
        header: its Server header, "" if there is none.
    """

    model: str
    api: Api
    logprobs: int
    salted: bool
    context: int | None
    without: str = ""
    version: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The most likely tokens at one place of a completion, with their natural log-probabilities.

    Of a server that gives none, `token` is a word of the text and `top` is empty.
    """

    token: str
    top: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A greedy completion with its log-probabilities; `error` says why there is none."""

    positions: tuple[Position, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: its tokens, or a text where the server takes no tokens."""

    text: str = ""
    ids: TokenIds = ()

    @property
    def length(self) -> int:
        """Tokens, or characters of a text."""
        return len(self.ids) or len(self.text)

    @property
    def sent(self) -> JsonValue:
        """As a request has it."""
        return list(self.ids) or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two readings that should agree, compared up to the first token in which they differ.

    Attributes:
        shift: the largest change of a log-probability, in nats, among tokens of at least 2 %.
        flip: the lead in nats that a token had of which the other reading chose another instead; 0.0 if all agree.
        positions: how many were compared.
        kl: the largest Kullback-Leibler divergence of them, in nats, over the tokens that both name.
        diverged: they part at the last of them.
    """

    shift: float
    flip: float
    positions: int
    kl: float = 0.0
    diverged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One comparison: a prompt asked alone, and asked as the relation says.

    Attributes:
        size: of the batch; for DECODED and AT_EDGE, how many tokens were decoded; else 0.
        again: it belongs to the second round, in which prompts of suspect lengths were asked.
        prompt: whose reading was compared.
        reproduce: shell commands that ask the same and print what must agree, of a pair that differs by more than
            rounding; else "".
    """

    relation: Relation
    size: int
    prompt: Prompt
    difference: Difference
    reproduce: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A run to compare with: what its server answered to prompts that were asked alone.

    Attributes:
        trial: the tokens of a fixed text, to tell another tokenizer.
    """

    place: str
    server: Server
    trial: TokenIds
    readings: tuple[tuple[TokenIds, Reading], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights on this machine to compare with.

    Attributes:
        python: the Python of an environment with torch and transformers.
        remote_code: code that comes with the weights may run.
    """

    folder: str
    python: str
    remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One token, predicted by the reference and here from the same tokens before it.

    Attributes:
        prompt: number of the prompt.
        decoded: how many tokens of a completion stand between the prompt and this one.
        kl: of the reference against this server, in nats.
        agrees: both have the same most likely token.
        lost: by how much the reference's token is less likely here, in nats.
        rounding: the divergence of the same weights in bfloat16 from themselves in float32, None where unknown.
    """

    prompt: int
    decoded: int
    kl: float
    agrees: bool
    lost: float
    rounding: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericsRun:
    """All that was measured.

    Attributes:
        pairs: the comparisons.
        alone: each prompt with its reading when it was asked alone: what a later run compares with.
        broken: readings that did not come, as (prompt length, reason).
        requests, seconds: what the run took.
        trial: the tokens of a fixed text, () where the server does not say.
        steps: the comparison with a reference, token by token.
        reference: its place and version, "" without one.
        unread: why weights that were named as the reference could not be computed, "" where they could.
    """

    server: Server
    settings: NumericsSettings
    pairs: tuple[Pair, ...]
    alone: tuple[tuple[Prompt, Reading], ...]
    broken: tuple[tuple[int, str], ...] = ()
    requests: int = 0
    seconds: float = 0.0
    trial: TokenIds = ()
    steps: tuple[Step, ...] = ()
    reference: str = ""
    unread: str = ""
