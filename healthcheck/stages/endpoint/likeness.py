"""Compares two texts: did the model take another path, or was its text changed on the way?"""

from __future__ import annotations

from difflib import Match, SequenceMatcher
from itertools import zip_longest

_IN_STEP_CHARACTERS = 10
_SHIFT_CHARACTERS = 12
_PIECE_CHARACTERS = 3
_ALIKE_SHARE = 0.7
_COMPARED_CHARACTERS = 2000
"""For texts that should be one line: an endless answer would take minutes to compare."""


def parting(one: str, other: str) -> int:
    """The index of the first character in which two texts differ; 0 if they are equal."""
    return next(
        (place for place, pair in enumerate(zip_longest(one, other)) if pair[0] != pair[1]), 0
    )


def falls_back_into_step(one: str, other: str) -> bool:
    """Whether two texts differ somewhere, match again at nearly the same place, and are mostly alike.

    A model reads its own words: after one different token it takes another path (batches of other sizes round
    differently, which decides near a tie). A token that is lost, doubled, swapped or inserted on the way to the
    client leaves the rest unchanged.
    """
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    if one == other:
        return False
    _, match = _again_alike(one, other)
    if match.size < _IN_STEP_CHARACTERS or abs(match.a - match.b) > _SHIFT_CHARACTERS:
        return False
    alike = sum(
        block.size
        for block in _matcher(one, other).get_matching_blocks()
        if block.size >= _PIECE_CHARACTERS
    )
    return alike >= _ALIKE_SHARE * min(len(one), len(other))


def change(one: str, other: str) -> tuple[str, str]:
    """The parts of both texts from their first difference to the place where they match again."""
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    start, match = _again_alike(one, other)
    return one[start : start + match.a], other[start : start + match.b]


def _again_alike(one: str, other: str) -> tuple[int, Match]:
    """The place where two texts first differ, and their longest common part after it, relative to that place."""
    start = parting(one, other)
    return start, _matcher(one[start:], other[start:]).find_longest_match()


def _matcher(one: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def loses(text: str, whole: str) -> str:
    """The characters that `text` lacks, if it is `whole` with some omitted; else ""."""
    lost, place = [], 0
    for character in whole:
        if place < len(text) and text[place] == character:
            place += 1
        else:
            lost.append(character)
    return "".join(lost) if place == len(text) else ""
