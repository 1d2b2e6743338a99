r"""Answers that are expressions: points, sets, intervals, equations, roots, LaTeX.

This module finds the stated expression and compares it with the gold: as text, as plain numbers, then by
math-verify. Brackets are compared here: (3, 14) is not [3, 14].
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from unicodedata import normalize

from healthcheck.stages.probe.grading import judge
from healthcheck.stages.probe.grading.extract import BOLD, SENTENCE_END, Found
from healthcheck.stages.probe.grading.judge import Verdict
from healthcheck.stages.probe.grading.numbers import POWERS, Number, in_digits, normalise
from healthcheck.stages.probe.grading.statements import statements

_SIGNS = {
    "−": "-", "–": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "π": r"\pi ",
    "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∪": r"\cup ", "∩": r"\cap ", "±": r"\pm ",
    "∈": r"\in ", "∅": r"\emptyset ", "（": "(", "）": ")", "，": ",", "。": ".", "：": ":", "°": r"^\circ ",
    "⟨": "(", "⟩": ")", r"\langle": "(", r"\rangle": ")", "、": ",", "θ": r"\theta ", r"\varnothing": r"\emptyset ",
}  # fmt: skip
_SPAN = re.compile(
    r"\$\$(.{1,600}?)\$\$|\$(.{1,600}?)\$|\\\((.{1,600}?)\\\)|\\\[(.{1,600}?)\\\]", re.DOTALL
)
_SPACING = re.compile(r"(?<!\\)\\[,;:! ]|\\(?:left|right|displaystyle|quad|qquad)(?![a-z])|~")
_PLAIN_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{\s*([^{}]*?)\s*\}")
_JOINT = re.compile(r"\s*(?:\bor\b|\band\b|或|和|与)\s*")
_ABOUT = re.compile(r"\s*(?:\\approx|≈|\bor about\b|\bapproximately\b).*$", re.DOTALL)
_REMARK = re.compile(
    r"[,，;]?\s+(?:not|which|because|since|as|where|when|with|for|so|rather|instead|and\s+not)\b.*$|[,，]?\s*(?:而不是|因为).*$",
    re.IGNORECASE | re.DOTALL,
)
_MEMBER = re.compile(r"^\s*[A-Za-z]\s*\\in\s*(?![A-Za-z])")
_TUPLE_NAME = re.compile(
    r"^\s*\(\s*(?:[a-z]|\\(?:rho|theta|phi)\b|[ρφ])(?:\s*,\s*(?:[a-z]|\\(?:rho|theta|phi)\b|[ρφ]))+\s*\)\s*=\s*"
)
_VALUE = re.compile(r"\s*([A-Za-z]|\\theta)\s*=\s*([^=]+)")
_COLUMN = re.compile(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}")
_ROWS = re.compile(r"\[(\[[^\[\]]*\](?:,\[[^\[\]]*\])*)\]")
_IN_RADIANS = re.compile(
    r"\s*(?:\\(?:text|mathrm)\s?\{\s*rad(?:ians?)?\s*\}|\brad(?:ians?)?\b|弧度)"
)
_NAMED = re.compile(r"^\s*(?:[A-Za-z](?:_\{?\w\}?)?|[a-z]'?\([a-z]\))\s*=\s*(?=[^=]+$)")
_UNIT = re.compile(
    r"(?<=[\d})])\s+(?:cm|mm|km|m|kg|g|s|(?:square\s)?units?|degrees?)(?:\^\{?[23]\}?)?$"
)
"""Only after a space: in 5m, m may be a variable."""
_STATES = re.compile(
    r"(?:\b(?:is|are|be|at|gives?|equals|has\s+length|i\.e\.|that\s+is)(?!\w)|[:：]|[是为])\s*",
    re.IGNORECASE,
)
_NAMED_LINE = re.compile(r"\s*(?:[-*•]\s+)?\$?[A-Za-z]\s*=[^=]+$")
_NO_SOLUTION = re.compile(
    r"\bno\s+(?:real\s+)?solutions?\b|\bempty(?:\s+set)?\b|无(?:实数)?解|没有实数解|空集",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(
    r"\b(?:if|when|unless|other|false|besides|except|not|until)\b|n['’]t\b|当|若|如果|不|除",
    re.IGNORECASE,
)
_DEGREES = re.compile(r"(?<![\d.])(\d{1,4})\s?(?:\^\{?\\circ\}?|°|degrees\b)")
_LEADING = re.compile(
    r"^\s*(?:so|thus|hence|therefore|then|所以|因此|故|即|∴|⇒)[\s,，:：]*", re.IGNORECASE
)
_SUBSCRIPT = re.compile("[₀-₉]+")
_BASE = re.compile(r"(?<=[\dA-F])\s*\((?:in\s+)?base\s+(\d+)\)")
_IN_BRACKETS = re.compile(
    r"\s?\((?=[^()]{0,200}[A-Za-z]{3})(?![^()]*\b(?:not|no|incorrect|wrong|should|times|mod|final|or)\b)[^()$\\]{0,200}\)\s?$",
    re.IGNORECASE,
)
_BOUND = re.compile(r"[a-z](<|>|\\le|\\ge)([^<>]+)")
_BETWEEN = re.compile(r"([^<>]+?)(<|\\le)[a-z](<|\\le)([^<>]+)")
_NAMED_LINES = re.compile(r"\s*(?:[-*•]\s+)?\$?[A-Za-z]\s*=\s*[^=\s]+\$?\s*", re.MULTILINE)
_ASIDE = re.compile(
    r"\b(?:not|exclud\w*|given|candidates?|wrong|check|except)\b|n['’]t\b|不|排除|检验",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"[\w)}]\s*[-+−=^<>≤≥/,²³]")
_WORD = re.compile(r"[A-Za-z]{3,}|[\u3400-\u9fff]{2,}")
_KNOWN_WORD = re.compile(
    r"\\[A-Za-z]+|\blog(?![A-Za-z])|(?<![A-Za-z])(?:sin|cos|tan|sqrt|exp|begin|end|[bpv]?matrix|cases)\b"
)
_CHAIN = re.compile(r"\0(?:\s*(?:,|，|or|and|或|和)\s*\0)+(?=\W*$)", re.IGNORECASE)
"""Formulas that end a text, separated only by commas and joining words."""
_MOST_ELEMENTS = 12
_NEAR_THE_END = 1000
_DENIED = re.compile(r"\b(?:not|never|cannot)\b|n['’]t\b|不是|并非", re.IGNORECASE)


def judged(answer: str, gold: str) -> tuple[Found | None, bool, str]:
    """The stated expression, whether it equals the gold, and the judge ("" for the kit itself).

    Raises:
        UsageError: math-verify is needed and not installed.
    """
    if r"\pi" in latex(gold):
        answer = _DEGREES.sub(r"\\frac{\1\\pi}{180}", _IN_RADIANS.sub("", answer))
    if _key(gold) == r"\emptyset":
        answer = _empty(answer)
    answer = _BASE.sub(
        r"_{\1}", _SUBSCRIPT.sub(lambda found: f"_{{{normalize('NFKC', found[0])}}}", answer)
    )
    stated = statements(BOLD.sub(_as_formula, answer))
    listed = _listed(stated.rest, gold)
    for statement in stated.marked:
        if candidate := _continued(_candidate(statement.text, gold), listed):
            right, by = equal(candidate, gold)
            return (
                Found(tier=statement.tier, text=_key(gold) if right else _key(candidate)),
                right,
                by,
            )
    candidate = "" if stated.taken_back else listed or _unmarked(stated.rest, gold)
    if not candidate:
        return None, False, ""
    right, by = equal(candidate, gold)
    return Found(tier="last", text=_key(gold) if right else _key(candidate)), right, by


def _as_formula(bold: re.Match[str]) -> str:
    """An expression in bold as one in dollar signs."""
    plain = (
        "$" not in bold[1]
        and "\\(" not in bold[1]
        and _OPERATION.search(bold[1])
        and not _worded(bold[1])
    )
    if not plain or len(bold.string) - bold.end() > _NEAR_THE_END:
        return bold[0]
    behind = bold.string[bold.end() :].replace("**", "")
    plain = not _OPERATION.search(_NAMED_LINES.sub("", behind)) and not _worded(
        behind.partition("\n")[0]
    )
    return f"${bold[1]}$" if plain else bold[0]


def _continued(candidate: str, listed: str) -> str:
    """The whole list whose first line follows a mark: "Answer:", and a line for each value."""
    return listed if candidate and listed.startswith(candidate) else candidate


def _empty(answer: str) -> str:
    """The answer with the empty set in place of "no solution" in its last sentence, if nothing qualifies that."""
    ends = [match.end() for match in SENTENCE_END.finditer(answer.rstrip(" \n.。"))]
    last = answer[ends[-1] if ends else 0 :]
    plain = _QUALIFIED.search(last) or re.search(r"\d", last)
    return (
        answer
        if plain
        else answer[: len(answer) - len(last)] + _NO_SOLUTION.sub(r"$\\emptyset$", last)
    )


def equal(answer: str, gold: str) -> tuple[bool, str]:
    """Whether two expressions are equal, and the judge.

    Raises:
        UsageError: math-verify is needed and not installed.
    """
    gold = latex(gold)
    if len(named := _values(_split(gold))) > 1:
        gold = f"({','.join(named)})"
    gold, answer = _as_matrix(gold), _as_matrix(latex(answer))
    if "pmatrix" not in answer:
        gold = _as_point(gold)
    answer = _in_notation(answer, gold)
    if _key(answer) == _key(gold):
        return True, ""
    of_answer, of_gold = _bracketed(answer), _bracketed(gold)
    if of_gold and of_answer:
        alike = (of_answer[0], of_answer[2]) == (of_gold[0], of_gold[2])
        return (
            _elements(of_answer[1], of_gold[1], unordered=of_gold[0] == r"\{")
            if alike
            else (False, "")
        )
    if of_gold and of_gold[0] != r"\{" and "," in answer:
        return False, ""
    if of_gold and of_gold[0] == r"\{" and len(parts := _split(answer)) > 1:
        right, by = _elements(parts, of_gold[1], unordered=True)
        return (right, by) if right else _one(answer, gold)
    listed = (of_answer[1] if of_answer and of_answer[0] == r"\{" else _split(answer), _split(gold))
    if not of_gold and len(listed[1]) > 1:
        return _elements(listed[0], listed[1], unordered=True)
    return _one(answer, gold)


def readable(gold: str) -> bool:
    """Whether math-verify can read an expression, each element of a list separately.

    Raises:
        UsageError: math-verify is not installed.
    """
    bracketed = _bracketed(latex(gold))
    elements = bracketed[1] if bracketed else _split(latex(gold))
    return all(
        judge.compare(one, one) is Verdict.EQUAL
        for one in (_NAMED.sub("", one) for one in elements)
    )


def _elements(answers: Sequence[str], golds: Sequence[str], *, unordered: bool) -> tuple[bool, str]:
    if len(answers) != len(golds) or len(golds) > _MOST_ELEMENTS:
        return False, ""
    left, by = list(answers), ""
    for gold in golds:
        for one in left if unordered else left[:1]:
            right, judge_name = _one(_NAMED.sub("", one), _NAMED.sub("", gold))
            by = by or judge_name
            if right:
                left.remove(one)
                break
        else:
            return False, by
    return True, by


def _in_notation(answer: str, gold: str) -> str:
    """Inequalities as the intervals, and named values, a row or a column as the point, that the gold is."""
    if r"\infty" in gold and (union := _union(answer)):
        return union
    if not gold.startswith("("):
        return answer
    values = _values(_split(answer))
    return f"({','.join(values)})" if values else _as_point(answer)


def _as_matrix(text: str) -> str:
    """Nested lists as a matrix; any other text unchanged."""
    rows = _ROWS.fullmatch(re.sub(r"\s", "", text))
    lines = rows[1][1:-1].replace("],[", r"\\").replace(",", "&") if rows else ""
    return rf"\begin{{pmatrix}}{lines}\end{{pmatrix}}" if lines else text


def _as_point(text: str) -> str:
    """A row or a column in parentheses; any other text unchanged."""
    found = _COLUMN.fullmatch(re.sub(r"\s", "", text))
    column = None if found and "&" in found[1] and r"\\" in found[1] else found
    return "(" + ",".join(re.split(r"\\\\|&", column[1])) + ")" if column else text


def _union(text: str) -> str:
    """The intervals of inequalities: x < -3 or x > 3."""
    intervals = []
    joined = re.search(r"\band\b|[,，且和与]", text)
    if joined or len(set(re.findall(r"(?<![A-Za-z\\])[a-z](?![A-Za-z])", text))) != 1:
        return ""
    for part in _split(text):
        bare = re.sub(r"\s", "", part)
        if two := _BETWEEN.fullmatch(bare):
            intervals.append(f"{'(['[two[2] != '<']}{two[1]},{two[4]}{')]'[two[3] != '<']}")
        elif not (one := _BOUND.fullmatch(bare)):
            return ""
        elif one[1] in {"<", r"\le"}:
            intervals.append(rf"(-\infty ,{one[2]}{')]'[one[1] != '<']}")
        else:
            intervals.append(rf"{'(['[one[1] != '>']}{one[2]},\infty )")
    return r" \cup ".join(intervals)


def _values(parts: Sequence[str]) -> list[str]:
    """The values of "x=1, y=2, z=3" in the order of their names; none if a part has no name of its own."""
    named = [match.groups() for part in parts if (match := _VALUE.fullmatch(part))]
    names = {name for name, _ in named}
    if (
        len(named) != len(parts)
        or len(names) != len(parts)
        or (r"\theta" in names and names != {"r", r"\theta"})
    ):
        return []
    return [value for _, value in sorted(named, key=lambda one: one[0].lstrip("\\"))]


def _one(answer: str, gold: str) -> tuple[bool, str]:
    if _key(answer) == _key(gold):
        return True, ""
    mine, its = _number(answer), _number(gold)
    if mine and its:
        return mine.equals(its), ""
    verdict = judge.compare(gold, answer)
    settled = verdict in {Verdict.EQUAL, Verdict.DIFFERENT}
    return verdict is Verdict.EQUAL, judge.name() + ("" if settled else f" ({verdict.value})")


def _number(text: str) -> Number | None:
    """The number that makes up a whole text."""
    plain = normalise(text).strip()
    found = in_digits(plain)
    return (
        found[0] if len(found) == 1 and (found[0].start, found[0].end) == (0, len(plain)) else None
    )


def latex(text: str) -> str:
    """An expression in the form for math-verify: signs as commands, without spacing, unit and full stop."""
    for sign, command in _SIGNS.items():
        text = text.replace(sign, command)
    text = re.sub(r"\+\s*\\infty", r"\\infty", text)
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: f"^{{{found.group().translate(POWERS)}}}", text)
    text = re.sub(
        r"√\s*(?:\(([^()]*)\)|(\w+))", lambda found: rf"\sqrt{{{found[1] or found[2]}}}", text
    )
    text = re.sub(r"(?<![\\A-Za-z])sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}", text).replace("**", "^")
    text = re.sub(r"\\?log_(?:e|\{e\})(?![A-Za-z])|(?<![\\A-Za-z])ln(?![A-Za-z])", r"\\ln ", text)
    text = re.sub(r"(?<![\\A-Za-z])log(?![A-Za-z])", r"\\log ", text)
    text = re.sub(r"(?<![\\A-Za-z])(pi|infty)(?![A-Za-z])", r"\\\1", text)
    text = _SPACING.sub("", text.strip().strip("$").strip())
    text = _PLAIN_TEXT.sub(r" \1 ", text)
    text = re.sub(
        r"begin\{[bpv]matrix\}",
        r"begin{pmatrix}",
        re.sub(r"end\{[bpv]matrix\}", r"end{pmatrix}", text),
    )
    text = _TUPLE_NAME.sub("", _MEMBER.sub("", text.strip().rstrip(".。").strip()))
    if re.fullmatch(r"\\?\{\s*\\?\}", text):
        return r"\emptyset "
    if re.fullmatch(r"\{[^{}]*,[^{}]*\}", text):
        text = rf"\{text[:-1]}\}}"
    return _UNIT.sub("", text)


def _key(text: str) -> str:
    r"""Equal for expressions that differ only in spaces and in the kind of fraction."""
    return re.sub(r"\s+", "", latex(text).replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac"))


def _split(text: str) -> list[str]:
    """Split at the commas and joining words outside all brackets."""
    text = _JOINT.sub(",", text)
    parts, depth = [""], 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0 and not re.match(r",\d{3}(?!\d)", text[place:]):
            parts.append("")
        else:
            parts[-1] += character
    return [one for part in parts if part.strip() for one in _either(part.strip())]


def _either(part: str) -> tuple[str, ...]:
    r"""Both values of "x = 1 \pm 2"."""
    if part.count(r"\pm") != 1:
        return (part,)
    first, second = part.replace(r"\pm", "+"), part.replace(r"\pm", "-")
    return re.sub(r"(^|=)\s*\+", r"\1", first), second


def _bracketed(text: str) -> tuple[str, list[str], str] | None:
    r"""Opening, elements and closing if a text is one pair of brackets around a list: (…), [, ), \{ … \}."""
    match = re.fullmatch(r"(\(|\[|\\\{)(.*?)(\)|\]|\\\})", text.strip(), re.DOTALL)
    if not match or not _one_pair(match[2]):
        return None
    elements = _split(match[2])
    return (match[1], elements, match[3]) if len(elements) > 1 or match[1] == r"\{" else None


def _one_pair(inside: str) -> bool:
    depths = [
        *itertools.accumulate(((each in "([{") - (each in ")]}") for each in inside), initial=0)
    ]
    return min(depths) == depths[-1] == 0


def _candidate(text: str, gold: str) -> str:
    """The expression in a statement: its formulas, if any, else the whole statement without remarks."""
    spans = [next(filter(None, groups), "") for groups in _SPAN.findall(text)]
    if spans:
        outside = _SPAN.sub("\0", text)
        opening = re.match(r"[^\w\0]*\0((?:\s*(?:,|or|and|或|和)\s*\0)*)", outside, re.IGNORECASE)
        listed = 1 + (opening[1].count("\0") if opening else 0)
        if not opening and len(_split(_bare(gold))) > 1 and (chain := _CHAIN.search(outside)):
            first = outside[: chain.start()].count("\0")
            return " , ".join(spans[first : first + chain.group().count("\0")])
        return _ABOUT.sub("", " , ".join(spans[:listed] if opening else spans[-1:]))
    plain = _ABOUT.sub("", _REMARK.sub("", _IN_BRACKETS.sub("", text))).strip().rstrip("。. ")
    if plain.endswith("$") or plain.startswith("$"):
        plain = plain.strip("$")
    if _worded(plain.replace(gold, " ")):
        plain = _after_words(plain)
    return plain if plain and not _DENIED.search(plain) else ""


def _bare(gold: str) -> str:
    """The elements of a set; any other expression unchanged."""
    bracketed = _bracketed(latex(gold))
    return ",".join(bracketed[1]) if bracketed and bracketed[0] == r"\{" else latex(gold)


def _after_words(text: str) -> str:
    """The text after the last word that introduces a result."""
    text = _LEADING.sub("", text)
    if not _worded(text):
        return text.strip()
    places = [match.end() for match in _STATES.finditer(text)]
    said = text[places[-1] :] if places else ""
    return "" if _worded(said) else said.strip()


def _worded(text: str) -> bool:
    """Whether a text has words outside formulas."""
    return bool(_WORD.search(_KNOWN_WORD.sub(" ", _JOINT.sub(" ", _PLAIN_TEXT.sub(" ", text)))))


def _listed(answer: str, gold: str) -> str:
    """Named values on lines of their own, with the names and as many as the gold has, that end the answer."""
    lines = [line for line in answer.strip().splitlines() if line.strip()]
    listed = [*itertools.takewhile(_NAMED_LINE.match, reversed(lines))][::-1]
    before = lines[-len(listed) - 1] if len(lines) > len(listed) else ""
    values = [line.strip(" \t*•-$") for line in listed]
    names = sorted(value[0] for value in values)
    golds = _split(_bare(gold))
    named = sorted(one.lstrip()[0] for one in golds if _VALUE.fullmatch(one))
    fits = names == named if named else len(set(names)) == 1
    return (
        ", ".join(values)
        if len(golds) == len(listed) > 1 and fits and not _ASIDE.search(before)
        else ""
    )


def _unmarked(answer: str, gold: str) -> str:
    """The expression of an answer without a mark: all of it, its last formula, or its last sentence's result."""
    lines = [line for line in answer.strip().splitlines() if line.strip()]
    if not lines or _DENIED.search(re.split(r"(?<=[.。])\s", lines[-1].strip())[-1]):
        return ""
    if len(lines) == 1 and not _worded(lines[0]):
        return _candidate(lines[0], gold)
    spans = [next(filter(None, groups), "") for groups in _SPAN.findall(answer)]
    if spans:
        if _SPAN.search(lines[-1]):
            return _candidate(lines[-1], gold)
        said = _after_words(lines[-1].rstrip(". 。"))
        return said if _OPERATION.search(said) else spans[-1]
    return _after_words(lines[-1].rstrip(". 。"))
