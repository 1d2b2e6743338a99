"""Compares two texts: did the model take another path, or was its text changed on the way?"""

from __future__ import annotations

from difflib import Match, SequenceMatcher
from itertools import zip_longest

_LEAST_COMMON_CHARACTERS = 10
"""A common part this long is more than a word that two answers both happen to have."""
_MOST_SHIFT_CHARACTERS = 12
"""A lost, doubled or inserted token moves the rest of a text by its own length, which is seldom longer."""
_LEAST_PIECE_CHARACTERS = 3
"""Shorter common pieces are found in any two texts, and do not count as alike."""
_LEAST_ALIKE_SHARE = 0.7
"""The share of the shorter text that both have, in pieces of that length."""
_COMPARED_CHARACTERS = 2000
"""For texts that should be one line: an endless answer would take minutes to compare."""


def first_difference(one: str, other: str) -> int | None:
    """The index of the first character in which two texts differ; None if they are equal."""
    for index, (left, right) in enumerate(zip_longest(one, other)):
        if left != right:
            return index
    return None


def differs_only_locally(one: str, other: str) -> bool:
    """Whether two texts differ somewhere, match again at nearly the same place, and are mostly alike.

    A model reads its own words: after one different token it takes another path (batches of other sizes round
    differently, which decides near a tie). A token that is lost, doubled, swapped or inserted on the way to the
    client leaves the rest unchanged.
    """
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    start = first_difference(one, other)
    if start is None:
        return False
    common = _longest_common_part_after(start, one, other)
    shift = abs(common.a - common.b)
    if common.size < _LEAST_COMMON_CHARACTERS or shift > _MOST_SHIFT_CHARACTERS:
        return False
    pieces = _matcher(one, other).get_matching_blocks()
    alike = sum(piece.size for piece in pieces if piece.size >= _LEAST_PIECE_CHARACTERS)
    return alike >= _LEAST_ALIKE_SHARE * min(len(one), len(other))


def differing_parts(one: str, other: str) -> tuple[str, str]:
    """The parts of both texts from their first difference to the place where they match again."""
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    start = first_difference(one, other)
    if start is None:
        return "", ""
    common = _longest_common_part_after(start, one, other)
    return one[start : start + common.a], other[start : start + common.b]


def _longest_common_part_after(start: int, one: str, other: str) -> Match:
    """The longest common part of two texts after an index; its places count from there."""
    return _matcher(one[start:], other[start:]).find_longest_match()


def _matcher(one: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def omitted_characters(text: str, whole: str) -> str:
    """The characters that `text` lacks, if it is `whole` with some omitted; else ""."""
    omitted: list[str] = []
    place = 0
    for character in whole:
        if place < len(text) and text[place] == character:
            place += 1
        else:
            omitted.append(character)
    return "".join(omitted) if place == len(text) else ""
