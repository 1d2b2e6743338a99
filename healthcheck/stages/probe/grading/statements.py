r"""Finds where an answer states its result: in \boxed{}, after ####, after "the answer is"; and what it retracts.

An answer that corrects itself is read in segments: text after "Wait," or "不对" takes precedence over earlier text;
"that is wrong" with nothing after it leaves no result.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

ENDS_IN_A_QUESTION = re.compile(r"[?？]\s*$")
STRICT_TIERS = ("boxed", "hashes", "cue")
MOST_MARKS = 20
MAX_CLAUSE_CHARS = 1000
_CUE = re.compile(
    r"(?<![A-Za-z])answers?\b[\"']?(?:[^.。\n:：=]{0,60}?\b(?:is|are|was|were|equals|be|stays|remains|comes\s+to)\b\s*[:：=]?"
    r"|[^.。\n:：=→]{0,20}?[:：=→])"
    r"|<answer>|答案(?:应该|应当|应|就|即|可能)?\s*(?:是|为|选|等于|[:：=])|(?:^|(?<=[\n。，\s]))答\s*[:：]",
    re.IGNORECASE,
)
_LOOSE_CUE = re.compile(
    r"\b(?:it|(?:the|my)\s+(?:\w+\s+)?(?:answer|result|total|value|number|choice|option))"
    r"(?:['’]s|\s+(?:is|was|equals|(?:should|must|has\s+to|ought\s+to|would|will)\s+be))\s"
    r"|\bi\s+meant?\s|(?:应该|应当)(?:是|为|选)|应为|应选|而是|改为|正确的?(?:答案|结果)?[是为]",
    re.IGNORECASE,
)
"""Phrases that state a result only after a retraction."""
_BEFORE = r"(?:^|(?<=[.!?…。！？,，;；:：\n)*}$—-])|(?<=\.\s)|(?<=[!?…,;:\n)*}$—-]\s))"
_SECOND_THOUGHT = re.compile(
    _BEFORE
    + r"(?:(?:oh\s*,?\s*)?wait\b|actually\b|no\b(?=\s*[,.!:—]|\s+wait)|(?:i['’]m\s+)?sorry\b|oops\b|correction\b"
    r"|hmm+\b|hold\s+on\b|on\s+second\s+thoughts?\b|scratch\s+that\b|let\s+me\s+(?:correct|re-?(?:check|do|think|calculate)))"
    r"|(?:^|(?<=[。！？，,；;：:…\s)—]))(?:这|那|好像)?不对|等等|等一下|更正|纠正|抱歉",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:that|this|it)(?:['’]s|\s+(?:is|was))\s+(?:wrong|incorrect|not\s+(?:right|correct))"
    r"|(?:can(?:not|['’]t)|could\s*n['’]t)\s+be\s+(?:right|correct)"
    r"|\bi\s+(?:made\s+(?:a|an)\s+(?:\w+\s+)?(?:mistake|error)|was\s+wrong|misread)|不对|算错了|错了",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"(?:thought|think\s+at\s+first|might\s+say|may\s+think|would\s+think|used\s+to\s+be|wonder(?:\s+whether)?|\bif|\bwhether"
    r"|(?:n['’]t|\bnot)\s+(?:think|believe))\s+(?:that\s+)?(?:the\s+)?(?:\w+\s+)?$|\b(?:wrong|incorrect|false)\s+$"
    r"|不认为(?:\w{0,4})$|如果(?:\w{0,4})$",
    re.IGNORECASE,
)
_UNBELIEVED = re.compile(
    r"(?:\b(?:(?:don|didn)['’]t|not)\s+(?:think|believe)|\bwonder)\b(?:[^.!?。\n,，;]|\.(?=\d))*|不认为[^。，\n]*"
    r"|(?:\b(?:it|this|that)\s+(?:might|could|may)\s+(?:also\s+|well\s+)?be\b(?!\s+\w+(?:ed|en)\b)"
    r"|\b(?:perhaps|maybe|possibly)\s+(?:it\s+is\b|it['’]s\b|(?=[-$(]?(?:\d|option\b|(?-i:[A-J])\b))))"
    r"(?:(?!,?\s+but\b)[^.!?。\n;]|\.(?=\d))*"
    r"|(?:(?<=[。\n，])|^)(?:它|这)?(?:可能|也许|或许)(?:就?是|为|选)?(?=[^。\n但]{0,9}[\d一二三四五六七八九十A-J])[^。\n但]*",
    re.IGNORECASE,
)
_TURN = r"\b(?:but|however|yet|actually|in\s+fact|in\s+reality)\b|但|然而|不过|其实|实际上"
_FIRST_IMPRESSION = re.compile(
    r"(?:\b(?:at\s+first(?:\s+(?:glance|sight|look))?|on\s+the\s+face\s+of\s+it|naively|intuitively|superficially"
    r"|initially\s+(?:the\s+answer|it|i|we|one)|(?:my|the)\s+(?:first|initial)\s+(?:guess|thought|impression|instinct)"
    r"|(?:one|you|we|i)\s+(?:might|may|could|would)\s+(?:\w+\s+)?(?:think|say|guess|expect|assume|conclude)"
    r"|(?:it|the\s+answer)\s+(?:first\s+)?(?:seems|looks|appears|seemed|looked|appeared))\b"
    r"|乍一?看|起初|一开始|最初|看起来|看上去|看似|直觉上)"
    rf"(?:(?!{_TURN})[^\n?？]){{1,160}}(?={_TURN})",
    re.IGNORECASE,
)
_UNABLE = re.compile(
    r"\b(?:can\s?not|can['’]t|could\s*n['’]t|unable\s+to|not\s+able\s+to)\s+(?:\w+\s+)?"
    r"(?:solve|determine|answer|figure|find|compute|calculate|say|tell|work\s+(?:it|this)\s+out|do\s+(?:it|this))\b"
    r"|\b(?:do\s+not|don['’]t)\s+(?:\w+\s+)?know\b|\bno\s+idea\b|\bgive\s+up\b|\bnot\s+(?:\w+\s+)?(?:sure|certain)\b"
    r"|(?:无法|不能|没法)(?:解|求|确定|判断|回答|计算|算)|不知道|不会(?:做|解|算)|不(?:太)?(?:确定|清楚)",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\n[ \t]*(?:(?:would|do)\s+you\s+(?:like|want)|shall\s+i|(?:please\s+)?let\s+me\s+know|需要我"
    r"|如果你(?:想|需要))(?:[^\n]*[?？]|[^\n\d]*)\s*$",
    re.IGNORECASE,
)
_CHECKED = re.compile(
    r"\n[ \t]*(?:\*\*)?(?:check|verification|检验|验算)[^\n]*(?:正确|成立|符合题意|✓|✔|correct|holds)[^\n\d]*$",
    re.IGNORECASE,
)
"""A check with its approval, behind the answer."""
_GUESS = re.compile(
    r"\b(?:might|could|may|perhaps|maybe|possibly|guess(?:ing)?|suppose)\b|可能|也许|或许|大概|猜",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|\.(?=\S))+[.!?。！？\n]*|[.!?。！？\n]+")
_ASKED = re.compile(r"\s*(?:[^.!。！\n]*[?？]|[^。！\n]*吗[?？。])")
_CLAUSE_END = re.compile(r"\n|[。！？?；]|(?<!\\)[!;]|(?<!\bi\.e)(?<!\be\.g)\.(?=\s|\*|$)|\.{3}")
_NEGATED = re.compile(r"\s*(?:not\b(?!\s+\S+(?:\s+\S+)?\s+but\b)|不是|并非)", re.IGNORECASE)
_DENYING = re.compile(
    r"(?:\b(?:not|never|cannot|can)|n['’]t)\s+(?:\w+\s+)?(?:is|are|was|were|be)\s*$|['’]t\s+be\s*$",
    re.IGNORECASE,
)
_HASHES = re.compile(r"####[ \t]*([^\n]+)")
_BOX = re.compile(r"\\?(?:f?boxed|fbox)\s*\{")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A text that states a result, and the tier of its mark; `corrects` if the mark is only "Wait,"."""

    tier: str
    text: str
    corrects: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements of an answer.

    Attributes:
        marked: the statements, the one with precedence first.
        rest: where to look for an unmarked result: the answer without emphasis, or the text after a retraction.
        taken_back: whether an earlier statement was retracted.
    """

    marked: tuple[Statement, ...]
    rest: str
    taken_back: bool = False


def statements(answer: str) -> Statements:
    """The marked results of an answer (of `reasoning.final_text`), the last correction first."""
    answer = _plain(answer)
    segments = _segments(answer)
    marked: list[Statement] = []
    for number in range(len(segments) - 1, -1, -1):
        marked += _marked(segments[number], corrected=number > 0)
        if number and _TAKEN_BACK.search(segments[number]):
            return Statements(
                marked=tuple(marked), rest="".join(segments[number:]), taken_back=True
            )
    return Statements(marked=tuple(marked), rest=answer)


def _plain(text: str) -> str:
    """The text without emphasis, and without claims that it doubts, withdraws or guesses."""
    text = _CHECKED.sub("", _OFFER.sub("", text))
    if unable := _UNABLE.search(text):
        after = _SENTENCE.findall(text[unable.end() :])
        text = text[: unable.end()] + "".join(one for one in after if not _GUESS.search(one))
    text = _FIRST_IMPRESSION.sub(" ", _UNBELIEVED.sub(" ", text))
    return (
        re.sub(r"(?<=\d)\*\*(?=-?\d)", "^", text)
        .replace("**", "")
        .replace("__", "")
        .replace("`", "")
    )


def _segments(answer: str) -> list[str]:
    """The answer, cut before each second thought that follows a statement."""
    marks = [
        match.end() for expression in (_BOX, _HASHES, _CUE) if (match := expression.search(answer))
    ]
    if not marks:
        return [answer]
    cuts = [match.start() for match in _SECOND_THOUGHT.finditer(answer, min(marks))]
    places = [0, *cuts[-MOST_MARKS:], len(answer)]
    return [answer[start:end] for start, end in itertools.pairwise(places)]


def _marked(segment: str, *, corrected: bool) -> Iterator[Statement]:
    yield from (Statement(tier="boxed", text=content) for content in boxes(segment))
    yield from (
        Statement(tier="hashes", text=content) for content in reversed(_HASHES.findall(segment))
    )
    yield from (Statement(tier="cue", text=clause) for clause in _clauses(segment, _CUE))
    if corrected:
        yield from (Statement(tier="cue", text=clause) for clause in _clauses(segment, _LOOSE_CUE))
        if match := _SECOND_THOUGHT.match(segment):
            yield Statement(
                tier="cue", text=_clause(segment[match.end() :].lstrip(" ,，:：—")), corrects=True
            )


def boxes(answer: str) -> Iterator[str]:
    r"""The contents of \boxed{…} with matched braces, last first; an unclosed one ends with its line."""
    for match in reversed(list(_BOX.finditer(answer))[-MOST_MARKS:]):
        depth, end, last = 1, match.end(), min(len(answer), match.end() + MAX_CLAUSE_CHARS)
        while end < last and depth:
            depth += {"{": 1, "}": -1}.get(answer[end], 0)
            end += 1
        yield (
            answer[match.end() : end - 1] if not depth else answer[match.end() :].partition("\n")[0]
        )


def _clauses(text: str, cues: re.Pattern[str]) -> Iterator[str]:
    """The text after each cue up to the end of its sentence, last first; the next line if the cue ends its line."""
    for cue in reversed(list(cues.finditer(text))[-MOST_MARKS:]):
        rest = text[cue.end() : cue.end() + MAX_CLAUSE_CHARS]
        rest = rest.lstrip(" :：*_\n\t>-" if rest.lstrip(" *_").startswith("\n") else " ")
        doubted = _DOUBTED.search(text[max(cue.start() - 40, 0) : cue.start()])
        clause = _clause(rest)
        asked = _ASKED.fullmatch(rest[: len(clause) + 1])
        if not (_NEGATED.match(rest) or doubted or asked or _DENYING.search(cue.group())):
            yield clause


def _clause(text: str) -> str:
    """The text up to the end of its sentence, plus a next one that begins with "Or", or after ";" with "if"."""
    end = _CLAUSE_END.search(text)
    if not end:
        return text
    another = (
        r"\s*(?:or\b|(?:(?:and|but)\s+)?if\b|[而但]?如果)" if end.group() in ";；" else r"\s*or\b"
    )
    return text if re.match(another, text[end.end() :], re.IGNORECASE) else text[: end.start()]


def whole_part(answer: str) -> str:
    """The complete part of an answer that was cut at max_tokens: up to its last sentence, line or closed brace.

    The number or word at the cut may be incomplete.
    """
    ends = [
        match.end() for match in re.finditer(r"\n|[。！？]|[.!?](?=\s)|\}(?=\s*\$|\W|$)", answer)
    ]
    return answer[: ends[-1]] if ends else ""
