"""What parallel streams of the same prompts tell about one another."""

from __future__ import annotations

from healthcheck.endpoint.records import Crowd, answered, said

_TELLING_CHARACTERS = 24


def undisturbed(crowd: Crowd) -> bool:
    """Whether parallel streams can be trusted, so that the rest of the interview may run side by side."""
    return all(answered(exchange) for exchanges in crowd.rounds for exchange in exchanges) and not any(
        crowd_talk(crowd)
    )


def crowd_talk(crowd: Crowd) -> tuple[str, ...]:
    """Signs that parallel streams got each other's text, in words."""
    signs = []
    first, second = crowd.rounds
    answers = [said(exchange) for exchange in second]
    telling = len(set(answers)) > len(answers) // 2
    for index, exchange in enumerate((*first, *second)):
        own = index % len(crowd.words)
        text = said(exchange)
        other = next((word for word in crowd.words if word != crowd.words[own] and word in text), "")
        if other:
            signs.append(f"the stream that was told {crowd.words[own]!r} said {other!r}")
    names = [exchange.completion.identities if exchange.completion else () for exchange in (*first, *second)]
    for index, identities in enumerate(names):
        others = {name for other, given in enumerate(names) if other != index for name in given}
        if len(identities) > 1 and others & set(identities):
            signs.append(f"one stream has the events of several: {', '.join(identities[:3])}")
    for own, exchange in enumerate(first):
        text = said(exchange)
        if telling and len(text) >= _TELLING_CHARACTERS and text != answers[own] and text in answers:
            signs.append(f"the stream that was told {crowd.words[own]!r} gave another prompt's answer")
    return tuple(dict.fromkeys(signs))


def changed_answers(crowd: Crowd) -> tuple[str, ...]:
    """The code words that were said in one round of the same prompts and not in the other."""
    first, second = crowd.rounds
    return tuple(
        word
        for word, one, two in zip(crowd.words, first, second, strict=True)
        if (word in said(one)) != (word in said(two))
    )
