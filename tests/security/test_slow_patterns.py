"""No regular expression of the kit takes exponential time, whatever text a stranger writes for it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator

import pytest

import adapter
import healthcheck
from healthcheck.stages.probe.grading.numbers import bounded
from tests.security.hostile_texts import against

LENGTH = 400
LIMIT_S = 2.0
"""Of processor time. A cubic pattern takes less for a text of LENGTH; an exponential one never ends."""
GRADED = "healthcheck.stages.probe.grading."
"""Patterns that see the text of `bounded` alone."""
CHILDREN = (".children.", ".stubs.", "__main__", ".on_ray")
"""Modules that run in another environment."""
EXPONENTIAL = re.compile(r"(?:a|a)*!")


class TooSlowError(Exception):
    """The pattern used up its processor time."""


def kept(value: object, depth: int = 3) -> Iterator[re.Pattern]:
    """The patterns that a module keeps under a name, in tables too."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (dict, list, tuple, set, frozenset)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from kept(one, depth - 1)
    elif depth and hasattr(type(value), "__dataclass_fields__"):
        for name in type(value).__dataclass_fields__:
            yield from kept(getattr(value, name, None), depth - 1)


def patterns() -> dict[re.Pattern, str]:
    """The patterns of the kit and of the adapter, with the first module that keeps each."""
    found: dict[re.Pattern, str] = {}
    for package in (healthcheck, adapter):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not any(part in module.name for part in CHILDREN):
                for value in vars(importlib.import_module(module.name)).values():
                    found |= {one: module.name for one in kept(value) if one not in found}
    return found


def slow_text(pattern: re.Pattern, *, gaps: bool = True) -> str:
    """The first text for which the pattern takes more than LIMIT_S, or ""; without `gaps`, none has a long gap."""
    for text in against(pattern, LENGTH):
        seen = text if gaps else bounded(text)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        try:
            pattern.search(seen if isinstance(pattern.pattern, str) else seen.encode())
        except TooSlowError:
            return text
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


@pytest.fixture(autouse=True)
def _limited():
    def stop(number, frame):
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.signal(signal.SIGVTALRM, before)


def test_an_exponential_pattern_is_noticed():
    assert slow_text(EXPONENTIAL)


@pytest.mark.process
def test_no_pattern_is_slow():
    found = patterns()
    assert len(found) > 300
    texts = {
        one: slow_text(one, gaps=not module.startswith(GRADED)) for one, module in found.items()
    }
    assert {
        f"{found[one]}: {one.pattern!r}": text[:40] for one, text in texts.items() if text
    } == {}
