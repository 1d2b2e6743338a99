"""The soft score of TextVQA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_QUOTES = "\"'“”‘’`*"
NUMBER_WORDS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = str.maketrans(dict.fromkeys(';/[]"{}()=+\\_-><@`,?!', " "))
_NO_POINT = re.compile(r"(?<=\d),(?=\d)|\.(?!\d)")
"""A comma inside a number, or a full stop that is not a decimal point."""
_AGREEING = 3
"""TextVQA: an answer given by three of the other nine persons is entirely right."""
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
"""The repairs of the VQA metric, stems by ending: "dont" is read as "don't", "couldntve" is not."""


def tidy(text: str) -> str:
    """Strip the decoration around a reply: white space, quotation marks, emphasis, a final full stop."""
    return re.sub(r"\s+", " ", text).strip().strip(_QUOTES).removesuffix(".").strip(_QUOTES).strip()


def soft_score(answer: str, references: Sequence[str]) -> float:
    """The TextVQA accuracy of an answer in [0, 1].

    The score is the mean over the reference answers of min(1, matches among the others / 3). An answer that one of
    ten persons gave scores .3, two .6, three .9, four 1.
    """
    said = vqa_form(answer)
    given = [vqa_form(reference) for reference in references]
    if len(given) < 2:
        return float(said in given)
    shares = [
        min(
            1.0,
            sum(other == said for other in (*given[:place], *given[place + 1 :]))
            / min(_AGREEING, len(given) - 1),
        )
        for place in range(len(given))
    ]
    return sum(shares) / len(shares)


def vqa_form(text: str) -> str:
    """The form in which the VQA metric compares answers: lower case, number words as digits, contractions repaired.

    Articles and punctuation are removed, except a decimal point, a colon and a percent sign.
    """
    plain = _NO_POINT.sub("", tidy(text).lower()).translate(_PUNCTUATION)
    words = (NUMBER_WORDS.get(word, word) for word in plain.split())
    return " ".join(mended(word) for word in words if word not in ARTICLES)


def mended(word: str) -> str:
    """Add the one missing apostrophe of a lower-case word, if the metric knows the word."""
    return _MENDED.get(word, word)


def _short_of_one(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each word without one of its apostrophes, and the word."""
    for word in words:
        for place, sign in enumerate(word):
            if sign == "'":
                yield word[:place] + word[place + 1 :], word


_MENDED = {
    **dict(
        _short_of_one(stem + ending for ending, stems in _ENDINGS.items() for stem in stems.split())
    ),
    "somebody'd": "somebodyd",
}
"""The metric removes the correct apostrophe of "somebody'd"."""
