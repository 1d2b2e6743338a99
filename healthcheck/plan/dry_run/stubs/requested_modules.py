"""The modules that the submission asks pip for, in requirements.txt and by recorded installations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from healthcheck.plan.dry_run.stubs import earlier_steps, image
from healthcheck.repo import pip_words

_FILE_BYTES = 256 * 1024
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_OF_PYTHON = re.compile(r"^(?:python_?|py_?)|_?py(?:thon3?)?$")


def importable_names() -> frozenset[str]:
    """The names that the modules of the packages may have, in lower case: python-magic has `magic`.

    CUDA-only packages are left out: they do not load on this machine.
    """
    required = pip_words.of_lines(_lines(os.path.join(image.root(), "requirements.txt")))
    found = pip_words.packages([*required, *_of_installations()])
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
            yield from pip_words.of_lines(_lines(os.path.join(folder, place)))
        yield from pip_words.operands(words)


def project_folders() -> Sequence[str]:
    """Folders of projects that pip installed from the submission."""
    found = []
    for folder, words in earlier_steps.installations():
        for word in pip_words.operands(words):
            place = os.path.join(folder, word.partition("[")[0])
            if any(os.path.exists(f"{place}/{name}") for name in _PROJECT):
                found += [place, f"{place}/src"]
    return found
