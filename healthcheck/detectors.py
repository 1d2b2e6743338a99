"""Signs of a broken deployment in a single text: pure functions, each with its measured limits.

The limits were set on 1395 chunks of English and Chinese documents and 600 worked solutions: the only false alarms
were 15 documents without function words. They see "!!!!", loops, byte garbage and mixed scripts; random words and
digits they do not see: that is what the accuracy is for.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from healthcheck.reasoning import final_text

CONSTANT_LEAST_CHARS = 16
CONSTANT_SHARE = 0.6
CONSTANT_DISTINCT = 3
LOOP_WINDOW_CHARS = 4000
LOOP_LEAST_CHARS = 48
LOOP_REPEATS = 4
COMPRESSIBLE_LEAST_BYTES = 400
COMPRESSIBLE_RATIO = 6.0
"""Healthy text reaches 4.5 with zlib at level 9."""
BAD_SHARE = 0.005
SCRIPTS = 4
SCRIPT_SHARE = 0.02
SCRIPT_LEAST_LETTERS = 20
WORDS_LEAST = 30
LANGUAGE_LEAST_LETTERS = 12
WORDS_SHARE = 0.04

_ENGLISH = frozenset(
    re.findall(
        "[a-z]+",
        "the of and to a in is that it for as with on are be this was by at from or an have has had not he she "
        "they you we i his her their its my your so if then than there which who what how many much each all one "
        "more most no can will would do does did but into out up about after left now total number answer",
    )
)
_CHINESE = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "共多少还每所用答案因此元题算又再给分几数剩总加减乘除"
)
_JAPANESE_AND_CHINESE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})


def empty(text: str) -> bool:
    """Nothing is left after the reasoning; an unclosed `<think>` leaves nothing."""
    return not final_text(text)


def constant(text: str) -> bool:
    """One character makes up most of it, or it has next to no different ones: "!!!!!!", token 0 again and again."""
    counts = Counter(character for character in text if not character.isspace())
    total = counts.total()
    if total < CONSTANT_LEAST_CHARS:
        return False
    return counts.most_common(1)[0][1] > CONSTANT_SHARE * total or len(counts) <= CONSTANT_DISTINCT


def tail_loop(text: str) -> bool:
    """It ends in a short piece repeated four times or more over at least 48 characters.

    The smallest period of each prefix of the reversed tail, by the prefix function of Knuth, Morris and Pratt.
    """
    tail = text.rstrip()[-LOOP_WINDOW_CHARS:][::-1]
    borders = [0] * len(tail)
    border = 0
    for place in range(1, len(tail)):
        while border and tail[place] != tail[border]:
            border = borders[border - 1]
        border += tail[place] == tail[border]
        borders[place] = border
        length = place + 1
        if length >= max(LOOP_LEAST_CHARS, LOOP_REPEATS * (length - border)):
            return True
    return False


def compressible(text: str) -> bool:
    """It shrinks as no language does: loops that vary a little, and loops before a changed ending."""
    data = text.encode("utf-8", "replace")
    return len(data) >= COMPRESSIBLE_LEAST_BYTES and len(data) > COMPRESSIBLE_RATIO * len(zlib.compress(data, 9))


def bad_codepoints(text: str) -> bool:
    """Replacement, control, private or unassigned characters; one that max_tokens cut in half is no sign."""
    whole = text.rstrip("\ufffd")
    bad = sum(_is_bad(character) for character in whole)
    return bad > BAD_SHARE * max(len(whole), 1)


def mixed_scripts(text: str) -> bool:
    """Letters of four or more scripts: random tokens of a multilingual vocabulary."""
    scripts = Counter(script for character in text if (script := _script(character)))
    total = scripts.total()
    return total >= SCRIPT_LEAST_LETTERS and sum(n >= SCRIPT_SHARE * total for n in scripts.values()) >= SCRIPTS


def implausible_words(text: str) -> bool:
    """A long text next to none of whose words are the small words of English, or frequent characters of Chinese."""
    words = re.findall(r"[A-Za-z]+", text.lower())
    signs = re.findall(r"[\u4e00-\u9fff]", text)
    if len(signs) > len(words):
        return len(signs) >= WORDS_LEAST and sum(sign in _CHINESE for sign in signs) < WORDS_SHARE * len(signs)
    return len(words) >= WORDS_LEAST and sum(word in _ENGLISH for word in words) < WORDS_SHARE * len(words)


def dominant_script(text: str) -> str:
    """The script of more than half of the letters ("LATIN", "CJK", …); "" where there is none or there are few."""
    scripts = Counter(script for character in text if (script := _script(character)))
    total = scripts.total()
    if total < LANGUAGE_LEAST_LETTERS:
        return ""
    script, letters = scripts.most_common(1)[0]
    return script if 2 * letters > total else ""


DETECTORS: dict[str, Callable[[str], bool]] = {
    "empty": empty,
    "constant": constant,
    "tail_loop": tail_loop,
    "compressible": compressible,
    "bad_codepoints": bad_codepoints,
    "mixed_scripts": mixed_scripts,
    "implausible_words": implausible_words,
}


@lru_cache(maxsize=2**13)
def flags(text: str) -> tuple[str, ...]:
    """The names of the detectors that a text sets off."""
    return tuple(name for name, detector in DETECTORS.items() if detector(text))


@lru_cache(maxsize=4096)
def _is_bad(character: str) -> bool:
    if character in "\n\r\t" or "\U0001f000" <= character <= "\U0001faff":
        return False
    return character == "\ufffd" or unicodedata.category(character) in {"Co", "Cn", "Cs", "Cc"}


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """The script of a letter, "" for anything else; what one Chinese or Japanese text mixes counts as one."""
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    if first in {"MATHEMATICAL", "FULLWIDTH", "MODIFIER", "MICRO", "DOUBLE-STRUCK", "SCRIPT"}:
        return ""
    return "CJK" if first in _JAPANESE_AND_CHINESE or first == "HALFWIDTH" else first
