"""Number types for argparse, which refuse other texts in plain words."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from healthcheck.text.messages import msg


def whole(low: int | None = None, high: int | None = None) -> Callable[[str], int]:
    """Whole numbers from `low` to `high`."""

    def parsed(text: str) -> int:
        try:
            value = int(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                msg("{text} is not a whole number", text=repr(text))
            ) from error
        _refuse_outside(value, text, low, high)
        return value

    return parsed


def number(low: float | None = None, high: float | None = None) -> Callable[[str], float]:
    """Finite numbers from `low` to `high`."""

    def parsed(text: str) -> float:
        value = _finite(text)
        _refuse_outside(value, text, low, high)
        return value

    return parsed


def positive(text: str) -> float:
    """A finite number above zero."""
    value = _finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(msg("{text} is not above zero", text=text))
    return value


integer = whole()
count = whole(low=1)
port = whole(0, 65535)
share = number(0, 1)


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(msg("{text} is not a number", text=repr(text))) from error
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(msg("{text} is not a finite number", text=text))
    return value


def _refuse_outside(value: float, text: str, low: float | None, high: float | None) -> None:
    if low is not None and high is not None and not low <= value <= high:
        raise argparse.ArgumentTypeError(
            msg("{text} does not lie between {low} and {high}", text=text, low=low, high=high)
        )
    if low is not None and value < low:
        raise argparse.ArgumentTypeError(msg("{text} is less than {low}", text=text, low=low))
