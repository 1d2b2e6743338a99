"""Where the final answer stands in a model's text: the cascade, and which of its tiers fired.

boxed > #### > "answer is"/答案是 (strict: the answer is marked) > a number in bold > the last number (lenient).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.probe.grading.numbers import MAX_CHARS, Number, normalise, numbers, read, spelled

STRICT_TIERS = ("boxed", "hashes", "cue")
_CUE = re.compile(
    r"(?<![A-Za-z])answers?\b(?:[^.。\n:：=]{0,60}?\b(?:is|are|was|equals|be|comes\s+to)\b\s*[:：=]?|[^.。\n:：=]{0,20}?[:：=])"
    r"|<answer>|答案(?:应该|应当|应|就|即)?\s*(?:是|为|等于|[:：=])|(?:^|(?<=[\n。，\s]))答\s*[:：]",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"\n|[。！？!?;；]|\.(?=\s|$)")
_LEAD = re.compile(
    r"[\s:：*_\"'“”‘’(\[{=~≈$]*"
    r"(?:(?:approximately|about|around|exactly|simply|just|therefore|thus|equal to|大约|约为|约|共|为|是)\s*)*"
    r"(?:(?:US\$|[A-Za-z]|RMB)\s*=\s*)?[\s\"'“”(\[{$]*",
    re.IGNORECASE,
)
_MOST_MARKS = 20
_MAX_CLAUSE_CHARS = 1000
_NEGATED = re.compile(r"\s*(?:not\b|不是|并非)", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|n't)\s+[-$]?\d[\d,.]*|(?:不是|并非)\s*\d+")
_BOLD = re.compile(r"\*\*([^*\n]{1,60})\*\*")
_BOLD_NUMBER = re.compile(r"\s*[-−$€£¥(]*\s*\d[\d,.]*(?:/\d+)?\s*(?:%|[^\d\s.:：]|\s[^\d.]|$)")
_REMARK = re.compile(r"[(（][^()（）]*[A-Za-z\u4e00-\u9fff]{2}[^()（）]*[)）]")
_HASHES = re.compile(r"####[ \t]*([^\n]+)")
_CHOICE = re.compile(r"(?<![A-Za-z'’])\(?([A-J])\)?(?![A-Za-z'’])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An extracted answer: the tier that fired, the text for votes, and the number where it is one."""

    tier: str
    text: str
    number: Number | None = None


def number(answer: str) -> Found | None:
    """The final number of an answer (of `reasoning.final_text`), None where there is none."""
    answer = answer[-MAX_CHARS:]
    for tier, candidates in (("boxed", _boxed(answer)), ("hashes", _hashes(answer)), ("cue", _cued(answer)),
                             ("emphasis", _bold(answer)), ("last", _last(answer))):  # fmt: skip
        found = next((candidate for candidate in candidates if candidate), None)
        if found:
            return Found(tier=tier, text=found.canonical, number=found)
    return None


def choice(answer: str, letters: str) -> Found | None:
    """The final letter of an answer to a multiple-choice question."""
    answer = answer[-MAX_CHARS:]
    for content in _boxes(answer):
        if letter := _letter(normalise(content), letters):
            return Found(tier="boxed", text=letter)
    for clause in _clauses(answer):
        if letter := _letter(clause, letters):
            return Found(tier="cue", text=letter)
    plain = normalise(answer).strip()
    if match := re.fullmatch(r"[(\[]?([A-J])[)\].:]?", plain):
        return Found(tier="cue", text=match[1]) if match[1] in letters else None
    lines = [line for line in plain.splitlines() if line.strip()]
    if lines and (match := re.match(r"\s*[(\[]?([A-J])[)\].:：](?!\w)", lines[-1])) and match[1] in letters:
        return Found(tier="last", text=match[1])
    single = [match[1] for match in _CHOICE.finditer(plain) if match[1] in letters and not _article(plain, match)]
    return Found(tier="last", text=single[-1]) if single else None


def _letter(text: str, letters: str) -> str:
    named = (match[1] for match in _CHOICE.finditer(text) if match[1] in letters and not _article(text, match))
    return next(named, "")


def _article(text: str, match: re.Match[str]) -> bool:
    """The English article or pronoun: "A" or "I" before a small-letter word."""
    bare = match[1] in "AI" and not match.group().startswith("(")
    return bare and bool(re.match(r"\s+[a-z]", text[match.end() :]))


def _boxes(answer: str) -> Iterator[str]:
    r"""The contents of \boxed{…}, braces matched, last first; an unclosed one runs to the end of its line."""
    for match in reversed(list(re.finditer(r"\\?(?:f?boxed|fbox)\s*\{", answer))[-_MOST_MARKS:]):
        depth, end, last = 1, match.end(), min(len(answer), match.end() + _MAX_CLAUSE_CHARS)
        while end < last and depth:
            depth += {"{": 1, "}": -1}.get(answer[end], 0)
            end += 1
        yield answer[match.end() : end - 1] if not depth else answer[match.end() :].partition("\n")[0]


def _boxed(answer: str) -> Iterator[Number | None]:
    for content in _boxes(answer):
        yield read(content)


def _hashes(answer: str) -> Iterator[Number | None]:
    for content in reversed(_HASHES.findall(answer)):
        yield read(content)


def _cued(answer: str) -> Iterator[Number | None]:
    for clause in _clauses(answer):
        yield _of_clause(clause)


def _clauses(answer: str) -> Iterator[str]:
    """What follows each cue up to the end of its sentence, last first; the next line where the cue ends its own."""
    text = normalise(answer)
    for cue in reversed(list(_CUE.finditer(text))[-_MOST_MARKS:]):
        rest = text[cue.end() : cue.end() + _MAX_CLAUSE_CHARS]
        rest = rest.lstrip(" :：*_\n\t>-" if rest.lstrip(" *_").startswith("\n") else " ")
        if _NEGATED.match(rest):
            continue
        end = _CLAUSE_END.search(rest)
        yield rest[: end.start()] if end else rest


def _of_clause(clause: str) -> Number | None:
    """The number that a clause states: the one after its last "=", the one that it begins with, or its last."""
    plain = _REMARK.sub(" ", clause)
    clause = plain if numbers(plain) else clause
    found = numbers(clause) or spelled(clause)
    if not found:
        return None
    equals = clause.rfind("=")
    if equals >= 0 and (after := [one for one in found if one.start > equals]):
        return after[0]
    lead = _LEAD.match(clause)
    first = found[0]
    return first if lead and first.start <= lead.end() else found[-1]


def _bold(answer: str) -> Iterator[Number | None]:
    for content in reversed(_BOLD.findall(answer)):
        if _BOLD_NUMBER.match(content):
            yield read(content)


def _last(answer: str) -> Iterator[Number | None]:
    text = _DENIED.sub(" ", normalise(answer))
    for candidate in (_REMARK.sub(" ", text), text):
        found = numbers(candidate)
        yield found[-1] if found else None
    found = spelled(text)
    yield found[-1] if found else None
