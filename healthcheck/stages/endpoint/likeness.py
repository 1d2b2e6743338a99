"""How two texts differ: did a model go another way, or did something change its text on the way?"""

from __future__ import annotations

from difflib import Match, SequenceMatcher
from itertools import zip_longest

_IN_STEP_CHARACTERS = 10
_SHIFT_CHARACTERS = 12
_PIECE_CHARACTERS = 3
_ALIKE_SHARE = 0.7
_COMPARED_CHARACTERS = 2000
"""Of texts that ought to be one line: an answer without end would take minutes to compare."""


def parting(one: str, other: str) -> int:
    """The number of the first character in which two texts differ; 0 for equal ones."""
    return next((place for place, pair in enumerate(zip_longest(one, other)) if pair[0] != pair[1]), 0)


def falls_back_into_step(one: str, other: str) -> bool:
    """Whether two texts differ somewhere, go on alike at nearly the same place, and are alike for the most part.

    A model reads its own words: after one other token it goes another way (batches of other sizes round otherwise,
    and near a tie that decides). A token lost, doubled, swapped or put in on the way to the client leaves the rest
    as it was.
    """
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    if one == other:
        return False
    _, match = _again_alike(one, other)
    if match.size < _IN_STEP_CHARACTERS or abs(match.a - match.b) > _SHIFT_CHARACTERS:
        return False
    alike = sum(
        block.size for block in _matcher(one, other).get_matching_blocks() if block.size >= _PIECE_CHARACTERS
    )
    return alike >= _ALIKE_SHARE * min(len(one), len(other))


def change(one: str, other: str) -> tuple[str, str]:
    """The parts of both texts between the place where they begin to differ and the place where they match again."""
    one, other = one[:_COMPARED_CHARACTERS], other[:_COMPARED_CHARACTERS]
    start, match = _again_alike(one, other)
    return one[start : start + match.a], other[start : start + match.b]


def _again_alike(one: str, other: str) -> tuple[int, Match]:
    """Where two texts begin to differ, and the longest common part after that, counted from there."""
    start = parting(one, other)
    return start, _matcher(one[start:], other[start:]).find_longest_match()


def _matcher(one: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def loses(text: str, whole: str) -> str:
    """The characters that `text` lacks, if it is `whole` with some left out; "" if it is not."""
    lost, place = [], 0
    for character in whole:
        if place < len(text) and text[place] == character:
            place += 1
        else:
            lost.append(character)
    return "".join(lost) if place == len(text) else ""
