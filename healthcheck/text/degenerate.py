"""Signs of a broken deployment in a single text: pure functions, each with its measured limits.

Many healthy texts look odd: rules of dashes, tables, matrices of zeros, JSON, base64, lists in many scripts, a
sentence repeated six times. `cut` tells a loop that only max_tokens ended from a loop that the model ended itself.
docs/healthy-servers.md has the rates on texts that were not written for this kit. Random words and digits are not
detected here; they lower the accuracy.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from healthcheck.text.messages import msg
from healthcheck.text.reasoning import final_text

UNDECODED = "undecoded"
GARBAGE = msg(
    "try --dtype bfloat16, no quantisation, --enforce-eager, --tensor-parallel-size 1, in this order; "
    "npu-adapter explain probe/degenerate says why"
)
_WEIGHTS = msg(
    "check in transformers that the weights are trained and of the right revision; then try --dtype bfloat16, no "
    "quantisation, --enforce-eager, --tensor-parallel-size 1"
)
REPAIRS = {
    UNDECODED: msg(
        "decode with the tokenizer of the weights: look at --tokenizer, at tokenizer_class and the release of "
        "transformers, and for a front that encodes the text again"
    ),
    "empty": msg(
        "check first that the chat template and the end-of-turn token are those of the weights: an empty answer is "
        "an end of turn at once; then try --dtype bfloat16, no quantisation"
    ),
    "mixed_scripts": _WEIGHTS,
    "implausible_words": _WEIGHTS,
}
"""What to try first, by sign; GARBAGE for the others."""
CONSTANT_LEAST_CHARS = 16
DRAWN_LEAST_CHARS = 400
"""The shortest run of a drawing character: rules, tables, rows of emoji, matrices of zeros and ones."""
DRAWN_CUT_LEAST_CHARS = 120
"""The same for an answer that max_tokens cut."""
ENCODED_DISTINCT = 12
"""With at least this many other characters besides the most frequent one, a text is base64 and not constant."""
CONSTANT_SHARE = 0.6
CONSTANT_DISTINCT = 3
LOOP_WINDOW_CHARS = 4000
CUT_LOOP = (48, 4)
"""Characters and repeats of a loop that max_tokens ended."""
ENDED_LOOP = (200, 8)
"""The same for a loop that the model ended, or one without a letter: a rule, the last rows of a matrix."""
COMPRESSIBLE_LEAST_BYTES = 400
COMPRESSIBLE_RATIO = 8.0
COMPRESSIBLE_DATA_RATIO = 24.0
"""Running text reaches 7 with zlib at level 9 and collapsed white space; JSON 12, hexadecimal dumps 20."""
RUNNING_SHARE = 0.85
"""The lowest share of letters in running text, without white space."""
BAD_SHARE = 0.005
BAD_LEAST = 2
SCRIPTS = 4
SCRIPT_LEAST_EACH = 2
SCRIPT_LEAST_LETTERS = 20
SCRIPT_LEAST_BORDERS = 3
WORDS_LEAST = 30
LANGUAGE_LEAST_LETTERS = 12
WORDS_SHARE = 0.04
BROKEN_LEAST_WORDS = 4
WORDS_RUNNING = 0.75
"""The lowest share of words among the parts between white space."""

_SMALL_WORDS = frozenset(
    word
    for line in Path(__file__).with_name("small_words.txt").read_text(encoding="utf-8").splitlines()
    for word in line.split()
    if not line.startswith("#")
)
_CHINESE = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "共多少还每所用答案因此元题算又再给分几数剩总加减乘除這個們來為國說時會對後過發還請"
)
_BLANK_LINES = re.compile(r"\n\s*\n")
_KANA = re.compile(r"[\u3040-\u30ff]")
_WORD = re.compile(r"[(\"'“‘*_]*([^\W\d_]+(?:['’-][^\W\d_]+)*)[.,;:!?…)\"'”’*_]*")
_TOKEN_MARK = re.compile(
    r"(?<=[^\W_])\u2581(?=\w)|(?<=[a-z\d.,;:!?\u4e00-\u9fff])[\u0120\u010a](?=\S|$)|<0x[0-9A-F]{2}>|(?:\\u[0-9a-f]{4}){2}"
)
"""Space and line feed as SentencePiece and byte-level BPE write them in tokens; a byte token; JSON escapes."""
_QUOTED = re.compile(r"```[^`]{0,20000}```|`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"")
"""Code and quotations, which may speak of markers."""
_ONE_BYTE = re.compile(
    r"(?:(?<![A-Za-z])|(?=[\xc2\xc3]))[^\x00-\x7f\u0370-\u1fff\u2200-\uffff]{2,}"
)
"""Neighbours that may be bytes in Latin-1 or Windows-1252; in « thé », é, a space and » would be one, too."""
_MOJIBAKE_LEAST_CHARS = 4
_DRAWN_RUN = re.compile(r"((?:[^\w\s!?]|[\d_]))\1{3,199}(?!\1)")
"""A run of one drawing character, no longer than in rules, tables and rows of emoji."""
_SHOUTED = "!?\ufffd"
"""Characters that nobody draws with; token 0 and broken bytes decode to them."""
_LEADS_ON = frozenset(
    re.findall(
        r"\w+",
        "the an of and or is are was were be from for at into than which whose if because but we they our your "
        "my every per when while since would could should must between",
    )
)
"""Words that hardly ever end a text; "in", "to" or "with" sometimes do."""
_LEADS_ON_IN_CHINESE = tuple(
    re.findall(r"\w+", "因为 所以 如果 但是 而且 并且 或者 以及 等于 答案是 我们 然后")
)
"""No single characters, which do end a text: the sum is 和, "yes" is 是."""
_LEADS_ON_SIGN = re.compile(r"(?:[,、，(（\[{“「《]|(?<=\s)[=+×÷*-])$")
_OPENING, _CLOSING = "([{（【「《", ")]}）】」》"
_JAPANESE_AND_CHINESE = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}
)


def empty(text: str) -> bool:
    """Whether nothing is left without the reasoning; an unclosed `<think>` leaves nothing."""
    return not final_text(text)


def constant(text: str, cut: bool = False) -> bool:
    """Whether the text is mostly one character, or has almost no different ones: "!!!!!!", token 0 repeatedly.

    `cut`: max_tokens ended the text, not the model.
    """
    body = text.rstrip()
    body = body.rstrip(body[-1]) if cut and body else body
    counts = Counter("".join(_DRAWN_RUN.sub(r"\1", body).split())) + Counter(
        "".join(text[len(body) :].split())
    )
    total = counts.total()
    if total < CONSTANT_LEAST_CHARS:
        return False
    common, times = counts.most_common(1)[0]
    if times <= CONSTANT_SHARE * total and len(counts) > CONSTANT_DISTINCT:
        return False
    if common.isalpha():  # a repeated short word is a loop, which a weak model may end
        return times > CONSTANT_SHARE * total and len(counts) <= ENCODED_DISTINCT
    drawn = DRAWN_CUT_LEAST_CHARS if cut else DRAWN_LEAST_CHARS
    return total >= (CONSTANT_LEAST_CHARS if common in _SHOUTED else drawn)


def tail_loop(text: str, cut: bool = False) -> bool:
    """Whether the text ends in a short repeated piece; `cut`: max_tokens ended the text, not the model.

    Finds the smallest period of each prefix of the reversed tail, by Knuth, Morris and Pratt's prefix function.
    """
    tail = text.rstrip()[-LOOP_WINDOW_CHARS:][::-1]
    lettered = next(
        (n for n, sign in enumerate(tail, 1) if sign.isalpha() or sign in _SHOUTED), len(tail) + 1
    )
    borders = [0] * len(tail)
    border = 0
    for place in range(1, len(tail)):
        while border and tail[place] != tail[border]:
            border = borders[border - 1]
        border += tail[place] == tail[border]
        borders[place] = border
        if not border:
            continue  # nothing of the prefix is repeated
        length = place + 1
        chars, repeats = CUT_LOOP if cut and lettered <= length - border else ENDED_LOOP
        if length >= max(chars, repeats * (length - border)):
            return True
    return False


def compressible(text: str) -> bool:
    """Whether the text compresses better than any language: loops with variations, and earlier loops."""
    plain = " ".join(text.split())
    data = plain.encode("utf-8", "replace")
    if len(data) < COMPRESSIBLE_LEAST_BYTES:
        return False
    ratio = len(data) / len(zlib.compress(data, 9))
    return ratio > COMPRESSIBLE_DATA_RATIO or (ratio > COMPRESSIBLE_RATIO and _runs(plain))


def bad_codepoints(text: str) -> bool:
    """Whether the text has replacement, control, private or unassigned characters; a last one may be a cut."""
    whole = text.rstrip("\ufffd")
    bad = sum(count for character, count in Counter(whole).items() if _is_bad(character))
    return bad >= BAD_LEAST and bad > BAD_SHARE * len(whole)


def undecoded(text: str) -> bool:
    """Whether the text has token markers, escapes or mojibake in place of what they stand for."""
    return bool(_TOKEN_MARK.search(_QUOTED.sub(" ", text))) or mojibake(text)


def mojibake(text: str) -> bool:
    """Whether most of what is not ASCII is UTF-8 that was read as Latin-1 or Windows-1252."""
    misread = sum(
        len(run)
        for run in _ONE_BYTE.findall(text)
        if _is_utf8(run, "cp1252") or _is_utf8(run, "latin-1")
    )
    return misread >= _MOJIBAKE_LEAST_CHARS and 2 * misread > sum(
        not sign.isascii() for sign in text
    )


def _is_utf8(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding).decode()
    except UnicodeError:
        return False
    return True


def mixed_scripts(text: str) -> bool:
    """Whether letters of four or more scripts follow each other, with at most a space between: random tokens.

    A list of greetings in ten scripts has a comma, a line or words of the main script between any two of them.
    """
    scripts = _scripts(text)
    total = scripts.total()
    if (
        total < SCRIPT_LEAST_LETTERS
        or sum(n >= SCRIPT_LEAST_EACH for n in scripts.values()) < SCRIPTS
    ):
        return False
    main = scripts.most_common(1)[0][0]
    neighbours = pairwise(_script(character) for character in text.replace(" ", ""))
    borders = [{one, other} for one, other in neighbours if one and other and one != other]
    return sum(main not in border for border in borders) >= SCRIPT_LEAST_BORDERS


def implausible_words(text: str) -> bool:
    """Whether long running text lacks the small words of every Latin-script language, or frequent hanzi."""
    signs = re.findall(r"[\u4e00-\u9fff]", text)
    if len(signs) >= WORDS_LEAST:
        return not _KANA.search(text) and sum(
            sign in _CHINESE for sign in signs
        ) < WORDS_SHARE * len(signs)
    if dominant_script(text) != "LATIN":
        return False
    pieces = text.split()
    words = [word.group(1).lower() for piece in pieces if (word := _WORD.fullmatch(piece))]
    if len(words) < max(WORDS_LEAST, WORDS_RUNNING * len(pieces)):
        return False
    return sum(word in _SMALL_WORDS for word in words) < WORDS_SHARE * len(words)


def breaks_off(text: str) -> bool:
    """Whether the text ends where no sentence, formula or code block does: "of the", "3 + 4 =", a comma, a bracket.

    True for about one in four texts that are cut between two words, and for almost no complete text.
    """
    body = final_text(text).rstrip()
    words = body.split()
    if not words:
        return False
    paragraph = _BLANK_LINES.split(body)[-1].replace("\x1b[", "")
    return (
        bool(_LEADS_ON_SIGN.search(body))
        or body.endswith(_LEADS_ON_IN_CHINESE)
        or (len(words) >= BROKEN_LEAST_WORDS and words[-1].lower() in _LEADS_ON)
        or sum(map(paragraph.count, _OPENING)) > sum(map(paragraph.count, _CLOSING))
        or body.count("```") % 2 == 1
    )


def dominant_script(text: str) -> str:
    """The script of more than half of the letters ("LATIN", "CJK", …); "" if there is none or too few letters."""
    scripts = _scripts(text)
    total = scripts.total()
    if total < LANGUAGE_LEAST_LETTERS:
        return ""
    script, letters = scripts.most_common(1)[0]
    return script if 2 * letters > total else ""


DETECTORS: dict[str, Callable[[str], bool]] = {
    "empty": empty,
    "compressible": compressible,
    "bad_codepoints": bad_codepoints,
    UNDECODED: undecoded,
    "mixed_scripts": mixed_scripts,
    "implausible_words": implausible_words,
}

ENDING_DETECTORS: dict[str, Callable[[str, bool], bool]] = {
    "constant": constant,
    "tail_loop": tail_loop,
}
"""Detectors that depend on whether max_tokens ended the text."""


@lru_cache(maxsize=2**17)  # figures and checks repeat the question for all answers of a run
def flags(text: str, *, cut: bool = False) -> tuple[str, ...]:
    """The names of the detectors that a text triggers; `cut`: max_tokens ended it (finish_reason "length").

    A cut text is never "empty": its reasoning had no room to end.
    """
    names = [
        name
        for name, detector in DETECTORS.items()
        if detector(text) and not (cut and detector is empty)
    ]
    names += [name for name, detector in ENDING_DETECTORS.items() if detector(text, cut)]
    return tuple(names)


@lru_cache(maxsize=4096)
def _is_bad(character: str) -> bool:
    if character in "\n\r\t\f\v\x1b" or "\U0001f000" <= character <= "\U0001faff":
        return False
    return character == "\ufffd" or unicodedata.category(character) in {"Co", "Cn", "Cs", "Cc"}


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """The script of a letter, "" for other characters; the scripts that Chinese and Japanese mix count as one."""
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    if first in {"MATHEMATICAL", "FULLWIDTH", "MODIFIER", "MICRO", "DOUBLE-STRUCK", "SCRIPT"}:
        return ""
    return "CJK" if first in _JAPANESE_AND_CHINESE or first == "HALFWIDTH" else first


def _scripts(text: str) -> Counter[str]:
    """The number of letters per script."""
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script(character):
            scripts[script] += count
    return scripts


def _runs(text: str) -> bool:
    """Whether this is running text rather than data, code or a table."""
    kinds = Counter(
        unicodedata.category(character)[0] for character in text if not character.isspace()
    )
    return kinds["L"] + kinds["M"] >= RUNNING_SHARE * max(kinds.total(), 1)
