"""The evaluation client's own grader for GSM8K, including its errors, as a second opinion.

It takes the last number of the text but does not know thousands separators: it reads 000 from "$70,000".
"""

from __future__ import annotations

import re

NO_ANSWER = "NULL"
MAX_CHARS = 1_000_000
_OPENED, _CLOSED = "<think>", "</think>"
_NUMBER = re.compile(r"\-?\d+\.\d+|\-?\d+")
_GOLD_MARK = "#### "


def client_grade(text: str, gold: str) -> tuple[str, bool]:
    """The number that the client extracts from a text, "NULL" without one, and whether it is right.

    `gold` is the raw answer column ("... #### 18") or the bare answer.
    """
    extracted = client_answer(text)
    return extracted, _equal(extracted, client_gold(gold))


def client_answer(text: str) -> str:
    """The last number before any further "Question:", as the client's regular expression finds it."""
    numbers = _NUMBER.findall(without_reasoning(text[-MAX_CHARS:]).split("Question:")[0])
    return str(numbers[-1]) if numbers else NO_ANSWER


def client_gold(gold: str) -> str:
    """The text after the first "#### ", without commas; a bare answer unchanged."""
    parts = gold.split(_GOLD_MARK)
    return (parts[1] if len(parts) > 1 else gold).replace(",", "")


def without_reasoning(text: str) -> str:
    """The text without its reasoning, as the client removes it: an unclosed <think> stays and is graded."""
    if _OPENED not in text and _CLOSED in text:
        return text.rpartition(_CLOSED)[2].strip()
    kept, place = list[str](), 0
    while (start := text.find(_OPENED, place)) >= 0 and (end := text.find(_CLOSED, start)) >= 0:
        kept.append(text[place:start])
        place = end + len(_CLOSED)
    return ("".join(kept) + text[place:]).strip()


def _equal(extracted: str, gold: str) -> bool:
    if extracted == gold:
        return True
    try:
        return abs(float(extracted) - int(gold)) < 1e-6
    except (ValueError, OverflowError):
        return False
