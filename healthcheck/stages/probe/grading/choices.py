"""The letter of an answer to a multiple-choice question: B, (b), "B. 12", an option's text; never a denied one."""

from __future__ import annotations

import itertools
import re

from healthcheck.stages.probe.grading.extract import Found
from healthcheck.stages.probe.grading.numbers import normalise
from healthcheck.stages.probe.grading.statements import ENDS_IN_A_QUESTION, Statement, statements

_LETTER = re.compile(r"(?<![A-Za-z0-9'’])[(\[]?([A-J])[)\]]?(?![A-Za-z0-9'’])")
_SMALL = re.compile(
    r"\s*(?:option\s+)?[(\[\"'“]?([a-j])(?:[)\]\"'”.:：]|\s*$)(?!\w)", re.IGNORECASE
)
_MARKED = re.compile(r"^\s*[(\[]?[A-Ja-j][)\].:：]\s*")
_WHOLE = re.compile(r"(?:(?i:option)\s+)?[(\[]?([A-Ja-j])[)\].:：]?")
_LETTERS = (
    r"(?<![A-Za-z'’])[(\[]?[A-J][)\]]?"
    r"(?:\s?(?:[,，、&/]|and\b|or\b|和)\s?(?:(?:and|or)\s)?[(\[]?[A-J][)\]]?(?![A-Za-z])){0,9}"
)
_DENIED = re.compile(
    r"(?:\b(?:not|isn['’]t|cannot\s+be|can['’]t\s+be|eliminate|exclude|rule\s+out|rather\s+than|instead\s+of|(?:better|larger|smaller)?\s*\bthan|except|unlike|without)"
    r"|不是|并非|而非|不选|排除)\s*(?:option\s+|the\s+)?[(\[]?[A-J][)\]]?(?![A-Za-z])"
    rf"|{_LETTERS}(?:\s?,\s?(?:it|that|this|which|they|these))?"
    r"\s*(?:(?:is|are|was|were|looks?|seems?)\s+(?:both\s+|all\s+)?(?:not\b|\w*\s?(?:wrong|incorrect|false|tempting|impossible|too\b))"
    r"|(?:is|are|do|does)n['’]t|(?:do|does)\s+not\b|fails?\b|can(?:not|['’]t)|(?:can|could|may)\s+be\s+(?:ruled|eliminated|excluded)"
    r"|(?:选项)?(?:是)?(?:都|均)?(?:是)?(?:不对|不正确|错|不符))",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"(?:\s|,|，|、|or|and|和|或|/|&)+", re.IGNORECASE)
_CHOSEN = re.compile(
    r"(?:正确(?:选项|答案)?[是为]|选项?|选择|故选|应选|(?i:\b(?:choose|pick|select|option|leaves|go\s+with|(?:must|has\s+to|should)\s+be|it\s+is|it['’]s|my\s+choice\s+is|(?:choice|option)\s+is)))\s*[:：]?\s*\**[(\[]?([A-J])[)\]]?(?![A-Za-z])"
)
_REASONED = re.compile(
    r"[(\[]?([A-J])[)\]]?[.,:]?\s+(?:because|since|as|is\s+(?:correct|right|better|best|the))\b"
)
_LISTED = re.compile(r"\s*(?:[-*•]\s+)?[(\[]?([A-J])[)\].:：](?!\w)")
_CORRECT = re.compile(r"(?<![A-Za-z])([A-J])\s*(?:选?项)?(?:是|为|也)?(?:正确|对)的?(?!吗|与否|性)")
_THE_ANSWER = re.compile(
    r"(?<!if )(?<!If )(?<!whether )(?<!doubt )(?<![A-Za-z'’])[(\[]?([A-J])[)\]]?\s+is\s+(?:the\s+|an?\s+)?"
    r"(?:(?:only|correct|right|best|true|final)\s+)*(?:answer|choice|option|one|correct|right|true)(?=\s*[.,;!]|\s*$)"
)
_OPENING = re.compile(
    r"\s*[(\[]?([A-J])(?:[)\].:：]{1,2}[ \t]*(?P<text>[^\n]*))?[)\]]?[ \t]*\n\s*(?P<rest>\S.*)",
    re.DOTALL,
)
_SPOKEN_OF = re.compile(r"(?i)(?:options?|choices?|answers?|选项)\s*[:：]?\s*\**[(\[]?[A-J]")
"""A letter that is only mentioned: "option B is London"."""
_BOTH = re.compile(r"(?i)\b(?:both|either|neither)\b|都|要么")
_TURNING = re.compile(
    r"\b(?:but|however|wait|actually|instead|therefore|thus|hence|so)\b|但|不过|不对|所以|因此|故",
    re.IGNORECASE,
)

_REVERSED = re.compile(
    r"\b(?:but|however|wait|actually|instead|no|only|unless|if)\b|但|不过|不对", re.IGNORECASE
)


def choice(answer: str, letters: str, options: dict[str, str]) -> Found | None:
    """The final letter of an answer; None if it names none or several.

    Args:
        answer: the result of `reasoning.final_text`.
        letters: the letters to choose from.
        options: the lower-case text of each letter, if known.
    """
    stated = statements(answer)
    for statement in stated.marked:
        named = _stated(statement, letters, options)
        if len(named) > 1:
            return None
        if named:
            return Found(tier=statement.tier, text=named)
    rest = normalise(stated.rest).strip()
    if match := _WHOLE.fullmatch(rest):
        letter = match[1].upper()
        return Found(tier="cue", text=letter) if letter in letters else None
    letter = _option(rest, options) or _opening(rest, letters, options) or _unmarked(rest, letters)
    return Found(tier="last", text=letter) if letter else None


def _stated(statement: Statement, letters: str, options: dict[str, str]) -> str:
    """The letters that a statement names: one, several if it is unclear, or none."""
    text = _DENIED.sub(" ", normalise(statement.text))
    named = _named(text, letters)
    if named:
        return named
    match = _SMALL.match(text)
    if match and match[1].upper() in letters:
        return match[1].upper()
    return _option(text, options)


def _option(text: str, options: dict[str, str]) -> str:
    """The letter of the option with this text."""
    said = _plain(_MARKED.sub("", text))
    return next(
        (
            letter
            for letter, option in options.items()
            if said and said == _plain(normalise(option))
        ),
        "",
    )


def _named(text: str, letters: str) -> str:
    """The letter that a text names first, with alternatives beside it: "A or B"."""
    found = [
        match
        for match in _LETTER.finditer(text)
        if match[1] in letters and not _article(text, match)
    ]
    if not found:
        run = re.search(rf"(?<![A-Za-z])[{letters}]{{2,}}(?![A-Za-z])", text)
        return run.group() if run and len(set(run.group())) > 1 else ""
    named = found[0][1]
    for before, after in itertools.pairwise(found):
        if not _SEVERAL.fullmatch(text[before.end() : after.start()]):
            break
        named += after[1] if after[1] not in named else ""
    return named


def _opening(text: str, letters: str, options: dict[str, str]) -> str:
    """A letter on its own line followed by an explanation, without a list of letters or another choice."""
    opening = _OPENING.match(text)
    if not opening or opening[1] not in letters:
        return ""
    letter, rest = opening[1], _DENIED.sub(" ", opening["rest"])
    listed = any(
        _LISTED.match(line) or _WHOLE.fullmatch(line.strip()) for line in rest.splitlines()
    )
    named = opening["text"] and _plain(opening["text"]) != _plain(options.get(letter, ""))
    chosen = {match[1] for match in _CHOSEN.finditer(_SPOKEN_OF.sub(" ", rest))} - {letter}
    return "" if listed or named or chosen or _TURNING.search(rest) else letter


def _unmarked(text: str, letters: str) -> str:
    """The letter of an answer without a mark: the chosen one, that of the last line, or the last one named."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or ENDS_IN_A_QUESTION.search(lines[-1]):
        return ""
    if len(
        {match[1] for line in lines if (match := _LISTED.match(line))}
    ) > 2 and not _CORRECT.search(text):
        lines = [line for line in lines if not _LISTED.match(line)] or [""]
        text = "\n".join(lines)
    plain = _DENIED.sub(" ", text)
    opening = (_REASONED.match(plain) if len(lines) == 1 else None) or _LISTED.match(lines[-1])
    if opening and opening[1] in letters:
        return opening[1]
    correct = {match[1] for match in _CORRECT.finditer(plain)}
    answers = list(_THE_ANSWER.finditer(plain))
    if answers and "?" not in text and not _REVERSED.search(plain, answers[-1].end()):
        correct |= {match[1] for match in answers}
    if len(correct) == 1 and correct <= set(letters) and not _BOTH.search(text):
        return correct.pop()
    chosen = [match[1] for match in _CHOSEN.finditer(plain) if match[1] in letters]
    return _last(plain, letters, chosen[-1] if chosen else "")


def _last(text: str, letters: str, chosen: str) -> str:
    """The chosen letter, else the last one, unless an alternative is beside it: "A or B", "both A and B"."""
    found = [
        match
        for match in _LETTER.finditer(text)
        if match[1] in letters and not _article(text, match)
    ]
    if not found or (not chosen and len({match[1] for match in found}) > 1 and _BOTH.search(text)):
        return ""
    last = found[-1]
    beside = [one[1] for one in found[-2:-1] if _SEVERAL.fullmatch(text[one.end() : last.start()])]
    if not beside:
        return chosen or last[1]
    return last[1] if beside == [last[1]] else ""


def _article(text: str, match: re.Match[str]) -> bool:
    """Whether the match is the English article or pronoun: "A" or "I" before a lower-case word."""
    bare = match[1] in "AI" and not match.group().startswith(("(", "["))
    return (
        bare
        and bool(re.match(r"\s+[a-z]", text[match.end() :]))
        and not re.match(r"\s+(?:is|or|and|because|since|as)\b", text[match.end() :])
    )


def _plain(text: str) -> str:
    return re.sub(r"[\s*_$\"'“”.。]+", " ", text).strip().casefold()
