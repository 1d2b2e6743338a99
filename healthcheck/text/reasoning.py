"""Separates a model's answer from its reasoning."""

from __future__ import annotations

import re

_NEXT_QUESTION = re.compile(
    r"\n[^\S\n]*(?:\*\*|#{1,4}\s*)?(?:Question|Problem|问题|题目|Q)\s*(?:\*\*\s*)?[:：]",
    re.IGNORECASE,
)
"""White space matches in one place only, so the time is linear in the length of any text."""


def after_reasoning(text: str) -> str:
    """The answer as it is, without the reasoning before it."""
    return text.rpartition("</think>")[2].partition("<think>")[0]


def final_text(text: str) -> str:
    """The answer without its reasoning, and without a question that the model went on to ask itself.

    Everything up to the last `</think>` is dropped; after an unclosed `<think>` there is no answer.
    """
    answer = after_reasoning(text).strip()
    again = _NEXT_QUESTION.search(answer)
    return answer[: again.start()].strip() if again else answer
