"""Signs that concurrent streams disturb one another, and whether one of their lines is later answered as before."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, note
from healthcheck.stages.endpoint.answers import about, answered, response_of, said, shown
from healthcheck.stages.endpoint.likeness import differing_parts, differs_only_locally
from healthcheck.stages.endpoint.records import Crowd, Interview
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_TELLING_CHARACTERS = 24
MOST_ALONE = 4
MIXED = 3
"""Changed texts of 27 concurrent ones. A model that copies badly may miss one word and recover; but not three words
that it repeats when the request runs alone.
"""
LINE_AFTER_DISCONNECTS, LINE_AFTER_MALFORMED = 0, 1
"""The numbers of the lines that are sent again after disconnects and after malformed requests."""


def undisturbed(crowd: Crowd) -> bool:
    """Whether the first round shows that streams may run concurrently."""
    strange = (*_anothers_words(crowd), *_anothers_answers(crowd))
    return all(map(answered, crowd.rounds[0])) and not strange and not doubtful_copies(crowd)


def crowd_talk(crowd: Crowd) -> tuple[str, ...]:
    """Signs that a stream received another stream's text, in words."""
    return tuple(
        dict.fromkeys((*_anothers_words(crowd), *_anothers_answers(crowd), *_shared_events(crowd)))
    )


def changed_copies(crowd: Crowd) -> tuple[tuple[str, str], ...]:
    """Texts under load with their correct texts: pairs that differ for a while and then match again.

    The correct text is the line, if the model repeats it when the request runs alone; else the answer to that
    request. In its own words, a model near a tie may say "this" for "the" and continue alike: the same change in
    many streams counts once.
    """
    alone = {index: said(exchange) for index, exchange in crowd.alone}
    copies = [crowd.lines[index] in text for index, text in alone.items()]
    found: list[tuple[str, str]] = []
    changes: set[tuple[str, str]] = set()
    for index, text in _said(crowd):
        line = crowd.lines[index]
        if line in text:
            continue
        right = alone.get(index, line if copies and all(copies) else "")
        if not right or not differs_only_locally(text, right):
            continue
        changed = differing_parts(text, right)
        if line in right or changed not in changes:
            found.append((text, right))
        changes.add(changed)
    return tuple(found)


def only_changed(crowd: Crowd) -> bool:
    """Whether concurrent texts were changed as lone ones may be: none has another's code word or events."""
    if any(_anothers_words(crowd)) or any(_shared_events(crowd)):
        return False
    return any(_anothers_answers(crowd)) or len(changed_copies(crowd)) >= MIXED


def doubtful_copies(crowd: Crowd) -> tuple[int, ...]:
    """The numbers of the lines to request alone: nearly repeated, or answered in two ways."""
    heard: dict[int, list[str]] = {}
    for index, text in _said(crowd):
        heard.setdefault(index, []).append(text)
    return tuple(
        index
        for index, texts in heard.items()
        if any(crowd.lines[index] not in text for text in texts)
        and (
            any(differs_only_locally(text, crowd.lines[index]) for text in texts)
            or any(differs_only_locally(text, texts[0]) for text in texts[1:])
        )
    )


def changed_answers(crowd: Crowd) -> tuple[str, ...]:
    """The lines that were repeated in one round and not in the other."""
    first, second = crowd.rounds
    return tuple(
        line
        for line, one, two in zip(crowd.lines, first, second, strict=False)
        if (line in said(one)) != (line in said(two))
    )


def _said(crowd: Crowd) -> Iterator[tuple[int, str]]:
    """Complete answers with the numbers of their lines."""
    for exchanges in crowd.rounds:
        for index, exchange in enumerate(exchanges):
            if answered(exchange):
                yield index, said(exchange)


def _anothers_words(crowd: Crowd) -> Iterator[str]:
    """Streams with another stream's code word."""
    words = [line.split()[0] for line in crowd.lines]
    for index, text in _said(crowd):
        if other := next((word for word in words if word != words[index] and word in text), ""):
            yield msg(
                "the stream with the code word {words} answered {other}",
                words=repr(words[index]),
                other=repr(other),
            )


def _anothers_answers(crowd: Crowd) -> Iterator[str]:
    """If no stream has its own code word, streams with the whole of another's answer.

    A reasoning model repeats its word in some thoughts and not in others. Answers without the word may well be
    alike, and the batch may change which ones they are.
    """
    words = [line.split()[0] for line in crowd.lines]
    if any(words[index] in text for index, text in _said(crowd)):
        return
    first, second = ([said(exchange) for exchange in exchanges] for exchanges in crowd.rounds)
    telling = len(set(second)) > len(second) // 2
    for index, (text, again) in enumerate(zip(first, second, strict=False)):
        if telling and len(text) >= _TELLING_CHARACTERS and text != again and text in second:
            yield msg(
                "the stream with the code word {words} has the answer to another prompt",
                words=repr(words[index]),
            )


def _shared_events(crowd: Crowd) -> Iterator[str]:
    names = [exchange.folded.identities for exchanges in crowd.rounds for exchange in exchanges]
    for index, identities in enumerate(names):
        others = {name for other, given in enumerate(names) if other != index for name in given}
        if len(identities) > 1 and others & set(identities):
            yield msg(
                "one stream has the events of several: {identities}",
                identities=", ".join(identities[:3]),
            )


def still_right(
    interview: Interview, exchange: Exchange, *, line: int, after: str, fix: str
) -> Findings:
    """A line of the crowd, sent again, must be answered, and with text if its earlier answers had some."""
    crowd = interview.crowd
    before = [said(exchanges[line]) for exchanges in crowd.rounds if len(exchanges) > line]
    if not answered(exchange) or (before and all(before) and not said(exchange)):
        expected = msg("after {after}: an answer as before", after=after)
        yield about(exchange).fail(expected=expected, seen=response_of(exchange), fix=fix)
    elif len(set(before)) == 1 and said(exchange) != before[0]:
        yield note(
            msg(
                "after {after}, another answer at temperature 0: {said}",
                after=after,
                said=shown(said(exchange), 80),
            )
        )
