"""repo/requirements-parse: pip can read requirements.txt, and the files that it names exist."""

from __future__ import annotations

import difflib
import posixpath
import shlex
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from healthcheck import contract
from healthcheck.ascend.stacks import in_range
from healthcheck.core.check import Findings, check, fail, needs_network, note, warn
from healthcheck.core.commands import file_words
from healthcheck.core.edits import in_words, replaced
from healthcheck.core.records import Edit, Finding
from healthcheck.stages.repo import requirements
from healthcheck.stages.repo.installs import entries, files, source
from healthcheck.stages.repo.records import Kind, Submission
from healthcheck.stages.repo.requirements import Entry, File, Form
from healthcheck.text.messages import joined, msg

NAME = contract.REQUIREMENTS
MAX_FINDINGS = 20
PROJECT = ("pyproject.toml", "setup.py")
_INCLUDES = {Form.INCLUDE, Form.CONSTRAINT}
_DIRECT = {Form.PATH, Form.EDITABLE, Form.URL}


@check(
    "repo/requirements-parse",
    msg("pip can read requirements.txt"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("A line that pip cannot read stops the installation, and the server never starts."),
)
def requirements_parse(submission: Submission) -> Findings:
    """requirements.txt is optional. If it exists, pip must be able to read all of it.

    The file is read by pip's rules (PEP 508 names and versions; -r, -c, -e, --hash and the other options; continued
    lines; comments; encodings). The check fails for a line that pip refuses; an included file, local path or wheel
    that is not in the repository; a file that includes itself; hashes on some lines only; and pins of one package
    that no version satisfies.

    Direct URLs and git addresses warn: it is not documented whether the service has network access during
    installation, and a mirror of the package index does not hold them.

    Example:
    ```text requirements.txt
    einops=0.8.0
    ```

    Use instead:

    ```text requirements.txt
    einops==0.8.0
    ```
    """
    kind = submission.requirements_kind
    if kind in {Kind.FOLDER, Kind.LINK_OUT, Kind.OTHER}:
        seen = msg("{name} is a {value}", name=NAME, value=kind.value)
        fix = msg("replace it with a file {name}, or remove it", name=NAME)
        yield fail(
            expected=msg("a file {name}, or none", name=NAME),
            seen=seen,
            fix=fix,
            rule=contract.ROOT_FILES,
        )
        return
    if kind is Kind.MISSING:
        yield from _absent(submission)
        return
    yield from islice(_problems(submission), MAX_FINDINGS)


def _problems(submission: Submission) -> Iterator[Finding]:
    found = files(submission)
    for file in found:
        text = submission.text(file.path)
        if file.problem or (text and text.truncated):
            seen = file.problem or msg("it is longer than 1 MiB")
            fix = msg("rewrite {path} in UTF-8, with one requirement per line", path=file.path)
            yield fail(
                expected=msg("a text file in UTF-8 of at most 1 MiB"),
                seen=seen,
                fix=fix,
                where=file.path,
            )
        if file.remark:
            seen = msg("{remark}: pip reads it, other installers do not", remark=file.remark)
            quoted = shlex.quote(file.path)
            fix = msg("write {name} in UTF-8", name=file.path)
            command = f"iconv -f UTF-16 -t UTF-8 {quoted} > r && mv r {quoted}"
            yield warn(
                expected=msg("UTF-8, which every installer reads"),
                seen=seen,
                fix=fix,
                command=command,
                where=file.path,
            )
        for entry in file.entries:
            yield from _line(submission, entry)
    yield from _circle(found)
    yield from _hashes(found)
    yield from _contradictions(submission)


def _absent(submission: Submission) -> Findings:
    at_root = [path for path in submission.paths if "/" not in path]
    near = difflib.get_close_matches(NAME, [path.lower() for path in at_root], n=1, cutoff=0.85)
    meant = next((path for path in at_root if near and path.lower() == near[0]), "")
    if meant and meant.encode() not in (submission.deploy_sh or b""):
        seen = msg("{meant}, which is not installed", meant=meant)
        yield warn(
            expected=msg("the name {name}, exactly", name=NAME),
            seen=seen,
            fix=msg("rename it to {name}", name=NAME),
            command=f"git mv {file_words(meant)} {NAME}",
            where=meant,
        )
    else:
        yield note(msg("there is no {name}, and it is optional", name=NAME))


def _line(submission: Submission, entry: Entry) -> Iterator[Finding]:
    if wrong := _wrong(submission, entry):
        expected, seen, fix = wrong
        edits = _corrected(submission, entry)
        yield fail(
            expected=expected, seen=seen, fix=in_words(edits) or fix, where=entry.where, edits=edits
        )
    elif _needs_network(entry):
        expected = msg("packages from an index: other hosts may not be reachable from the service")
        seen = msg("“{quoted}” is fetched from another host", quoted=entry.text)
        fix = msg("write name==version, or ship the package in the repository and name its path")
        yield from needs_network(expected=expected, seen=seen, fix=fix, where=entry.where)
    if entry.ignored:
        expected, names = msg("options on their own line"), ", ".join(entry.ignored)
        seen = msg(
            "“{quoted}”: pip ignores {ignored} after a requirement",
            quoted=entry.text,
            ignored=names,
        )
        fix = msg("move {ignored} to its own line", ignored=entry.ignored[0])
        yield warn(expected=expected, seen=seen, fix=fix, where=entry.where)


def _corrected(submission: Submission, entry: Entry) -> tuple[Edit, ...]:
    """The line as it was meant: == for a single =, and the packages of a pip command."""
    text = source(submission, entry) if entry.problem else None
    if text is None:
        return ()
    line = text.split("\n")[entry.line - 1]
    content = line.partition(" #")[0].strip()
    meant = requirements.intended(content)
    if not meant or line.endswith("\\"):
        return ()
    start = sum(len(each) + 1 for each in text.split("\n")[: entry.line - 1]) + line.index(content)
    return (replaced(entry.file, text, start, start + len(content), "\n".join(meant)),)


def _needs_network(entry: Entry) -> bool:
    if entry.target.startswith("file:"):
        return False
    if entry.form in _INCLUDES:
        return "://" in entry.target and requirements.included(entry.file, entry.target) is None
    return entry.form in _DIRECT and requirements.URL.match(entry.target) is not None


def _wrong(submission: Submission, entry: Entry) -> tuple[str, str, str] | None:
    """The expectation, what was seen, and the repair; None if the line can be installed."""
    text = entry.text
    if entry.problem:
        expected = msg("a requirement that pip can read, such as numpy==1.26.4")
        seen = msg("“{quoted}”: {problem}", quoted=text, problem=entry.problem)
        return expected, seen, msg("write name==version, or remove the line")
    if _needs_network(entry):
        return None
    if entry.form in _INCLUDES:
        return _wrong_include(submission, entry)
    return _wrong_path(submission, entry) if entry.form in _DIRECT else None


def _wrong_include(submission: Submission, entry: Entry) -> tuple[str, str, str] | None:
    path, expected = (
        requirements.included(entry.file, entry.target),
        msg("a file of the repository"),
    )
    if path is None:
        seen = msg(
            "“{quoted}” leads out of the repository: the service has only the repository",
            quoted=entry.text,
        )
        return expected, seen, msg("copy the needed lines into {name}", name=NAME)
    if submission.text(path) is None and not requirements.VARIABLE.search(entry.target):
        seen = msg(
            "“{quoted}”: the repository has no readable file {path}", quoted=entry.text, path=path
        )
        return expected, seen, msg("commit {path}, or remove the line", path=path)
    return None


def _wrong_path(submission: Submission, entry: Entry) -> tuple[str, str, str] | None:
    target = entry.target.partition("#")[0].partition("[")[0].strip()
    path, name = posixpath.normpath(target), entry.name or "name"
    if target.startswith(("file:", "/", "~")) or path == ".." or path.startswith("../"):
        seen = msg("“{quoted}” is a path on the author's machine", quoted=entry.text)
        expected = msg("a package index, or a file of the repository")
        return expected, seen, msg("write {name}==version instead", name=name)
    inside = "" if path == "." else f"{path}/"
    lacking = "pyproject.toml" if path == "." else path
    if path in submission.paths or any(f"{inside}{file}" in submission.paths for file in PROJECT):
        return None
    expected = msg("a file of the repository, or a folder with a pyproject.toml or setup.py")
    seen = msg("“{quoted}”: the repository has neither at {path}", quoted=entry.text, path=path)
    return expected, seen, msg("commit {path}, or write {name}==version", path=lacking, name=name)


def _circle(found: tuple[File, ...]) -> Iterator[Finding]:
    try:
        TopologicalSorter({file.path: requirements.includes(file) for file in found}).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        expected = msg("files that do not include themselves")
        fix = msg("remove the -r line from {circle}", circle=circle[-2])
        yield fail(expected=expected, seen=joined(" includes ", circle), fix=fix, where=circle[-2])


def _hashes(found: tuple[File, ...]) -> Iterator[Finding]:
    lines = [
        entry for file in found for entry in file.entries if entry.installs and not entry.problem
    ]
    required = any(entry.target == "--require-hashes" for file in found for entry in file.entries)
    if not required and not any(entry.hashes for entry in lines):
        return
    for entry in lines:
        pinned = entry.form is not Form.PACKAGE or "==" in str(entry.specifier)
        if not entry.hashes or not pinned:
            lacks = msg("no exact version") if entry.hashes else msg("none")
            expected = msg(
                "a hash and an exact version for every requirement, once one of them has a hash"
            )
            seen = msg("“{quoted}” has {value}", quoted=entry.text, value=lacks)
            fix = msg("pip-compile --generate-hashes, or remove the hashes")
            yield fail(expected=expected, seen=seen, fix=fix, where=entry.where)
            return


def _contradictions(submission: Submission) -> Iterator[Finding]:
    """Exact pins that another line excludes."""
    named: dict[str, list[Entry]] = {}
    for entry in entries(submission):
        if entry.requirement and entry.form is Form.PACKAGE and not entry.requirement.marker:
            named.setdefault(entry.name, []).append(entry)
    for name, lines in named.items():
        pins = ((entry, pin) for entry in lines for pin in entry.exact_versions)
        pairs = (
            (entry, other)
            for entry, pin in pins
            for other in lines
            if not in_range(pin, str(other.specifier))
        )
        pair = next(pairs, None)
        if pair:
            entry, other = pair
            seen = msg(
                "“{first}” ({where}) excludes “{second}”: pip installs neither",
                first=other.text,
                where=other.where,
                second=entry.text,
            )
            fix = msg("keep one of the two lines for {name}", name=name)
            yield fail(
                expected=msg("one version of {name}", name=name),
                seen=seen,
                fix=fix,
                where=entry.where,
            )
