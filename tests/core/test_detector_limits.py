"""Where each detector begins: a text just beyond its limit, and one that is just within."""

from __future__ import annotations

import random
import string
import zlib

import pytest

from healthcheck.text.degenerate import DETECTORS, ENDING_DETECTORS, dominant_script

LETTERS = string.ascii_lowercase
DRAW = random.Random(7)
LONG = "".join(DRAW.choices(LETTERS, k=1000))
"""Nothing in it is repeated."""
WORDS = [LONG[begin : begin + 7] for begin in range(0, 994, 7)]
"""None of them is a small word of a language."""


def shrinking(ratio: float, alphabet: str) -> str:
    """A text that zlib makes so many times shorter: some of the alphabet by chance, then over and over the same."""
    text = "".join(DRAW.choices(alphabet, k=300))
    while len(text) < ratio * len(zlib.compress(text.encode(), 9)):
        text += text[:50]
    return text


def mixed(*scripts: str) -> str:
    return " ".join(scripts)


CYRILLIC, GREEK, HEBREW, THAI = "\u0430\u0431", "\u03b1\u03b2", "\u05d0\u05d1", "\u0e01\u0e02"
MAIN = "abcdefghijklmn"
PRIVATE = "\ue000\ue001"
DATA = LETTERS + string.digits * 3

LIMITS = (
    ("constant: 16 characters", "constant", "!" * 16, "!" * 15),
    ("constant: 60 % of them", "constant", "!" * 13 + LETTERS[:7], "!" * 12 + LETTERS[:8]),
    ("constant: 3 different ones", "constant", "!?\ufffd" * 6, "!?\ufffda" * 6),
    ("constant: 400 that are drawn", "constant", "01" * 200, ("01" * 200)[1:]),
    ("constant: 12 letters beside", "constant", "\u54c8" * 40 + LETTERS[:11], "\u54c8" * 40 + LETTERS[:12]),
    ("tail_loop: 200 characters", "tail_loop", "say abcde" + "abcde" * 39, "say " + "abcde" * 39),
    ("tail_loop: 8 times", "tail_loop", "1. " + LONG[:30] * 8, "1. " + LONG[:30] * 7),
    ("tail_loop: of 500 characters", "tail_loop", "1. " + LONG[:500] * 8, "1. " + LONG[:500] * 7),
    ("compressible: 400 bytes", "compressible", "ab" * 200, ("ab" * 200)[1:]),
    ("compressible: 8 times shorter", "compressible", shrinking(8.5, LETTERS), shrinking(7.5, LETTERS)),
    ("compressible: 24 times, of data", "compressible", shrinking(25, DATA), shrinking(22.5, DATA)),
    ("compressible: 85 % letters", "compressible", shrinking(12, LETTERS * 8 + "01234" * 4), shrinking(12, LETTERS * 4 + "01234" * 5)),
    ("bad_codepoints: 2", "bad_codepoints", f"abc{PRIVATE}", "abc\ue000"),
    ("bad_codepoints: 0.5 %", "bad_codepoints", LONG[:397] + PRIVATE, LONG[:398] + PRIVATE),
    ("mixed_scripts: 4", "mixed_scripts", mixed(MAIN, CYRILLIC, GREEK, HEBREW, THAI), mixed(MAIN, CYRILLIC, GREEK)),
    ("mixed_scripts: 2 letters each", "mixed_scripts", mixed(MAIN, CYRILLIC, GREEK, HEBREW, CYRILLIC),
     mixed(MAIN, CYRILLIC, GREEK, HEBREW[:1], CYRILLIC)),
    ("mixed_scripts: 20 letters", "mixed_scripts", mixed(MAIN[:12], CYRILLIC, GREEK, HEBREW, CYRILLIC), mixed(MAIN[:11], CYRILLIC, GREEK, HEBREW, CYRILLIC)),
    ("mixed_scripts: 3 borders", "mixed_scripts", mixed(MAIN, CYRILLIC, GREEK, HEBREW, CYRILLIC), mixed(MAIN, CYRILLIC, GREEK, HEBREW)),
    ("implausible_words: 30", "implausible_words", " ".join(WORDS[:30]), " ".join(WORDS[:29])),
    ("implausible_words: 4 %", "implausible_words", " ".join(["of", "to", *WORDS[:49]]), " ".join(["of", "to", *WORDS[:48]])),
    ("implausible_words: 75 % words", "implausible_words", " ".join([*WORDS[:42], *["17"] * 14]), " ".join([*WORDS[:42], *["17"] * 15])),
)  # fmt: skip
CUT_LIMITS = (
    ("constant: 120 that are drawn", "constant", "01" * 60, ("01" * 60)[1:]),
    ("tail_loop: 48 characters", "tail_loop", "say " + "abcdef" * 8, "say " + "bcdef" + "abcdef" * 7),
    ("tail_loop: 4 times", "tail_loop", "1. " + LONG[:30] * 4, "1. " + LONG[:30] * 3),
    ("tail_loop: of 1000 characters", "tail_loop", "1. " + LONG * 4, "1. " + LONG * 3),
)  # fmt: skip


@pytest.mark.parametrize(
    ("detector", "beyond", "within"),
    [limit[1:] for limit in LIMITS],
    ids=[limit[0] for limit in LIMITS],
)
def test_a_detector_begins_at_its_limit(detector: str, beyond: str, within: str) -> None:
    judge = DETECTORS[detector] if detector in DETECTORS else ENDING_DETECTORS[detector]
    assert (judge(beyond), judge(within)) == (True, False)


@pytest.mark.parametrize(
    ("detector", "beyond", "within"),
    [limit[1:] for limit in CUT_LIMITS],
    ids=[limit[0] for limit in CUT_LIMITS],
)
def test_one_of_endings_begins_sooner_where_max_tokens_cut_the_text(
    detector: str, beyond: str, within: str
) -> None:
    judge = ENDING_DETECTORS[detector]
    assert (judge(beyond, True), judge(within, True)) == (True, False)
    assert not judge(beyond, False)


def test_a_script_is_told_from_twelve_letters_on() -> None:
    assert (dominant_script(LETTERS[:12]), dominant_script(LETTERS[:11])) == ("LATIN", "")
