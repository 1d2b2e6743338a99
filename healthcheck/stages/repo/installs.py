"""The packages that requirements.txt and the files that it includes install."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.stages.repo import requirements
from healthcheck.stages.repo.facts import Submission
from healthcheck.stages.repo.requirements import Entry, File, Form


def files(submission: Submission) -> tuple[File, ...]:
    """requirements.txt and the files that it includes, parsed."""
    return tuple(requirements.read(text.path, text.data) for text in submission.texts)


def entries(submission: Submission) -> Iterator[Entry]:
    """The lines of all files that install something on the service's machine."""
    found = files(submission)
    constraints = _constraints(found)
    for file in found:
        if file.path not in constraints:
            yield from (entry for entry in file.entries if entry.installs and entry.applies())


def constrained(submission: Submission) -> frozenset[str]:
    """The packages that a constraints file (-c) pins to a version or gives an upper bound."""
    found = files(submission)
    constraints = _constraints(found)
    limiting = (entry for file in found if file.path in constraints for entry in file.entries if entry.is_limited)
    return frozenset(entry.name for entry in limiting)


def _constraints(found: tuple[File, ...]) -> set[str | None]:
    named = ((file, entry) for file in found for entry in file.entries if entry.form is Form.CONSTRAINT)
    return {requirements.included(file.path, entry.target) for file, entry in named}
