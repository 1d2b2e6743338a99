"""The evaluation client's own soft grader for TextVQA, errors included: one answer against those of ten persons.

A reference that equals another in all fields, including its number, does not count as one of "the others". Capitals
in a reference never match, because only the prediction is converted to lower case. Contractions are expanded in the
prediction only, so that "dont" never matches a reference of "dont". The client fails on predictions of more than
32768 characters, which are wrong here.
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
"""The client passes a flag of `re` as the count."""
_AGREEING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One person's answer; `identity` is the rest of its entry as text, such as its number."""

    identity: str
    answer: str


def client_soft(text: str, references: Sequence[Reference]) -> tuple[str, float]:
    """The client's reading of a prediction, and its score in [0, 1].

    The score is the mean over the references of min(1, matches among the others / 3).
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
    # Entries are compared after removing punctuation, so two that differ only in punctuation count as one.
    keys = [
        (reference.identity, answer) for reference, answer in zip(references, given, strict=True)
    ]
    shares = [
        min(
            1.0,
            sum(key != own and answer == read for key, answer in zip(keys, given, strict=True))
            / _AGREEING,
        )
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
