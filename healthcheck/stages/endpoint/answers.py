"""Reads one exchange: the texts of the answer and its token counts; and quotes it in findings."""

from __future__ import annotations

import re
from collections.abc import Iterable

from healthcheck import contract
from healthcheck.core.check import At
from healthcheck.stages.endpoint.prompts import REMEMBER
from healthcheck.system.json_text import JsonError, load
from healthcheck.text.messages import msg
from healthcheck.text.redact import beginning
from healthcheck.wire.chat import Completion
from healthcheck.wire.client import Exchange
from healthcheck.wire.models import model_cards

_THINK = re.compile(r"</?think>")
_HALF = "\N{REPLACEMENT CHARACTER}"
_CONTEXT_SIGNS = ("context", "too long", "maximum", "max_model_len", "exceed", "length", "`inputs`")
"""The last one is TGI's: "`inputs` tokens + `max_new_tokens` must be <= 4096"."""
MODELS = f"GET {contract.MODELS_PATH}"
DENIALS = frozenset({401, 403})
_MOST = 300
_READ = 8000


def answered(exchange: Exchange | None) -> bool:
    """Whether a stream was complete and without errors."""
    if exchange is None or exchange.error or exchange.folded.error:
        return False
    return bool(exchange.folded.finish_reason)


def texts(exchange: Exchange) -> tuple[str, str]:
    """The text and the reasoning of a stream."""
    return exchange.folded.text, exchange.folded.reasoning


def said(exchange: Exchange) -> str:
    """All text of a stream, reasoning first, in the order of generation."""
    text, reasoning = texts(exchange)
    return reasoning + text


def vary(exchanges: Iterable[Exchange], within: int | None = None) -> bool:
    """Whether the complete answers differ in their first `within` characters; None for all."""
    return len({said(exchange)[:within] for exchange in exchanges if answered(exchange)}) > 1


def plain_texts(exchange: Exchange) -> tuple[str, str]:
    """The text and the reasoning of a plain answer, both "" if it has none."""
    message = first_choice(exchange).get("message")
    if not isinstance(message, dict):
        return "", ""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return str(message.get("content") or ""), str(reasoning or "")


def answer(exchange: Exchange) -> str:
    """The text of a stream, however a reasoning parser split it."""
    return _joined(*texts(exchange))


def plain_answer(exchange: Exchange) -> str:
    """The text of a plain answer, however a reasoning parser split it."""
    return _joined(*plain_texts(exchange))


def _joined(text: str, reasoning: str) -> str:
    """Reasoning and text, without the marks between them and the white space around the marks.

    If max_tokens cuts the reasoning, a reasoning parser may report it as text in a plain answer and as reasoning in
    a stream (vLLM's qwen3 parser does): the answer is the same. The same holds if max_tokens cuts a character in
    half: a stream may hold its bytes back, and a plain answer end in U+FFFD.
    """
    parts = (
        part.strip().rstrip(_HALF).rstrip() for part in _THINK.split(f"{reasoning}</think>{text}")
    )
    return "\n".join(part for part in parts if part)


def repeats(word: str, exchange: Exchange) -> bool:
    """Whether an answer has the code word and does not merely repeat the message that gave it."""
    return word in said(exchange) and REMEMBER not in said(exchange)


def first_choice(exchange: Exchange) -> dict[str, object]:
    """The first choice of a plain answer, {} if there is none."""
    try:
        body = load(exchange.body)
    except JsonError:
        return {}
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return dict(first) if isinstance(first, dict) else {}


def context_tokens(models: Exchange) -> int | None:
    """The context length that /v1/models reports (vLLM and SGLang do)."""
    lengths = (card.get("max_model_len") for card in model_cards(models.body))
    return next((length for length in lengths if isinstance(length, int) and length > 0), None)


def prompt_tokens(exchange: Exchange | None) -> int | None:
    """The number of prompt tokens that the server reports; None without usage."""
    usage = exchange.folded.usage if exchange else None
    return usage.prompt_tokens if usage and usage.prompt_tokens > 0 else None


def words_in(completion: Completion) -> int:
    """The words of text and reasoning, split at white space."""
    return len(completion.text.split()) + len(completion.reasoning.split())


def counted_tokens(exchange: Exchange) -> int:
    """The tokens of an answer: the server's count, else the number of events."""
    usage = exchange.folded.usage
    return usage.completion_tokens if usage else exchange.folded.deltas


def token_limit(exchange: Exchange) -> int:
    """The max_tokens of a request, 0 if it has none."""
    value = (exchange.sent or {}).get("max_tokens")
    return value if isinstance(value, int) else 0


def prompt_characters(exchange: Exchange) -> int:
    """The number of text characters in the messages of a request."""
    messages = (exchange.sent or {}).get("messages")
    turns = messages if isinstance(messages, list) else []
    contents = (turn.get("content") for turn in turns if isinstance(turn, dict))
    return sum(len(content) for content in contents if isinstance(content, str))


def too_long(exchange: Exchange) -> bool:
    """Whether a request was refused because it exceeds the model's context."""
    words = exchange.body.decode("utf-8", "replace").lower()
    return exchange.status in {400, 413, 422} and any(sign in words for sign in _CONTEXT_SIGNS)


def shown(text: str, most: int = _MOST) -> str:
    """A text as a finding quotes it."""
    return repr(text if len(text) <= most else beginning(text, most) + " …")


def response_of(exchange: Exchange) -> str:
    """A response in a few words: its status and the beginning of its body, or the transport's error."""
    if not exchange.status:
        return msg("no response ({error})", error=exchange.error)
    body = beginning(exchange.body[:_READ].decode("utf-8", "replace").strip(), _MOST)
    words = msg("status {status}", status=exchange.status)
    if exchange.reason:
        words = msg("status {status} {reason}", status=exchange.status, reason=exchange.reason)
    if exchange.error:
        words += msg(", then {error}", error=exchange.error)
    return msg("{words}: {body}", words=words, body=repr(body)) if body else words


def request_of(exchange: Exchange) -> str:
    """The request of an exchange, as the `where` of a finding."""
    sent = exchange.sent or {}
    fields = ", ".join(
        f"{key} {sent[key]}" for key in ("stream", "max_tokens", "temperature") if key in sent
    )
    return f"POST {contract.CHAT_PATH}" + (f" ({fields})" if fields else "")


def about(exchange: Exchange) -> At:
    return At(request_of(exchange))


def flaws(exchange: Exchange) -> tuple[str, ...]:
    """The faults at which the evaluation client stops reading or drops data."""
    return exchange.folded.faults + exchange.folded.swallowed
