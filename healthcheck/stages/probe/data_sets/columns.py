"""The optional columns of a data set: the tier of a problem, and its pictures.

A picture is a data URL, or a path inside the data set's folder; links that leave the folder are not followed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems.pictures import media_type
from healthcheck.system.files import read_bounded
from healthcheck.text.messages import msg

MAX_PICTURE_BYTES = 20 * 2**20
MAX_PICTURES = 16
MAX_BYTES = 2**29
"""For all pictures of a run, since the run folder stores them."""
MAX_TIER_CHARS = 60
WITHOUT_TIER = "no tier"
"""The tier of a row without one, if other rows have a tier."""
_TIER = ("tier", "category")
_IMAGE = ("image", "images")
_UNREAD = ("image_url", "image_path", "picture", "pictures", "img", "video", "audio")
_OTHERS = {
    "question": ("Question", "problem", "origin_prompt"),
    "answer": ("Answer", "gold_answer"),
}
"""Of CMMLU and GPQA, MATH-500, and AIME as AISBench has it."""
_RESERVED = "all"
"""The name of all tiers together, in reports."""


def renamed(row: Mapping[str, object], names: Mapping[str, str]) -> Mapping[str, object]:
    """Rename the columns of a row to the kit's names: those that are named, and those of published data sets.

    Raises:
        UsageError: a named column is missing.
    """
    usual = {
        own: name
        for own, others in _OTHERS.items()
        if own not in row
        for name in others
        if name in row
    }
    names = {**usual, **names}
    for own, theirs in names.items():
        if theirs not in row:
            there = ", ".join(map(str, row)) or msg("nothing")
            raise UsageError(
                msg(
                    "no {theirs}, the column for {own}, in this row (it has {there})",
                    theirs=repr(theirs),
                    own=own,
                    there=there[:200],
                )
            )
    left = {
        name: value
        for name, value in row.items()
        if name not in names and name not in names.values()
    }
    return {**left, **{own: row[theirs] for own, theirs in names.items()}}


def tier(row: Mapping[str, object]) -> str:
    """The tier that a row names, "" if it names none.

    Raises:
        UsageError: the tier is not a short text or number.
    """
    name = next((name for name in _TIER if name in row), "")
    value = row.get(name)
    if value is None or value == "":
        return ""
    text = " ".join(str(value).split())
    if (
        isinstance(value, bool)
        or not isinstance(value, (str, int, float))
        or not 0 < len(text) <= MAX_TIER_CHARS
    ):
        raise UsageError(
            msg(
                "its {name} is not a text of at most {max_tier_chars} characters",
                name=repr(name),
                max_tier_chars=MAX_TIER_CHARS,
            )
        )
    if text == _RESERVED:
        raise UsageError(
            msg(
                "its {name} is {reserved}, as reports call all problems: name it otherwise",
                name=repr(name),
                reserved=repr(_RESERVED),
            )
        )
    return text


def images(row: Mapping[str, object]) -> tuple[str, ...]:
    """The paths and data URLs of a row's pictures.

    Raises:
        UsageError: they are not paths or data URLs, or are in a column that is not read.
    """
    for name in _UNREAD:
        if row.get(name):
            raise UsageError(
                msg(
                    "the column {name} is not read: put pictures into the column 'image'",
                    name=repr(name),
                )
            )
    name = next((name for name in _IMAGE if row.get(name)), "")
    value = row.get(name) if name else []
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(
        isinstance(one, str) and one.strip() for one in named
    ):
        raise UsageError(
            msg("its {name} is neither a path, nor a data URL, nor a list of them", name=repr(name))
        )
    if len(named) > MAX_PICTURES:
        raise UsageError(
            msg(
                "{named} pictures in one row, where at most {max_pictures} are sent",
                named=len(named),
                max_pictures=MAX_PICTURES,
            )
        )
    return tuple(one.strip() for one in named)


class Pictures:
    """Reads the pictures of a data set, at most MAX_BYTES in total."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._left = MAX_BYTES

    def read(self, named: Sequence[str]) -> tuple[bytes, ...]:
        """The bytes of the pictures of a row.

        Raises:
            UsageError: a picture cannot be read, is too large, is outside the folder or is not an image.
        """
        return tuple(self._one(one) for one in named)

    def _one(self, named: str) -> bytes:
        picture = _decoded(named) if named.startswith("data:") else self._file(named)
        if not media_type(picture):
            raise UsageError(
                msg("{named} is not a PNG, JPEG, GIF or WebP picture", named=repr(named[:80]))
            )
        self._left -= len(picture)
        if self._left < 0:
            raise UsageError(
                msg(
                    "with this one the pictures have more than {max_bytes} MiB",
                    max_bytes=MAX_BYTES >> 20,
                )
            )
        return picture

    def _file(self, named: str) -> bytes:
        if "://" in named:
            raise UsageError(
                msg(
                    "{named} is an address: nothing is downloaded; save the picture",
                    named=repr(named[:80]),
                )
            )
        try:
            path = (self._folder / named).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(
                msg("there is no picture {named} beside the data set", named=repr(named[:80]))
            ) from error
        if not path.is_relative_to(self._folder):
            raise UsageError(
                msg(
                    "the picture {named} lies outside the data set's folder", named=repr(named[:80])
                )
            )
        return read_bounded(path, MAX_PICTURE_BYTES)


def _decoded(address: str) -> bytes:
    head, _, data = address.partition(",")
    if not head.endswith(";base64") or len(data) > MAX_PICTURE_BYTES * 4 // 3 + 4:
        raise UsageError(
            msg(
                "a data URL is data:image/…;base64,… of at most {max_picture_bytes} MiB",
                max_picture_bytes=MAX_PICTURE_BYTES >> 20,
            )
        )
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError(msg("the data URL is not base64 ({error})", error=error)) from error
