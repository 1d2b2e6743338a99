"""The packages that requirements.txt and the files that it includes install."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from healthcheck.repo import requirements
from healthcheck.repo.facts import Submission
from healthcheck.repo.requirements import Entry, File, Form

PINNING = ("==", "===", "~=", "<", "<=")


def files(submission: Submission) -> tuple[File, ...]:
    """requirements.txt and the files that it includes, read."""
    return tuple(requirements.read(text.path, text.data) for text in submission.texts)


def entries(submission: Submission) -> Iterator[Entry]:
    """Every line that installs something on the service's machine, in all files."""
    constraints = {path for file in files(submission) for path in _constrained(file)}
    for file in files(submission):
        if file.path not in constraints:
            yield from (entry for entry in file.entries if entry.installs and entry.applies())


def constrained(submission: Submission) -> frozenset[str]:
    """The packages that a constraints file (-c) pins to a version or keeps below one."""
    found = files(submission)
    constraints = {path for file in found for path in _constrained(file)}
    return frozenset(
        entry.name
        for file in found
        if file.path in constraints
        for entry in file.entries
        if entry.requirement is not None and any(each.operator in PINNING for each in entry.requirement.specifier)
    )


def _constrained(file: File) -> Iterator[str]:
    for entry in file.entries:
        path = requirements.included(file.path, entry.target) if entry.form is Form.CONSTRAINT else None
        if path is not None:
            yield path


def exact_versions(entry: Entry) -> tuple[str, ...]:
    """The versions that a requirement pins with == (without a wildcard) or ===."""
    specifiers = entry.requirement.specifier if entry.requirement else SpecifierSet()
    return tuple(
        each.version for each in specifiers if each.operator in {"==", "==="} and not each.version.endswith(".*")
    )
