"""Choices in a list, as in MMLU and ARC, and the letter of the right one.

`choices` or `options` is a list of texts, or a table of the lists `text` and `label`. The answer is the letter or
label of a choice, its index from 0, or its text. GPQA has a column for the right choice, and one for each of the
others; their order is shuffled. A row is refused if these readings differ: a misread answer makes
every grade of that problem wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems.problem import Dice
from healthcheck.stages.probe.records import LETTERS
from healthcheck.text.messages import msg

COLUMNS = ("choices", "options")
_GPQA = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
_PLACE = re.compile(r"\d{1,2}")
_MANY = 40
"""With four choices, the first is never right in this many rows once in 100,000 files."""


def letters_of(row: Mapping[str, object]) -> str:
    """The letters whose column has a text."""
    return "".join(
        letter for letter in LETTERS if row.get(letter) is not None and str(row[letter]).strip()
    )


def lettered(row: Mapping[str, object]) -> Mapping[str, object]:
    """Convert a list of choices to a column per choice and a letter as the answer; other rows are unchanged.

    Raises:
        UsageError: the choices are not a list of texts, or the answer does not name exactly one of them.
    """
    if all(map(row.get, _GPQA)):
        order = Dice("choices", str(row.get("question", ""))).shuffled(range(len(_GPQA)))
        options = {letter: row[_GPQA[place]] for letter, place in zip(LETTERS, order, strict=False)}
        return {**row, **options, "answer": LETTERS[order.index(0)]}
    name = _column(row)
    if not name:
        return row
    if letters_of(row):
        raise UsageError(
            msg(
                "it has choices under {name} and under letters: leave one of them away",
                name=repr(name),
            )
        )
    texts, labels = _lists(row[name], msg("its {name}", name=repr(name)))
    answer = row.get("answer")
    found = {place for place in _readings(answer, texts, labels) if place < len(texts)}
    if len(found) != 1:
        raise UsageError(_unclear(answer, found, len(texts)))
    options = dict(zip(LETTERS, texts, strict=False))
    return {**row, **options, "answer": LETTERS[found.pop()]}


def counted(row: Mapping[str, object]) -> list[int]:
    """The index that a row gives as its answer, if any."""
    answer = row.get("answer")
    return (
        [answer]
        if _column(row) and isinstance(answer, int) and not isinstance(answer, bool)
        else []
    )


def refuse_counted_from_one(path: Path, places: Sequence[int]) -> None:
    """Refuse a file in which the first choice is never right: its indices probably start at 1.

    Raises:
        UsageError: the file has many such answers, and none of them is 0.
    """
    if len(places) >= _MANY and 0 not in places:
        raise UsageError(
            msg(
                "{path}: none of its {places} answers is 0, the place of the first choice: are they counted "
                "from 1? Write letters in their place",
                path=path,
                places=len(places),
            )
        )


def _column(row: Mapping[str, object]) -> str:
    return next((name for name in COLUMNS if row.get(name) not in (None, "", [], {})), "")


def _lists(value: object, what: str) -> tuple[list[object], list[str]]:
    """The choices and their labels; letters if they have no labels of their own."""
    labels: object = None
    if isinstance(value, Mapping):
        labels, value = value.get("label"), value.get("text")
    if not isinstance(value, list) or not all(_is_text(choice) for choice in value):
        raise UsageError(
            msg(
                "{what} is not a list of texts (a CSV file has a column for each choice: A, B, …)",
                what=what,
            )
        )
    if not 2 <= len(value) <= len(LETTERS):
        raise UsageError(
            msg(
                "{what} has {value} choices, where 2 to {letters} are asked",
                what=what,
                value=len(value),
                letters=len(LETTERS),
            )
        )
    if labels is None:
        return value, list(LETTERS[: len(value)])
    if (
        not isinstance(labels, list)
        or len(labels) != len(value)
        or len(set(map(str, labels))) < len(labels)
    ):
        raise UsageError(msg("{what} has no label of its own for each text", what=what))
    return value, [str(label) for label in labels]


def _is_text(choice: object) -> bool:
    return (
        isinstance(choice, (str, int, float))
        and not isinstance(choice, bool)
        and bool(str(choice).strip())
    )


def _readings(answer: object, texts: Sequence[object], labels: Sequence[str]) -> list[int]:
    """The indices of the choices that the answer can mean."""
    own = labels[0] not in LETTERS  # labels such as 1 to 4 are not indices
    said = str(answer).strip()
    found = [place for place, label in enumerate(labels) if said.upper() == label.upper()]
    found += [
        place for place, text in enumerate(texts) if type(text) is type(answer) and text == answer
    ]
    counts = isinstance(answer, int) and not isinstance(answer, bool)
    if not own and (counts or (isinstance(answer, str) and _PLACE.fullmatch(said))):
        found.append(int(said) if int(said) >= 0 else len(texts))
    return found


def _unclear(answer: object, found: set[int], count: int) -> str:
    letters = LETTERS[0] + " to " + LETTERS[count - 1]
    if not found:
        return msg(
            "the answer {answer} is none of its {count} choices: it is to be a letter from {letters}, a "
            "place from 0 to {last_place}, or the text of a choice",
            answer=repr(str(answer)[:80]),
            count=count,
            letters=letters,
            last_place=count - 1,
        )
    named = " or ".join(LETTERS[place] for place in sorted(found))
    return msg(
        "the answer {answer} can mean choice {named}: write the letter",
        answer=repr(str(answer)[:80]),
        named=named,
    )
