"""Chooses the repairs that a submission certainly needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from healthcheck import contract
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo import requirements, shell
from healthcheck.stages.repo.facts import Kind, Submission
from healthcheck.stages.repo.packages import provided_part
from healthcheck.stages.repo.tree import read_inside
from healthcheck.text.messages import msg
from healthcheck.verify.fix import launch
from healthcheck.verify.fix.edits import MAX_FILE_BYTES, Edit, Repair
from healthcheck.verify.fix.launch import Launch

BOM = b"\xef\xbb\xbf"
LAUNCH_REPAIRS: tuple[tuple[str, str, Callable[[Launch], Iterator[Edit]]], ...] = (
    ("plan/model-path", msg("put quotes around $MODEL_PATH"), launch.quotes),
    ("plan/port", msg("listen on the service's port"), launch.port),
    ("plan/host", msg("listen on every address"), launch.host),
    ("plan/served-name", msg("leave the served model name to the weight path"), launch.served_name),
    ("plan/no-api-key", msg("take out --api-key"), launch.no_api_key),
)
SYNTAX_CHECK, REQUIREMENTS_CHECK = "repo/deploy-sh-syntax", "repo/requirements-provided"
REPAIRED = frozenset({SYNTAX_CHECK, REQUIREMENTS_CHECK, *(check for check, _, _ in LAUNCH_REPAIRS)})
"""The checks with findings that can be repaired."""


def proposals(
    submission: Submission, plan: LaunchPlan | None, results: Iterable[CheckResult]
) -> tuple[Repair, ...]:
    """The safe repairs of the working copy for these results; none if anything is in doubt.

    A launch option is changed only if it is a plain word of the command that the plan stage recorded.
    """
    results = tuple(results)
    wrong = {result.id for result in _wrong(results)}
    found = list(_of_requirements(submission, wrong))
    path = submission.root / contract.ENTRY_POINT
    data = None if path.is_symlink() else read_inside(submission.root, path.name, MAX_FILE_BYTES)
    if data and len(data) < MAX_FILE_BYTES and b"\0" not in data and submission.deploy_sh_kind is Kind.FILE:
        found += _of_bytes(submission, data, wrong)
        if _as_read(data)[0] == _as_read(submission.deploy_sh or b"")[0]:
            found += _of_launch(plan, data, wrong)
    return tuple(found)


def left_alone(results: Iterable[CheckResult], changed: Collection[str] = ()) -> tuple[str, ...]:
    """Findings of a repairable kind without a proposed repair, in words, with what to do by hand.

    `changed` are the paths whose working copy differs from the commit.
    """
    return tuple(_not_repaired(result, changed) for result in _wrong(results) if result.id in REPAIRED)


def already_made(committed: Iterable[CheckResult], copy: Iterable[CheckResult]) -> tuple[str, ...]:
    """The checks that the working copy repairs: wrong in the commit, and passed in the copy."""
    passed = {result.id for result in copy if result.outcome is Outcome.PASS and result.settled}
    return tuple(check for check in repairable(committed) if check in passed)


def repairable(results: Iterable[CheckResult]) -> tuple[str, ...]:
    """The checks with findings of a repairable kind."""
    return tuple(result.id for result in _wrong(results) if result.id in REPAIRED)


def _wrong(results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    return (result for result in results if result.outcome in {Outcome.FAIL, Outcome.WARN})


def _not_repaired(result: CheckResult, changed: Collection[str]) -> str:
    id_, path = result.id, contract.REQUIREMENTS if result.id == REQUIREMENTS_CHECK else contract.ENTRY_POINT
    if path in changed:
        return msg("not repaired for {id}: {path} has uncommitted changes: commit or stash them first", id_, path)
    by_hand = next((finding.fix for finding in result.findings if finding.fix), "")
    if by_hand:
        return msg("not repaired for {id}; by hand: {by_hand}", id_, by_hand)
    return msg("not repaired for {id}: npu-adapter explain {id} says how", id_)


def _of_bytes(submission: Submission, data: bytes, wrong: set[str]) -> Iterator[Repair]:
    check, seen, name = SYNTAX_CHECK, submission.deploy_sh or b"", contract.ENTRY_POINT
    if check not in wrong:
        return
    if data.startswith(BOM) and seen.startswith(BOM):
        edit = Edit(start=0, end=len(BOM), new=b"")
        yield Repair(path=name, check=check, title=msg("take the byte order mark out"), before=data, edits=(edit,))
    if b"\r\n" in data and b"\r\n" in seen:
        edits = tuple(Edit(start=at.start(), end=at.start() + 1, new=b"") for at in re.finditer(rb"\r(?=\n)", data))
        yield Repair(path=name, check=check, title=msg("end the lines in LF"), before=data, edits=edits)
    if submission.deploy_sh_mode is not None and not submission.deploy_sh_mode & 0o111:
        yield Repair(path=name, check=check, title=msg("set the executable bit"), before=data, executable=True)


def _of_launch(plan: LaunchPlan | None, data: bytes, wrong: set[str]) -> Iterator[Repair]:
    server = plan.server if plan else None
    if server is None or server.engine != "vllm":
        return
    (text, places), name = _as_read(data), contract.ENTRY_POINT
    found = launch.find(shell.read(text), _line_in_deploy_sh(server.where))
    if found is None or (server.where and not server.where.startswith(f"{name}:")):
        return
    found = replace(found, names=len(server.served_names), port=server.port or 0)
    for check, title, propose in LAUNCH_REPAIRS:
        edits = tuple(_edit(change, places, len(data)) for change in propose(found)) if check in wrong else ()
        if edits:
            yield Repair(path=name, check=check, title=title, before=data, edits=edits)


def _as_read(data: bytes) -> tuple[str, list[int]]:
    """A script without byte order mark and carriage returns, one character per byte, and each byte's position."""
    start = len(BOM) if data.startswith(BOM) else 0
    places = [at for at in range(start, len(data)) if data[at : at + 2] != b"\r\n"]
    return bytes(data[at] for at in places).decode("latin-1"), places


def _edit(change: Edit, places: list[int], length: int) -> Edit:
    """The edit in positions of the file; it excludes a trailing carriage return, which another repair removes."""
    start = places[change.start] if change.start < len(places) else length
    end = places[change.end - 1] + 1 if change.end > change.start else start
    return Edit(start=start, end=end, new=change.new)


def _line_in_deploy_sh(where: str) -> int:
    name, _, line = where.partition(":")
    return int(line) if name == contract.ENTRY_POINT and line.isdigit() else 0


def _of_requirements(submission: Submission, wrong: set[str]) -> Iterator[Repair]:
    check = REQUIREMENTS_CHECK
    for text in submission.texts if check in wrong else ():
        path = submission.root / text.path
        data = None if path.is_symlink() else read_inside(submission.root, text.path, MAX_FILE_BYTES)
        if data is None or data != text.data:
            continue
        entries = requirements.read(text.path, data).entries
        provided = [entry for entry in entries if entry.installs and entry.applies() and provided_part(entry.name)]
        lines = data.splitlines(keepends=True)
        if not provided or len(lines) != len(data.decode("utf-8", "replace").splitlines()):
            continue
        edits = tuple(_without(lines, entry.line) for entry in provided)
        title = msg("leave {names} to the environment", ", ".join(dict.fromkeys(entry.name for entry in provided)))
        yield Repair(path=text.path, check=check, title=title, before=data, edits=edits)


def _without(lines: list[bytes], first: int) -> Edit:
    """Remove a logical line: a physical line and its continuation lines."""
    last = first
    while last < len(lines) and lines[last - 1].rstrip(b"\r\n").endswith(b"\\"):
        last += 1
    start = sum(len(line) for line in lines[: first - 1])
    return Edit(start=start, end=start + sum(len(line) for line in lines[first - 1 : last]), new=b"")
