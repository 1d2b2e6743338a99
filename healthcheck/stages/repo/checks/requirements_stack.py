"""repo/requirements-stack: requirements.txt fits the versions of the image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, NotApplicable, check, note, warn
from healthcheck.core.edits import in_words, replaced
from healthcheck.core.records import Edit, Finding, JsonValue
from healthcheck.stages.repo.conflicts import conflict
from healthcheck.stages.repo.facts import Submission
from healthcheck.stages.repo.installs import constrained, entries, source, without
from healthcheck.stages.repo.packages import IMAGE, is_standard, needs_cuda, provided_part
from healthcheck.stages.repo.requirements import Entry, Form
from healthcheck.text.messages import msg

MAX_FINDINGS = 20
_NAME_AND_RANGE = re.compile(r"(?P<name>[\w.-]+(?:\[[\w., -]*\])?)[ \t]*(?:[<>!~=][^;#]*)?")


@check(
    "repo/requirements-stack",
    msg("requirements.txt fits the versions of the image"),
    why=msg(
        "A package in another version than vLLM and vllm-ascend require can prevent them from starting."
    ),
    requires=("repo/requirements-parse",),
    by_row=True,
)
def requirements_stack(submission: Submission) -> Findings:
    """Compares each requirement with a row of the version matrix: the versions that vllm-ascend and vLLM require.

    The row is that of the newest final vllm-ascend, unless --stack or the file names another one. The versions of
    the service's image are not documented, so a conflict with the row warns, and the message names the rows that
    the line fits; if the service's profile says which release it has, that row judges, and a conflict fails. It
    fails, too, if the file itself requires a vllm-ascend or vllm that excludes another of its lines: no image can
    satisfy both.

    A package without a version warns, because pip installs the newest unless the image has one. One that needs CUDA
    warns too. The rows, with their sources, are in healthcheck/data/stacks.json.

    Example:
    ```text requirements.txt
    transformers==4.57.6
    ```

    Use instead:

    ```text requirements.txt
    transformers==5.5.4
    ```
    """
    if submission.requirements is None:
        raise NotApplicable(msg("there is no {requirements}", requirements=contract.REQUIREMENTS))
    lines = [entry for entry in entries(submission) if entry.name and not provided_part(entry.name)]
    row, declared = _row(lines, submission.stack)
    if not lines:
        yield note(msg("no package beyond the image is required"))
    for entry in [entry for entry in lines if entry.name not in IMAGE][:MAX_FINDINGS]:
        yield from conflict(entry, row, declared, without(submission, [entry]))
        if needs_cuda(entry.name):
            expected = msg("packages that work on an NPU")
            seen = msg("“{quoted}” needs CUDA: it fails to build or to load", quoted=entry.text)
            edits = without(submission, [entry])
            fix = in_words(edits) or msg("remove the line")
            yield warn(expected=expected, seen=seen, fix=fix, where=entry.where, edits=edits)
    loose = _unlimited(lines, constrained(submission))
    provided = [entry for entry in loose if stacks.statements(row, entry.name)]
    yield from _of_the_image(submission, row, provided)
    yield from _unpinned(submission, row, [entry for entry in loose if entry not in provided])


def _row(lines: list[Entry], stack: str) -> tuple[stacks.Row, Entry | None]:
    """The row that the requirements name, with the line that names it; else the chosen row and None."""
    for name in () if contract.RELEASE.is_own else ("vllm-ascend", "vllm"):
        for entry in lines:
            for pin in entry.exact_versions if entry.name == name else ():
                for row in sorted(stacks.rows(), key=lambda row: row.vllm_ascend != pin):
                    named = (row.vllm_ascend,) if name == "vllm-ascend" else row.vllm
                    if any(stacks.same_release(pin, version) for version in named):
                        return row, entry
    return stacks.row(stack), None


def _unlimited(lines: list[Entry], elsewhere: frozenset[str]) -> list[Entry]:
    """Packages without a version limit; `elsewhere` are those that a constraints file limits."""
    return [
        entry
        for entry in lines
        if entry.name not in {*IMAGE, *elsewhere} and not is_standard(entry.name)
        if entry.form is Form.PACKAGE and not entry.is_limited
    ]


def _of_the_image(
    submission: Submission, row: stacks.Row, provided: list[Entry]
) -> Iterator[Finding]:
    """Packages without a version limit that the image has in a version that fits it."""
    if provided:
        expected = msg("no line for a package that the image has in the version that fits it")
        seen = msg(
            "{lines}: pip may replace the image's version by the newest", lines=_listed(provided)
        )
        edits, known = without(submission, provided), stacks.installed(row)
        versions = ", ".join(
            f"{entry.name} {known.get(entry.name, '')}".strip() for entry in provided[:8]
        )
        words = in_words(edits) or msg(
            "remove {lines} from {file}", lines=_listed(provided), file=provided[0].file
        )
        fix = msg(
            "{edit}: the image of {label} has {versions}",
            edit=words,
            label=row.label(),
            versions=versions,
        )
        evidence: dict[str, JsonValue] = {"packages": [entry.name for entry in provided]}
        yield warn(
            expected=expected,
            seen=seen,
            fix=fix,
            where=provided[0].where,
            evidence=evidence,
            edits=edits,
        )


def _listed(found: list[Entry]) -> str:
    """The requirements, as written but without their markers."""
    names = ", ".join(entry.text.split(";")[0].strip() for entry in found[:8])
    return (
        msg("{names} and {count} more", names=names, count=len(found) - 8)
        if len(found) > 8
        else names
    )


def _unpinned(submission: Submission, row: stacks.Row, loose: list[Entry]) -> Iterator[Finding]:
    """Packages without a version limit that the image does not have."""
    if loose:
        expected = msg("a version for every package: name==version")
        seen = msg(
            "{names}: pip installs the newest version, unless the image has one",
            names=_listed(loose),
        )
        edits = tuple(_pins(submission, row, loose))
        pinned = {edit.line for edit in edits}
        others = [entry.name for entry in loose if entry.line not in pinned or not edits]
        fix = in_words(edits)
        if others:
            command = _freeze(others)
            asked = msg(
                "in the environment of your tests, run `{command}`, and write the lines that it prints in place of "
                "the ones without a version",
                command=command,
            )
            fix = msg("{first}; {second}", first=fix, second=asked) if fix else asked
        packages = (entry.name for entry in loose)
        yield warn(
            expected=expected,
            seen=seen,
            fix=fix,
            where=loose[0].where,
            evidence={"packages": [*packages]},
            edits=edits,
        )


def _pins(submission: Submission, row: stacks.Row, loose: list[Entry]) -> Iterator[Edit]:
    """Pin each package whose version in the image is known to that version."""
    known = stacks.installed(row)
    for entry in loose:
        text, version = source(submission, entry), known.get(entry.name, "")
        whole = _NAME_AND_RANGE.fullmatch(entry.text)
        if text is None or not version or whole is None or not entry.specifier.contains(version):
            continue
        lines = text.split("\n")
        at = lines[entry.line - 1].find(entry.text)
        if at >= 0:
            start = sum(len(line) + 1 for line in lines[: entry.line - 1]) + at
            new = f"{whole['name']}=={version}"
            yield replaced(entry.file, text, start, start + len(entry.text), new)


def _freeze(names: list[str]) -> str:
    """The command that prints the requirements of installed packages with their versions."""
    spelled = "|".join(name.replace("-", "[-_.]") for name in names[:MAX_FINDINGS])
    return f"pip freeze | grep -iE '^({spelled})(==| @ )'"
