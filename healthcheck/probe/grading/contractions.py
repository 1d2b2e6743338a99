"""The contractions that the VQA metric mends: "dont" is read as "don't", "couldntve" is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
