"""Collects the repairs of a run: the exact edits of its findings, and the files that they may change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from healthcheck import contract
from healthcheck.core.edits import in_words
from healthcheck.core.ledger import Ledger
from healthcheck.core.records import CheckResult, Edit, Level, Outcome
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.repo.tree import read_inside
from healthcheck.text.messages import msg
from healthcheck.verify.fix.edits import MAX_FILE_BYTES, Repair

_COMMITTED = "repo/committed"


def repairs(ledger: Ledger) -> tuple[Repair, ...]:
    """The repairs of the findings that have exact edits, in the order of the report."""
    found = (
        Repair(check=result.id, words=in_words(edits), edits=edits)
        for result in ledger.results
        for finding, edits in zip(result.findings, ledger.edits(result.id), strict=True)
        if edits and finding.level is not Level.NOTE
    )
    return tuple(dict.fromkeys(found))


def files(submission: Submission, wanted: Iterable[Repair]) -> Mapping[str, bytes]:
    """The files of the working copy that the repairs may change: those that are as the submission has them.

    Line ends and a byte order mark may differ. A link, or a file behind one, is left alone.
    """
    found = {}
    for path in dict.fromkeys(edit.file for repair in wanted for edit in repair.edits):
        judged = _as_judged(submission, path)
        place = submission.root / path
        if (
            judged is None
            or place.is_symlink()
            or place.resolve() != submission.root.resolve() / path
        ):
            continue
        data = read_inside(submission.root, path, MAX_FILE_BYTES)
        if (
            data is not None
            and len(data) < MAX_FILE_BYTES
            and _without_line_ends(data) == _without_line_ends(judged)
        ):
            found[path] = data
    return found


def is_wrong(result: CheckResult) -> bool:
    """Whether a check failed, warned or could not be settled because of a finding."""
    return bool(result.findings) and (
        result.outcome in {Outcome.FAIL, Outcome.WARN} or not result.settled
    )


def left_alone(results: Iterable[CheckResult], changed: Collection[str] = ()) -> tuple[str, ...]:
    """Why wrong results were not repaired, in words; the report says what to do by hand.

    `changed` are the paths whose working copy differs from the commit.
    """
    wrong = [result for result in results if is_wrong(result) and not _sums_up(result)]
    blocked = {result.id: path for result in wrong if (path := _changed_file(result, changed))}
    by_hand = [result.id for result in wrong if result.id not in blocked]
    words = [
        msg(
            "{id} was not repaired: {path} has uncommitted changes; commit or stash them first",
            id=id_,
            path=path,
        )
        for id_, path in blocked.items()
    ]
    if by_hand:
        words.append(
            msg("to repair by hand, as described below: {checks}", checks=", ".join(by_hand))
        )
    return tuple(words)


def repairable(results: Iterable[CheckResult]) -> tuple[str, ...]:
    """The checks with findings that have exact edits."""
    return tuple(result.id for result in results if is_wrong(result) and any(_edits(result)))


def already_made(committed: Iterable[CheckResult], copy: Iterable[CheckResult]) -> tuple[str, ...]:
    """The checks that the working copy repairs: wrong in the commit, and passed in the copy."""
    passed = {result.id for result in copy if result.outcome is Outcome.PASS and result.settled}
    return tuple(check for check in repairable(committed) if check in passed)


def _changed_file(result: CheckResult, changed: Collection[str]) -> str:
    """A file with uncommitted changes that the repair would edit; "" if there is none."""
    return next((edit.file for edit in _edits(result) if edit.file in changed), "")


def _edits(result: CheckResult) -> Iterator[Edit]:
    return (edit for finding in result.findings for edit in finding.edits)


def _sums_up(result: CheckResult) -> bool:
    """Whether a result is about other results, or about what --fix itself leaves to commit."""
    return result.id == _COMMITTED or all(
        "sums_up" in finding.evidence for finding in result.findings
    )


def _as_judged(submission: Submission, path: str) -> bytes | None:
    """A file as the checks read it; None if they did not read it."""
    if path == contract.ENTRY_POINT:
        return submission.deploy_sh if not submission.deploy_sh_link else None
    texts = (*submission.texts, *submission.written)
    return next((text.data for text in texts if text.path == path), None)


def _without_line_ends(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
