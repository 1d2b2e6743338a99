"""Is the text the model's own, in full, and does the server do what the sampling parameters say?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.endpoint.prompts import FOREIGN_CHARACTERS
from healthcheck.endpoint.records import (
    Interview,
    answered,
    context_tokens,
    counts_hold,
    every_stream,
    overruns,
    plain_texts,
    said,
    texts,
    token_limit,
    words_in,
)
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Finding, Stage
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SPECIAL = re.compile(
    r"<\|[A-Za-z][\w ]{1,40}\|>|<｜[^｜<>]{1,40}｜>|</?s>|<(?:bos|eos|pad|end_of_turn|start_of_turn)>|\[EOS\]"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TELLING_CHARACTERS = 16
_CONTEXT_STEP = 64


@check(
    "endpoint/stream-equals-plain",
    "A streamed answer is the plain answer in pieces",
    stage=Stage.ENDPOINT,
    why="A piece that is lost or doubled on the way into the stream changes what is scored.",
    requires=("endpoint/stream-finish",),
)
def stream_equals_plain(interview: Interview) -> Findings:
    """At temperature 0 the same request, streamed and not, must give the same text: twice each, nothing beside it.

    A difference is a fault of the path into the stream: the last piece lost at the end, a first piece sent twice,
    white space stripped from pieces, escapes. Where answers differ from run to run as well, nothing can be told.
    The service itself uses streams only, so a plain answer that is refused is a warning.

    Repair: build both answers from the same pieces.
    Simulated by: npu-adapter simulate --fault lost-token (doubled-token, no-plain)
    """
    if not interview.streams or not interview.plains:
        raise NotApplicable("no pair of answers was asked for")
    stream, plain = interview.streams[0], interview.plains[0]
    if plain.status != 200 or (any(texts(stream)) and not any(plain_texts(plain))):
        yield warn(
            expected="an answer without stream: true as well",
            seen=what_came(plain),
            fix='answer "stream": false too; the service does not use it, people with curl do',
            where=asked(plain),
        )
        return
    if not interview.steady:
        raise NotApplicable(
            "answers at temperature 0 differ from run to run here, so that a difference tells nothing"
        )
    for kind, streamed, whole in zip(("text", "reasoning"), texts(stream), plain_texts(plain), strict=True):
        if streamed == whole:
            continue
        if streamed.strip() == whole.strip():
            yield note(f"the {kind} differs in the white space around it: {streamed[:40]!r}, plain {whole[:40]!r}")
            continue
        place = next((i for i, pair in enumerate(zip_longest(streamed, whole)) if pair[0] != pair[1]), 0)
        start = max(0, place - 20)
        yield fail(
            expected=f"the same {kind} as the plain answer: …{whole[start : place + 40]!r}",
            seen=f"from character {place} on: …{streamed[start : place + 40]!r} ({len(streamed)} characters, "
            f"plain {len(whole)}, twice each)",
            fix="send every piece into the stream once, the last one too",
            where=asked(stream),
        )


@check(
    "endpoint/unicode",
    "Characters of several bytes arrive whole",
    stage=Stage.ENDPOINT,
    why="One token can be a third of a Chinese character: a server that decodes each token by itself spoils it.",
    requires=("endpoint/stream-finish",),
)
def unicode(interview: Interview) -> Findings:
    """An answer with Chinese characters and emoji must come out of the stream as it comes out of a plain answer.

    U+FFFD where the plain answer has a character means that each piece is decoded by itself, and characters are cut
    between two pieces. `å¥½` for 好 means that UTF-8 is taken for Latin-1 somewhere.

    Repair: decode incrementally, and hold back bytes that do not yet make a character.
    Simulated by: npu-adapter simulate --fault cut-characters (mojibake)
    """
    stream, plain = interview.foreign, interview.foreign_plain
    if stream is None or stream.completion is None or not answered(stream):
        raise NotApplicable("the prompt with Chinese characters was not answered (endpoint/stream-finish)")
    text = said(stream)
    whole = "".join(reversed(plain_texts(plain))) if plain else ""
    if any(wrong in text for wrong in _mojibake()):
        yield fail(
            expected="你好 as 你好",
            seen=f"UTF-8 that was taken for Latin-1: {shown(text)}",
            fix="decode and encode as UTF-8 all the way",
            where=asked(stream),
        )
    elif _REPLACEMENT in text and _REPLACEMENT not in whole and (_fits(text, whole) or stream.completion.torn):
        yield fail(
            expected=f"whole characters, as in the plain answer: {shown(whole, 120)}",
            seen=f"{text.count(_REPLACEMENT)} replacement characters (U+FFFD): {shown(text)}",
            fix="decode incrementally: hold back bytes that do not yet make a character",
            where=asked(stream),
        )


def _mojibake() -> Iterator[str]:
    """Each character of the prompt as it looks when its bytes are taken for Latin-1 or Windows-1252."""
    for char in FOREIGN_CHARACTERS:
        yield char.encode().decode("latin-1")
        try:
            yield char.encode().decode("cp1252")
        except UnicodeDecodeError:
            continue


def _fits(text: str, whole: str) -> bool:
    """Whether the text is the whole one with some characters replaced."""
    pattern = re.sub(f"{_REPLACEMENT}+", lambda run: f".{{1,{len(run.group())}}}", re.escape(text))
    return bool(whole) and re.fullmatch(pattern, whole, re.DOTALL) is not None


@check(
    "endpoint/max-tokens",
    "max_tokens is obeyed, and truncation is told",
    stage=Stage.ENDPOINT,
    why="An answer that the server cuts short is scored as wrong, and the report does not say that it was cut.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def max_tokens(interview: Interview) -> Findings:
    """With max_tokens the answer has at most so many tokens, and finish_reason "length" where that cut it. Without
    need no answer is cut earlier: some servers stop at a limit of their own (16, 128 or 512 tokens).

    Repair: pass max_tokens on to the engine; raise the server's own limit on new tokens.
    Simulated by: npu-adapter simulate --fault ignores-max-tokens (caps-output, hides-truncation)
    """
    for exchange in every_stream(interview):
        if finding := _exceeds(exchange, _usage(interview, exchange)):
            yield finding
            return
    if interview.limited is None or interview.long is None:
        raise NotApplicable("no answer with a limit was asked for")
    yield from _hidden_cut(interview)
    for exchange in (interview.long, *interview.streams):
        if finding := _own_limit(exchange, _usage(interview, exchange), context_tokens(interview)):
            yield finding
            break
    context = context_tokens(interview)
    if interview.long.status != 200 and context and context > 2 * token_limit(interview.long):
        yield warn(
            expected=f"an answer of up to {token_limit(interview.long)} tokens within a context of {context}",
            seen=what_came(interview.long),
            fix="raise the server's limit on new tokens: the evaluation client asks for 512 unless told otherwise",
            where=asked(interview.long),
        )


def _usage(interview: Interview, exchange: Exchange) -> Usage | None:
    """The token counts, where those of the whole interview hold (endpoint/stream-usage)."""
    return exchange.completion.usage if exchange.completion and counts_hold(interview) else None


def _exceeds(exchange: Exchange, usage: Usage | None) -> Finding | None:
    completion = exchange.completion
    if completion is None:
        return None
    counted = usage.completion_tokens if usage else None
    if (counted or 0) <= token_limit(exchange) and not overruns(exchange):
        return None
    return fail(
        expected=f"at most {token_limit(exchange)} tokens",
        seen=f"{'?' if counted is None else counted} tokens, {words_in(completion)} words"
        f"{', and no end: ' + exchange.error if exchange.error else ''}: {shown(completion.text)}",
        fix="pass max_tokens on to the engine",
        where=asked(exchange),
    )


def _hidden_cut(interview: Interview) -> Findings:
    """A shorter limit gave the beginning of the longer answer, and the server says that it had come to its end."""
    short, longer = interview.limited, interview.streams[0]
    if (
        short is None
        or short.completion is None
        or not interview.steady
        or short.completion.finish_reason != "stop"
    ):
        return
    text, whole = said(short), said(longer)
    if text and len(text) < len(whole) and whole.startswith(text):
        yield fail(
            expected='finish_reason "length" where max_tokens cut the answer',
            seen=f'finish_reason "stop" after {shown(text)}; with more it goes on {shown(whole[len(text) :], 60)}',
            fix='tell a cut answer by finish_reason "length"',
            where=asked(short),
        )


def _own_limit(exchange: Exchange, usage: Usage | None, context: int | None) -> Finding | None:
    """A cut well before max_tokens, which the end of the context does not explain."""
    completion = exchange.completion
    if completion is None or completion.finish_reason != "length":
        return None
    limit = token_limit(exchange)
    text = said(exchange)
    made = usage.completion_tokens if usage else max(completion.deltas, len(text.split()), len(text) // 6)
    seen = f'cut after {made} tokens, finish_reason "length"'
    fix = f"raise the server's own limit on new tokens, which seems to be {made}"
    if usage is None:
        few = made < limit // 2
        return warn(expected=f"some {limit} tokens", seen=seen, fix=fix, where=asked(exchange)) if few else None
    total = usage.prompt_tokens + made
    full = total >= context - 1 if context else total % _CONTEXT_STEP in {0, _CONTEXT_STEP - 1}
    if full or made == 0 or made >= 0.9 * limit - 1:
        return None
    return fail(expected=f"up to {limit} tokens, as asked", seen=seen, fix=fix, where=asked(exchange))


@check(
    "endpoint/stop-or-eos",
    "Answers end at the end of turn",
    stage=Stage.ENDPOINT,
    why="An end-of-turn token in the text means that the model did not stop there; what follows is scored too.",
    requires=("endpoint/stream-finish",),
)
def stop_or_eos(interview: Interview) -> Findings:
    """The model's special tokens (<|im_end|>, </s>, <|eot_id|>) belong to the server and never into the text.

    Where they show, the end-of-turn token is not among the tokens at which the server stops (generation_config.json
    and tokenizer_config.json disagree, or the chat template is another model's), or special tokens are not skipped.

    Repair: put the end-of-turn token into eos_token_id of generation_config.json, and use the model's own template.
    Simulated by: npu-adapter simulate --fault special-tokens (ignores-stop)
    """
    for exchange in every_stream(interview):
        if (exchange.sent or {}).get("ignore_eos"):
            continue
        text = said(exchange)
        if found := _SPECIAL.search(text):
            yield fail(
                expected="text without special tokens",
                seen=f"{found.group()!r} in {shown(text[max(0, found.start() - 60) :], 160)}",
                fix="put the end-of-turn token into eos_token_id of generation_config.json; skip special tokens",
                where=asked(exchange),
            )
            break
    stopped = interview.stopped
    if stopped and interview.stop_word and said(stopped).partition(interview.stop_word)[2].strip():
        yield warn(
            expected=f"an answer that ends at the stop string {interview.stop_word!r}",
            seen=shown(said(stopped)),
            fix="pass `stop` on to the engine; the service sends none, other clients do",
            where=asked(stopped),
        )


@check(
    "endpoint/sampling",
    "Temperature has its effect",
    stage=Stage.ENDPOINT,
    why="The service asks each problem five times; five equal answers make pass@5 no more than accuracy.",
    rule=contract.REPEATS,
    requires=("endpoint/stream-finish",),
)
def sampling(interview: Interview) -> Findings:
    """Four answers to one open request at temperature 1 must not all be alike, nor four more at temperature 2; and
    at temperature 0 the same request must give the same answer.

    Answers that are all alike mean that the temperature, or a seed, is fixed. Small differences of the text at
    temperature 0 are usual on accelerators; here they are a warning only where the *answer* changes: the last
    number in the text, or the text itself where there is none.

    Repair: pass temperature on to the engine, and fix no seed. For steady answers at temperature 0: one request at
    a time, or the engine's batch-invariant mode.
    Simulated by: npu-adapter simulate --fault ignores-sampling (unsteady)
    """
    unsteady = _unsteady(interview)
    if cold := (interview.streams[0].sent or {}).get("temperature") if interview.streams else 0:
        yield note(f"the server refuses temperature 0: answers meant to be alike were asked for at {cold}")
    elif unsteady:
        yield unsteady
    sampled = [said(exchange) for exchange in interview.sampled if answered(exchange)]
    hot = [said(exchange) for exchange in interview.hot if answered(exchange)]
    if len(set(sampled)) > 1 or len(set(hot)) > 1:
        return
    if hot and len(sampled[0]) >= _TELLING_CHARACTERS:
        yield fail(
            expected="different answers at temperature 1 and 2",
            seen=f"{len(sampled)} and {len(hot)} equal answers: {shown(sampled[0])}",
            fix="pass temperature on to the engine, and fix no seed",
            where=asked(interview.sampled[0]),
        )
    elif not unsteady:
        raise NotApplicable(f"too few answers at temperature 1, or too short to differ: {sampled[:1]}")


def _unsteady(interview: Interview) -> Finding | None:
    repeats = [said(exchange) for exchange in interview.streams if answered(exchange)]
    if len(set(repeats)) < 2:
        return None
    answers = [numbers[-1] if (numbers := _NUMBER.findall(text)) else text for text in repeats]
    changed = sum(answer != answers[0] for answer in answers[1:])
    if not changed:
        return note(f"texts at temperature 0 differ from run to run, answers do not: {shown(repeats[0], 80)}")
    return warn(
        expected="the same answer to the same request at temperature 0",
        seen=f"{changed} of {len(answers) - 1} repeats: {shown(repeats[0], 80)}, then {shown(repeats[1], 80)}",
        fix="see that temperature 0 reaches the engine; batches and graphs can change the last bits",
        where=asked(interview.streams[0]),
        evidence={"changed_answers": changed, "repeats": len(answers) - 1},
    )
