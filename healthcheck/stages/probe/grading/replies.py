"""The soft score of TextVQA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from healthcheck.stages.probe.grading.number_words import UNITS

_QUOTES = "\"'“”‘’`*"
NUMBER_WORDS = {word: str(value) for value, word in enumerate(UNITS[:11])}
ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = str.maketrans(dict.fromkeys(';/[]"{}()=+\\_-><@`,?!', " "))
_NO_POINT = re.compile(r"(?<=\d),(?=\d)|\.(?!\d)")
"""A comma inside a number, a full stop that is not a decimal point."""
_AGREEING = 3
"""TextVQA: an answer that three of the other nine persons gave is wholly right."""
_ENDINGS = {
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "'ve": "could might must not should they we what where who would you",
    "'s": "he how somebody someone that there what when where who why",
    "'d": "he how it someone something there they where who you",
    "'ll": "how it somebody someone something they what who why you y'all",
    "'re": "there they what why you",
    "n't've": "could had might should would",
    "'d've": "he it she somebody someone something there they we who you y'all",
    "": "ma'am o'clock 'twas y'all 'ow's'at",
}
"""What the VQA metric mends, stems by ending: "dont" is read as "don't", "couldntve" is not."""


def tidy(text: str) -> str:
    """Without what models put around a reply: white space, quotation marks, emphasis, a final full stop."""
    return re.sub(r"\s+", " ", text).strip().strip(_QUOTES).removesuffix(".").strip(_QUOTES).strip()


def soft_score(answer: str, references: Sequence[str]) -> float:
    """The TextVQA accuracy of an answer in [0, 1].

    For each of the reference answers: min(1, matches among the others / 3); their mean. An answer that one of ten
    persons gave scores .3, two .6, three .9, four 1.
    """
    said = vqa_form(answer)
    given = [vqa_form(reference) for reference in references]
    if len(given) < 2:
        return float(said in given)
    shares = [
        min(
            1.0,
            sum(other == said for other in (*given[:place], *given[place + 1 :])) / min(_AGREEING, len(given) - 1),
        )
        for place in range(len(given))
    ]
    return sum(shares) / len(shares)


def vqa_form(text: str) -> str:
    """As the VQA metric compares answers: lower case, number words as digits, contractions mended.

    Articles and punctuation go, but for what tells answers apart: a decimal point, a colon, a percent sign.
    """
    plain = _NO_POINT.sub("", tidy(text).lower()).translate(_PUNCTUATION)
    words = (NUMBER_WORDS.get(word, word) for word in plain.split())
    return " ".join(mended(word) for word in words if word not in ARTICLES)


def mended(word: str) -> str:
    """A lower-case word with the one apostrophe that it lacks, as far as the metric knows it."""
    return _MENDED.get(word, word)


def _short_of_one(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each word with one apostrophe missing, and the word."""
    for word in words:
        for place, sign in enumerate(word):
            if sign == "'":
                yield word[:place] + word[place + 1 :], word


_MENDED = {
    **dict(_short_of_one(stem + ending for ending, stems in _ENDINGS.items() for stem in stems.split())),
    "somebody'd": "somebodyd",
}
"""Of "somebody'd" the metric takes a right apostrophe away."""
