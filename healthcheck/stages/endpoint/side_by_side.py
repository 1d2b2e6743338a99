"""The part of the interview that runs beside five long answers, with at most sixteen streams at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace

from healthcheck.contract import Task
from healthcheck.core.records import JsonValue
from healthcheck.stages.endpoint import waits
from healthcheck.stages.endpoint.answers import (
    answer,
    plain_answer,
    prompt_tokens,
    repeats,
    texts,
    vary,
)
from healthcheck.stages.endpoint.asking import Ask, Asker
from healthcheck.stages.endpoint.pictures import pictures
from healthcheck.stages.endpoint.prompts import (
    FILLER,
    FOREIGN,
    GREETING,
    PUZZLE,
    RECALL,
    STORY,
    assistant,
    code_word,
    code_word_text,
    code_word_within,
    copying,
    four_shot,
    system,
    with_picture,
)
from healthcheck.stages.endpoint.records import (
    Conversation,
    Interview,
    Pairs,
    Recall,
    Sampling,
    Shown,
    Step,
)
from healthcheck.stages.endpoint.streams import tokens_per_unit
from healthcheck.text.messages import msg
from healthcheck.wire.chat import Message, user
from healthcheck.wire.client import Exchange

LIMITED_TOKENS = 8
OPENING_TOKENS = 32
HOT_TOKENS = 128
FAR_TOKENS = 5000
"""More than the 512 to 4096 tokens at which servers are known to cut a prompt without an error."""
_OUTER = 6
_MORE_FOURS = 2
"""More answers that end by themselves: few short ones are alike by chance."""
_EARLY = (96, 95, 94)
"""The numbers of code words that nothing else gives."""
_FEWEST_FAR_UNITS = 5
_FREED: tuple[dict[str, JsonValue], ...] = (
    {"top_p": 1.0, "top_k": -1, "logprobs": True},
    {"top_p": 1.0, "logprobs": True},
    {"top_p": 1.0},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The settings for the rest of the interview.

    Attributes:
        long_tokens: max_tokens of the long answers.
        at_once: the number of concurrent requests; 1 if they disturb each other.
        context: the context length that the server reports, in tokens.
    """

    asker: Asker
    long_tokens: int
    at_once: int
    context: int | None


def ask_the_rest(rest: Rest, facts: Interview) -> Interview:
    """Request the long answers, the second round of the crowd, and everything short."""
    crowd, asker = facts.crowd, rest.asker
    calm = rest.at_once > 1
    longs = _long_answers(rest)
    lines = crowd.lines[: len(crowd.lines) - len(longs)] if calm else crowd.lines
    with asker.workers(len(longs)) as pool:
        pending = {name: pool.submit(ask) for name, ask in longs.items()} if calm else {}
        second = copies(asker, lines)
        facts = replace(facts, crowd=replace(crowd, rounds=(crowd.rounds[0], second)))
        if not any(exchange.error for exchange in second):
            facts = _short_answers(rest, facts)
        done = {name: pending[name].result() if calm else ask() for name, ask in longs.items()}
    stories = (done["story"], done["puzzle"])
    return replace(
        facts,
        long=done["long"],
        roomy=done["roomy"],
        long_plain=done["long_plain"],
        stories=stories,
    )


def copies(asker: Asker, lines: Sequence[str]) -> tuple[Exchange, ...]:
    """Concurrent streams, each with one of the lines to repeat."""
    with asker.workers(len(lines)) as pool:
        return tuple(pool.map(lambda text: asker.stream(copying(text)), lines))


def _long_answers(rest: Rest) -> dict[str, Ask]:
    """The long answers by name."""
    asker, most = rest.asker, rest.long_tokens
    return {
        "long": lambda: asker.stream(user(STORY), max_tokens=most, ignore_eos=True),
        "roomy": lambda: asker.stream(user(STORY), max_tokens=most),
        "story": lambda: asker.stream(user(STORY), max_tokens=most, temperature=1.0),
        "puzzle": lambda: asker.stream(user(PUZZLE), max_tokens=most, temperature=1.0),
        "long_plain": lambda: asker.plain(user(STORY), max_tokens=most, ignore_eos=True),
    }


def _short_answers(rest: Rest, facts: Interview) -> Interview:
    asker = rest.asker
    asker.say_step(msg("limits, sampling, conversation, pictures"), 3)
    word = code_word(99)
    stop_word = _stop_word(texts(facts.streams[0])[0])
    talks = _talks(word)
    with asker.workers(min(rest.at_once, _OUTER)) as pool:
        steps = pool.submit(_steps, rest, word)
        sampling = pool.submit(_sampling, rest)
        foreign = pool.submit(_foreign, asker)
        bare = pool.submit(asker.stream, user("".join(filter(str.isascii, FOREIGN))))
        shown = pool.submit(_shown, rest) if facts.task is not Task.TEXT_GENERATION else None
        pending = {name: pool.submit(asker.stream, *messages) for name, messages in talks.items()}
        limited = pool.submit(asker.stream, user(STORY), max_tokens=LIMITED_TOKENS)
        stopped = pool.submit(asker.stream, user(STORY), stop=[stop_word or "\n\n\n"])
        said = {name: each.result() for name, each in pending.items()}
        wait([limited, stopped])
        same = steps.result()[0].exchange
        recalls = _recalls(asker, word, same)
        beginnings = _beginnings(asker, word, steps.result())
    return replace(
        facts,
        steps=steps.result(),
        sampling=sampling.result(),
        beginnings=beginnings,
        foreign=foreign.result(),
        bare=bare.result(),
        shown=shown.result() if shown else None,
        limited=limited.result(),
        stopped=stopped.result() if stop_word else None,
        stop_word=stop_word,
        conversation=Conversation(
            word=word, alone=asker.stream(user(RECALL)), same=same, **said, recalls=recalls,
            history_again=_again(asker, word, same, said["history"], talks["history"]),
            system_again=_again(asker, word, same, said["system"], talks["system"]),
        ),
    )  # fmt: skip


def _talks(word: str) -> dict[str, Sequence[Message]]:
    """The messages that give a word and ask for it, by the fields of Conversation."""
    short, longer = code_word_text(word), code_word_text(word, 3)
    kept, asked = assistant("I will remember it."), user(RECALL)
    return {
        "history": (user(short), kept, asked),
        "history_longer": (user(longer), kept, asked),
        "system": (system(short), asked),
        "system_longer": (system(longer), asked),
        "shots": four_shot(),
    }


def _stop_word(text: str) -> str:
    """A word from the middle of an answer, as a stop string; "" if the answer is too short."""
    words = text.split()
    return words[len(words) // 2] if len(words) >= 4 else ""


def _steps(rest: Rest, word: str) -> tuple[Step, ...]:
    """The same prompt with one unit of filler, with three, and with enough to make it long for this model."""
    asker = rest.asker
    one = Step(units=1, exchange=asker.stream(_far(word, 1)))
    three = Step(units=3, exchange=asker.stream(_far(word, 3)))
    many = _far_units(rest, (one, three))
    if many < _FEWEST_FAR_UNITS or three.exchange.status != 200:
        return one, three
    quarter = max(3, many // 4)
    limits = waits.longer_prompt(asker.limits, three.exchange, quarter / 3)
    middle = Step(units=quarter, exchange=asker.under(limits).stream(_far(word, quarter)))
    limits = waits.longer_prompt(limits, middle.exchange, many / quarter)
    return (
        one,
        three,
        middle,
        Step(units=many, exchange=asker.under(limits).stream(_far(word, many))),
    )


def _beginnings(asker: Asker, word: str, steps: Sequence[Step]) -> tuple[tuple[str, Exchange], ...]:
    """Code words at the beginning of the longest prompt, until one is repeated, if that of the middle was."""
    first, last = steps[0], steps[-1]
    asked: list[tuple[str, Exchange]] = []
    if len(steps) > 2 and repeats(word, first.exchange) and repeats(word, last.exchange):
        limits = waits.longer_prompt(asker.limits, last.exchange, 1)
        for early in map(code_word, _EARLY):
            message = user(code_word_text(early, last.units) + RECALL)
            asked.append((early, asker.under(limits).stream(message)))
            if repeats(*asked[-1]):
                break
    return tuple(asked)


def _far(word: str, units: int) -> Message:
    return user(code_word_within(word, units) + RECALL)


def _far_units(rest: Rest, steps: tuple[Step, Step]) -> int:
    """The units of a long prompt for this model: 5000 tokens, or five eighths of its context.

    If the server reports no counts, a character may be a token: then half of the context length in characters.
    """
    each = tokens_per_unit(steps)
    shortest = prompt_tokens(steps[0].exchange)
    if each and shortest:
        room = min(FAR_TOKENS, rest.context * 5 // 8) if rest.context else FAR_TOKENS
        return 1 + int((room - shortest) / each)
    characters = rest.context // 2 if rest.context else 4 * FAR_TOKENS
    return min(characters, 4 * FAR_TOKENS) // len(FILLER)


def _recalls(asker: Asker, word: str, same: Exchange) -> tuple[Recall, ...]:
    """A code word in the last of three turns; two more words if the first is not repeated."""
    first = Recall(word=word, single=same, last=asker.stream(*_three_turns(word)))
    if not repeats(word, same) or repeats(word, first.last):
        return (first,)
    others = (code_word(98), code_word(97))
    asked = (
        (other, asker.stream(_far(other, 1)), asker.stream(*_three_turns(other)))
        for other in others
    )
    return (first, *(Recall(word=other, single=single, last=last) for other, single, last in asked))


def _again(
    asker: Asker, word: str, same: Exchange, exchange: Exchange, messages: Sequence[Message]
) -> tuple[Exchange, ...]:
    """Two more answers if one lacks the word, which alone proves little: batches round differently."""
    if not repeats(word, same) or repeats(word, exchange):
        return ()
    return tuple(asker.stream(*messages) for _ in range(2))


def _three_turns(word: str) -> tuple[Message, ...]:
    return user(GREETING), assistant("Hello."), _far(word, 1)


def _sampling(rest: Rest) -> Sampling:
    """Four answers to one open request at temperature 1; hotter and unrestricted ones while all are alike."""
    asker, most = rest.asker, min(4, rest.at_once)

    def four(max_tokens: int, temperature: float, **fields: JsonValue) -> tuple[Exchange, ...]:
        def ask() -> Exchange:
            return asker.stream(
                user(STORY), max_tokens=max_tokens, temperature=temperature, **fields
            )

        return asker.together([ask] * 4, at_once=most)

    warm = four(OPENING_TOKENS, 1.0)
    found = Sampling(warm=warm)
    if vary(warm):
        return found
    found = replace(found, hot=four(HOT_TOKENS, 2.0, ignore_eos=True))
    if vary(found.hot, found.ends_after):
        return found
    beyond = not vary(found.hot)
    for fields in _FREED:
        freed = four(HOT_TOKENS, 2.0, ignore_eos=beyond, **fields)
        if freed[0].status == 200:
            fours = 0 if beyond else _MORE_FOURS
            more = [four(HOT_TOKENS, 2.0, ignore_eos=False, **fields) for _ in range(fours)]
            return replace(found, freed=sum(more, start=freed))
    return found


def _foreign(asker: Asker) -> Pairs:
    """Chinese and emoji, streamed and plain; repeated if the two differ."""
    streams, plains = [], []
    for _ in range(2):
        streams.append(asker.stream(user(FOREIGN), max_tokens=OPENING_TOKENS))
        plains.append(asker.plain(user(FOREIGN), max_tokens=OPENING_TOKENS))
        if answer(streams[0]) == plain_answer(plains[0]):
            break
    return Pairs(streams=tuple(streams), plains=tuple(plains))


def _shown(rest: Rest) -> Shown:
    asker = rest.asker
    question = msg("What do you see in this picture? Name its colours.")
    with asker.workers(min(4, rest.at_once)) as pool:
        streams = tuple(pool.map(lambda at: asker.stream(with_picture(question, at)), pictures()))
    plain = tuple(
        asker.plain(with_picture(question, address), logprobs=True, top_logprobs=5)
        for address in pictures()[:2]
    )
    return Shown(streams=streams, plain=plain, without=asker.stream(user(question)))
