"""The packages that requirements.txt and the files that it includes install."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from healthcheck.core.edits import without_lines
from healthcheck.core.records import Edit
from healthcheck.stages.repo import requirements
from healthcheck.stages.repo.records import Submission
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
    limiting = (
        entry
        for file in found
        if file.path in constraints
        for entry in file.entries
        if entry.is_limited
    )
    return frozenset(entry.name for entry in limiting)


def without(submission: Submission, lines: Iterable[Entry]) -> tuple[Edit, ...]:
    """The edits that remove these lines, with the lines that continue them; none for a text that is not UTF-8."""
    edits = []
    for entry in lines:
        text = source(submission, entry)
        if text is None:
            return ()
        last, physical = entry.line, text.split("\n")
        while last < len(physical) and physical[last - 1].endswith("\\"):
            last += 1
        edits.append(without_lines(entry.file, text, entry.line, last))
    return tuple(edits)


def source(submission: Submission, entry: Entry) -> str | None:
    """The text of the file of a line, with LF line ends; None if its lines are not those of the file's bytes."""
    data = submission.text(entry.file)
    if data is None or data.truncated:
        return None
    try:
        text = data.data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    return (
        text if len(text.removesuffix("\n").split("\n")) == max(len(text.splitlines()), 1) else None
    )


def _constraints(found: tuple[File, ...]) -> set[str | None]:
    named = (
        (file, entry) for file in found for entry in file.entries if entry.form is Form.CONSTRAINT
    )
    return {requirements.included(file.path, entry.target) for file, entry in named}
