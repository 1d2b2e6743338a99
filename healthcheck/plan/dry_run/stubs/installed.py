"""Which packages the submission asks for: in requirements.txt, and by the installations that were recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from healthcheck.plan.dry_run.stubs import earlier_steps, image
from healthcheck.repo import pip_words

_FILE_BYTES = 256 * 1024
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_OF_PYTHON = re.compile(r"^(?:python_?|py_?)|_?py(?:thon3?)?$")


def names() -> frozenset[str]:
    """The names that their modules may have, in lower case: python-magic has `magic`, and ruamel.yaml `ruamel`.

    A package that needs CUDA neither builds nor loads, whoever asks for it.
    """
    found = pip_words.packages([*_lines("requirements.txt"), *_of_installations()])
    plain = {name for name in found if image.pip_name(name) not in image.cuda_only()}
    return frozenset(
        plain | {re.split("[._]", name)[0] for name in plain} | {_OF_PYTHON.sub("", name) for name in plain}
    )


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_FILE_BYTES).splitlines()
    except OSError:
        return []


def _of_installations() -> Iterator[str]:
    for folder, words in earlier_steps.installations():
        for place in pip_words.lists(words):
            yield from _lines(os.path.join(folder, place))
        yield from (word for word in words if not word.startswith("-"))


def folders() -> Sequence[str]:
    """Where the projects are that were installed from folders of the submission."""
    found = []
    for folder, words in earlier_steps.installations():
        for word in words:
            place = os.path.join(folder, word.partition("[")[0])
            if not word.startswith("-") and any(os.path.exists(f"{place}/{name}") for name in _PROJECT):
                found += [place, f"{place}/src"]
    return found
