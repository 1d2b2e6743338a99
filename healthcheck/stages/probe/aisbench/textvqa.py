"""The evaluation client's own soft grader for TextVQA, its errors included: an answer against those of ten persons.

A reference that equals another as a whole, with its number, is none of "the others"; capitals in a reference never
match, because only the prediction is brought to lower case; contractions are spelt out in the prediction alone, so
that "dont" never matches a reference of "dont". It gives up on predictions of more than 32768 characters, which are
wrong here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.grading.replies import ARTICLES, NUMBER_WORDS, mended

MAX_CHARS = 32_768
_NUMBERS = {"none": "0", **NUMBER_WORDS}
_SPECIAL = ("☞", "☟", "☜", "<unk>", "<|im_end|>", "<|endoftext|>")
_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_COMMA = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_MOST_STOPS = 32
"""It hands a flag of `re` over as the count."""
_AGREEING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One person's answer; `identity` is what else its entry says, as text: its number, say."""

    identity: str
    answer: str


def client_soft(text: str, references: Sequence[Reference]) -> tuple[str, float]:
    """What the client reads from a prediction, and its score in [0, 1].

    For each reference: min(1, matches among the others / 3); their mean.
    """
    read = text.replace("\n", " ").replace("\t", " ").strip()
    for token in _SPECIAL:
        read = read.replace(token, "")
    if len(read) > MAX_CHARS or not references:
        return "", 0.0
    words = [_NUMBERS.get(word, word) for word in _without_punctuation(read).lower().split()]
    read = " ".join(mended(word) for word in words if word not in ARTICLES)
    differ = len({reference.answer for reference in references}) > 1
    given = [_without_punctuation(r.answer) if differ else r.answer for r in references]
    # Entries are compared after their punctuation went, so that two which differed in it alone may be one.
    keys = [(reference.identity, answer) for reference, answer in zip(references, given, strict=True)]
    shares = [
        min(1.0, sum(key != own and answer == read for key, answer in zip(keys, given, strict=True)) / _AGREEING)
        for own in keys
    ]
    return read, sum(shares) / len(shares)


def _without_punctuation(text: str) -> str:
    number = bool(_COMMA.search(text))
    plain = text
    for sign in _PUNCTUATION:
        spaced = f"{sign} " in text or f" {sign}" in text
        plain = plain.replace(sign, "" if spaced or number else " ")
    return _FULL_STOP.sub("", plain, count=_MOST_STOPS)
