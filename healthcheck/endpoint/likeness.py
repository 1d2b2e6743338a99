"""How two texts differ: did a model go another way, or did something change its text on the way?"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import zip_longest

_IN_STEP_CHARACTERS = 10
_SHIFT_CHARACTERS = 12
_PIECE_CHARACTERS = 3
_ALIKE_SHARE = 0.7


def parting(one: str, other: str) -> int:
    """The number of the first character in which two texts differ; 0 for equal ones."""
    return next((place for place, pair in enumerate(zip_longest(one, other)) if pair[0] != pair[1]), 0)


def falls_back_into_step(one: str, other: str) -> bool:
    """Whether two texts differ somewhere, go on alike at nearly the same place, and are alike for the most part.

    A model reads its own words: after one other token it goes another way (batches of other sizes round otherwise,
    and near a tie that decides). A token lost, doubled, swapped or put in on the way to the client leaves the rest
    as it was.
    """
    if one == other:
        return False
    start = parting(one, other)
    match = _matcher(one[start:], other[start:]).find_longest_match()
    if match.size < _IN_STEP_CHARACTERS or abs(match.a - match.b) > _SHIFT_CHARACTERS:
        return False
    alike = sum(
        block.size for block in _matcher(one, other).get_matching_blocks() if block.size >= _PIECE_CHARACTERS
    )
    return alike >= _ALIKE_SHARE * min(len(one), len(other))


def _matcher(one: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def loses(text: str, whole: str) -> str:
    """The characters that `text` lacks where it is `whole` with some left out; "" where it is not, or only ends."""
    if whole.startswith(text):
        return ""
    lost, place = [], 0
    for character in whole:
        if place < len(text) and text[place] == character:
            place += 1
        else:
            lost.append(character)
    return "".join(lost) if place == len(text) else ""
