r"""Compares expressions: points, sets, intervals, equations, roots, LaTeX.

As text, then as plain numbers, then by math-verify. Brackets and lists are compared here: (3, 14) is not [3, 14].
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence

from healthcheck.stages.probe.grading import judge
from healthcheck.stages.probe.grading.judge import Verdict
from healthcheck.stages.probe.grading.numbers import POWERS, Number, normalise, numbers

_SIGNS = {
    "−": "-", "–": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "π": r"\pi ",
    "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∪": r"\cup ", "∩": r"\cap ", "±": r"\pm ",
    "∈": r"\in ", "∅": r"\emptyset ", "（": "(", "）": ")", "，": ",", "。": ".", "：": ":", "°": r"^\circ ",
    "⟨": "(", "⟩": ")", r"\langle": "(", r"\rangle": ")", "、": ",", "θ": r"\theta ", r"\varnothing": r"\emptyset ",
}  # fmt: skip
_SPACING = re.compile(r"(?<!\\)\\[,;:! ]|\\(?:left|right|displaystyle|quad|qquad)(?![a-z])|~")
_PLAIN_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{\s*([^{}]*?)\s*\}")
_JOINT = re.compile(r"\s*(?:\bor\b|\band\b|或|和|与)\s*")
_MEMBER = re.compile(r"^\s*[A-Za-z]\s*\\in\s*(?![A-Za-z])")
_TUPLE_NAME = re.compile(
    r"^\s*\(\s*(?:[a-z]|\\(?:rho|theta|phi)\b|[ρφ])(?:\s*,\s*(?:[a-z]|\\(?:rho|theta|phi)\b|[ρφ]))+\s*\)\s*=\s*"
)
_VALUE = re.compile(r"\s*([A-Za-z]|\\theta)\s*=\s*([^=]+)")
_COLUMN = re.compile(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}")
_ROWS = re.compile(r"\[(\[[^\[\]]*\](?:,\[[^\[\]]*\])*)\]")
_NAMED = re.compile(r"^\s*(?:[A-Za-z](?:_\{?\w\}?)?|[a-z]'?\([a-z]\))\s*=\s*(?=[^=]+$)")
_UNIT = re.compile(
    r"(?<=[\d})])\s+(?:cm|mm|km|m|kg|g|s|(?:square\s)?units?|degrees?)(?:\^\{?[23]\}?)?$"
)
"""Only after a space: in 5m, m may be a variable."""
_BOUND = re.compile(r"[a-z](<|>|\\le|\\ge)([^<>]+)")
_BETWEEN = re.compile(r"([^<>]+?)(<|\\le)[a-z](<|\\le)([^<>]+)")
_MOST_ELEMENTS = 12
_FORMULA = re.compile(
    r"\$\$(.{1,600}?)\$\$|\$(.{1,600}?)\$|\\\((.{1,600}?)\\\)|\\\[(.{1,600}?)\\\]", re.DOTALL
)
_COMMAND = re.compile(
    r"\\(?:begin|end)\{\w+\}|\\(?:text|mathrm)\{[^{}]*\}|\\[A-Za-z]+"
    r"|(?<![A-Za-z])(?:sin|cos|tan|log|ln|exp|sqrt|pi|infty|or|and)(?![A-Za-z])"
)
_WORD = re.compile(r"[A-Za-z]{3,}|[\u3400-\u9fff]")
_BETWEEN_FORMULAS = re.compile(r"\s*(?:,|，|、|;|or|and|或|和)?\s*")


def stated(statement: str) -> str:
    """The expression of a statement: the formulas that it begins with, else all of it."""
    found = [*_FORMULA.finditer(statement)]
    if not found or statement[: found[0].start()].strip():
        return statement.rstrip(" .。")
    said, place = [], found[0].start()
    for match in found:
        if not _BETWEEN_FORMULAS.fullmatch(statement, place, match.start()):
            break
        said.append(_inside(match))
        place = match.end()
    return ", ".join(said)


def last_formula(answer: str) -> str:
    """The last formula in an answer; without dollar signs, its last line if that has no words. Else ""."""
    found = [*_FORMULA.finditer(answer)]
    if found:
        return _inside(found[-1])
    line = answer.strip().rpartition("\n")[2]
    return "" if _WORD.search(_COMMAND.sub(" ", line)) else line.rstrip(" .。")


def _inside(formula: re.Match[str]) -> str:
    return next((text for text in formula.groups() if text), "")


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
    if key(answer) == key(gold):
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
    if key(answer) == key(gold):
        return True, ""
    mine, its = _number(answer), _number(gold)
    if mine and its:
        return mine.is_right(its), ""
    verdict = judge.compare(gold, answer)
    settled = verdict in {Verdict.EQUAL, Verdict.DIFFERENT}
    return verdict is Verdict.EQUAL, judge.name() + ("" if settled else f" ({verdict.value})")


def _number(text: str) -> Number | None:
    """The number that makes up a whole text."""
    plain = normalise(text).strip()
    found = numbers(plain)
    return (
        found[0] if len(found) == 1 and (found[0].start, found[0].end) == (0, len(plain)) else None
    )


def latex(text: str) -> str:
    """An expression in the form for math-verify: signs as commands, without spacing, unit and full stop."""
    for sign, command in _SIGNS.items():
        text = text.replace(sign, command)
    text = re.sub("[₀-₉]+", lambda found: f"_{{{unicodedata.normalize('NFKC', found[0])}}}", text)
    text = re.sub(r"\+\s*\\infty", r"\\infty", text)
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: f"^{{{found.group().translate(POWERS)}}}", text)
    text = re.sub(
        r"√\s*(?:\(([^()]*)\)|(\w+))", lambda found: rf"\sqrt{{{found[1] or found[2]}}}", text
    )
    text = re.sub(r"(?<![\\A-Za-z])sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}", text).replace("**", "^")
    text = re.sub(r"\\?log_(?:e|\{e\})(?![A-Za-z])|(?<![\\A-Za-z])ln(?![A-Za-z])", r"\\ln ", text)
    text = re.sub(r"(?<![\\A-Za-z])log(?![A-Za-z])", r"\\log ", text)
    text = re.sub(r"(?<![\\A-Za-z])(pi|infty|sin|cos|tan)(?![A-Za-z])", r"\\\1", text)
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


def key(text: str) -> str:
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
