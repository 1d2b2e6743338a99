"""Generated pictures: a number to read, shapes to count."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import count

from healthcheck.stages.endpoint.pictures import Colour, encoded
from healthcheck.stages.probe.problems.problem import Dice, Problem

SIDE_PIXELS = 224
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_COLOURS: dict[str, Colour] = {"red": (214, 39, 40), "blue": (31, 90, 220), "green": (30, 150, 60)}
_CELLS = 4
_CELL_PIXELS = SIDE_PIXELS // _CELLS
_DIGITS = {
    "0": "0E11131519110E", "1": "040C040404040E", "2": "0E11010204081F", "3": "1F02040201110E",
    "4": "02060A121F0202", "5": "1F101E0101110E", "6": "0608101E11110E", "7": "1F010204080808",
    "8": "0E11110E11110E", "9": "0E11110F01020C",
}  # fmt: skip
"""Seven rows of five pixels each, two hexadecimal digits per row."""
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Canvas:
    """A white square to draw on, SIDE_PIXELS wide."""

    def __init__(self) -> None:
        self._rows = [bytearray(bytes(_WHITE) * SIDE_PIXELS) for _ in range(SIDE_PIXELS)]

    def box(self, left: int, top: int, width: int, height: int, colour: Colour) -> None:
        for row in self._rows[top : top + height]:
            row[3 * left : 3 * (left + width)] = bytes(colour) * width

    def disc(self, left: int, top: int, width: int, colour: Colour) -> None:
        for y in range(width):
            half = round(((width / 2) ** 2 - (y + 0.5 - width / 2) ** 2) ** 0.5)
            self.box(left + width // 2 - half, top + y, 2 * half, 1, colour)

    def write(self, number: int, top: int, scale: int) -> None:
        """Write a number, centred."""
        left = (SIDE_PIXELS - (6 * len(str(number)) - 1) * scale) // 2
        for place, digit in enumerate(str(number)):
            for y, bits in enumerate(bytes.fromhex(_DIGITS[digit])):
                for x in range(5):
                    if bits >> (4 - x) & 1:
                        self.box(
                            left + (6 * place + x) * scale, top + y * scale, scale, scale, _BLACK
                        )

    def png(self) -> bytes:
        return encoded(self._rows)


def media_type(picture: bytes) -> str:
    """The media type of a picture by its first bytes, such as "image/png"; "" if unknown."""
    if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
        return "image/webp"
    return next(
        (kind for signature, kind in _SIGNATURES.items() if picture.startswith(signature)), ""
    )


def address(picture: bytes) -> str:
    """A picture as a data URL."""
    return f"data:{media_type(picture) or 'image/png'};base64,{base64.b64encode(picture).decode()}"


def pictures(tier: str, seed: int) -> Iterator[Problem]:
    """A number to read (easy), shapes to count (medium), shapes of one kind and colour to count (hard)."""
    make = {"easy": _number, "medium": _count, "hard": _count_of_kind}[tier]
    dice = Dice("pictures", tier, seed)
    for serial in count():
        canvas = Canvas()
        question, value = make(dice, canvas)
        yield Problem(
            id=f"pictures/{tier}/{seed}/{serial}", family="pictures", tier=tier, question=question,
            answer=str(value), worked=f"The answer is {value}.", images=(canvas.png(),),
        )  # fmt: skip


def _number(dice: Dice, canvas: Canvas) -> tuple[str, int]:
    value = dice.number(10, 9999)
    canvas.write(value, 84, 8)
    return "Which number is written in the picture?", value


def _count(dice: Dice, canvas: Canvas) -> tuple[str, int]:
    colour = dice.pick(tuple(_COLOURS.values()))
    cells = _cells(dice)[: dice.number(1, 9)]
    for left, top in cells:
        canvas.box(left, top, 32, 32, colour)
    return "How many squares are in the picture?", len(cells)


def _count_of_kind(dice: Dice, canvas: Canvas) -> tuple[str, int]:
    wanted, value = _kind(dice), 0
    for left, top in _cells(dice)[: dice.number(6, 14)]:
        kind = wanted if dice.number(1, 3) == 1 else _kind(dice)
        value += kind == wanted
        if kind[1] == "squares":
            canvas.box(left, top, 32, 32, _COLOURS[kind[0]])
        else:
            canvas.disc(left, top, 36, _COLOURS[kind[0]])
    return f"How many {wanted[0]} {wanted[1]} are in the picture?", value


def _kind(dice: Dice) -> tuple[str, str]:
    return dice.pick(tuple(_COLOURS)), dice.pick(("squares", "circles"))


def _cells(dice: Dice) -> list[tuple[int, int]]:
    """The corners of places for shapes, in random order, each slightly off its grid."""
    places = [(x, y) for x in range(_CELLS) for y in range(_CELLS)]
    return [
        (x * _CELL_PIXELS + dice.number(4, 16), y * _CELL_PIXELS + dice.number(4, 16))
        for x, y in dice.shuffled(places)
    ]
