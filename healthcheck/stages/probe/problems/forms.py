r"""The answer contract: the form that a prompt asks for, and the pattern that finds it in an answer.

The grader looks for the same forms that the prompts request, and for nothing else: "The answer is 18.",
"答案是18。", \boxed{18}, "#### 18", a block of code. A form begins with its mark; what it states follows at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck.stages.probe.problems.problem import AnswerKind

_BEGINS = (
    r"(?<![A-Za-z])answers?\b[\"']?\s?(?:is\b\s?[:：]?|[:：=])"
    r"|答案(?:应该?|就)?(?:选?[是为]|选|[:：=】])[:：]?"
    r"|(?:^|(?<=\n))####(?!#)"
    r"|\\?(?:f?boxed|fbox)\s?\{"
)
_STATEMENT = re.compile(_BEGINS, re.IGNORECASE)
"""The marks of a stated result, in an answer without emphasis; the statement is the rest of the line or the box."""
_CHOICE = re.compile(
    _BEGINS
    + r"|\b(?:choice|option)\s?(?:is\b\s?[:：]?|[:：])"
    + r"|选项(?:应该?|就)?[是为][:：]?|(?<!不)选择?\s?[:：]?(?=\s?[(（]?[A-J])",
    re.IGNORECASE,
)
"""The same for a letter, which is also said to be the right choice or option."""
_BLOCK = re.compile(
    r"^([ \t]*)(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\2[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""A fenced block of code: its indentation, its fence, its code."""
_REPLY = re.compile(r"\A")
"""The whole reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form of the answers to one kind of problem.

    Attributes:
        english, chinese: the instruction that ends the prompt, in the language of the question.
        pattern: finds the beginnings of the form; the last match counts.
    """

    english: str
    chinese: str
    pattern: re.Pattern[str] = _STATEMENT


FORMS = {
    AnswerKind.NUMBER: Form(english="End with: The answer is N.", chinese="最后写：答案是N。"),
    AnswerKind.CHOICE: Form(
        english="End with the letter: The answer is X.",
        chinese="最后写出字母：答案是X。",
        pattern=_CHOICE,
    ),
    AnswerKind.PHRASE: Form(english="End with: The answer is X.", chinese="最后写：答案是X。"),
    AnswerKind.EXPRESSION: Form(
        english=r"End with the answer in \boxed{}.", chinese=r"最后把答案写在\boxed{}中。"
    ),
    AnswerKind.SOFT: Form(
        english="Answer with a single word or phrase.",
        chinese="用一个词或短语回答。",
        pattern=_REPLY,
    ),
    AnswerKind.CODE: Form(
        english="Write the whole function in one ```python block.",
        chinese="把完整的函数写在一个 ```python 代码块里。",
        pattern=_BLOCK,
    ),
    AnswerKind.PROGRAM: Form(
        english="Write a Python program that reads standard input and prints its output, in one "
        "```python block.",
        chinese="写一个 Python 程序，从标准输入读取，把结果打印到标准输出，"
        "放在一个 ```python 代码块里。",
        pattern=_BLOCK,
    ),
}
