"""Stub for chmod: where the call is refused, a copy with the mode takes the file's place."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

_CLAUSE = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")
_WHO = {"u": 0o4700, "g": 0o2070, "o": 0o1007, "a": 0o7777}
_BITS = {"r": 0o444, "w": 0o222, "x": 0o111, "X": 0o111, "s": 0o6000, "t": 0o1000}


def changed(mode: int, text: str) -> int:
    """The mode after the change that chmod's first argument describes.

    Raises:
        ValueError: it describes none.
    """
    if re.fullmatch(r"[0-7]{1,5}", text):
        return int(text, 8)
    for clause in text.split(","):
        found = _CLAUSE.fullmatch(clause)
        if not found:
            raise ValueError(f"invalid mode: '{text}'")
        who = 0
        for letter in found[1] or "a":
            who |= _WHO[letter]
        bits = 0
        for letter in found[3]:
            bits |= _BITS[letter] if letter != "X" or mode & 0o111 else 0
        if found[2] == "=":
            mode &= ~who
        mode = mode & ~(bits & who) if found[2] == "-" else mode | (bits & who)
    return mode


def change(path: Any, mode: int, **_: Any) -> None:
    """Replaces os.chmod: give a file a mode by a copy; a folder keeps its own.

    Raises:
        OSError: this program may not write there.
    """
    place = os.path.realpath(os.fspath(path))
    before = os.stat(place)
    if not stat.S_ISREG(before.st_mode) or stat.S_IMODE(before.st_mode) == mode:
        return
    copy = f"{place}.{os.getpid()}"
    usual = os.umask(0)
    try:
        with (
            open(place, "rb") as reader,
            open(copy, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file,
        ):
            while data := reader.read(1 << 20):
                file.write(data)
        os.rename(copy, place)
    finally:
        os.umask(usual)


def _files(places: list[str], *, below: bool) -> Iterator[str]:
    for place in places:
        yield place
        for folder, _, names in os.walk(place) if below else ():
            yield from (
                f"{folder}/{name}" for name in names if not os.path.islink(f"{folder}/{name}")
            )


def main() -> int:
    options = [word for word in sys.argv[2:] if re.fullmatch(r"-[Rfcv]+|--[a-z-]+", word)]
    words = [word for word in sys.argv[2:] if word not in options]
    places = _files(words[1:], below=any("R" in word or word == "--recursive" for word in options))
    return max([_status(place, words[0]) for place in places], default=0)


def _status(place: str, mode: str) -> int:
    try:
        change(place, changed(stat.S_IMODE(os.stat(place).st_mode), mode))
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        print(f"chmod: cannot access '{place}': {said}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
