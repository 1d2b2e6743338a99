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
from healthcheck.stages.repo.installs import constrained, entries, source, without
from healthcheck.stages.repo.packages import IMAGE, is_standard, needs_cuda, provided_part
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.repo.requirements import Entry, Form
from healthcheck.text.messages import msg

MAX_FINDINGS = 20
MAX_QUOTED = 8
"""Requirements that a message quotes; it counts the others."""
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
    required = [
        entry for entry in entries(submission) if entry.name and not provided_part(entry.name)
    ]
    row, row_line = _row_to_compare(required, submission.stack)
    if not required:
        yield note(msg("no package beyond the image is required"))
    beyond_the_image = [entry for entry in required if entry.name not in IMAGE]
    for entry in beyond_the_image[:MAX_FINDINGS]:
        yield from conflict(entry, row, row_line, without(submission, [entry]))
        if needs_cuda(entry.name):
            yield _needs_cuda(submission, entry)
    unlimited = _without_limit(required, constrained(submission))
    in_image = [entry for entry in unlimited if stacks.statements(row, entry.name)]
    if in_image:
        yield _may_replace_the_image_version(submission, row, in_image)
    others = [entry for entry in unlimited if entry not in in_image]
    if others:
        yield _has_no_version(submission, row, others)


def _row_to_compare(required: list[Entry], stack: str) -> tuple[stacks.Row, Entry | None]:
    """The row of the release that the requirements pin, with that line; else the row of --stack, and None."""
    if not contract.RELEASE.is_own:
        for entry, version in _pinned_releases(required):
            row = _row_with(entry.name, version)
            if row is not None:
                return row, entry
    return stacks.row(stack), None


def _pinned_releases(required: list[Entry]) -> Iterator[tuple[Entry, str]]:
    """The lines that pin vllm-ascend, then those that pin vllm, each with its versions."""
    for package in ("vllm-ascend", "vllm"):
        for entry in required:
            if entry.name == package:
                for version in entry.exact_versions:
                    yield entry, version


def _row_with(package: str, version: str) -> stacks.Row | None:
    """The newest row with a version of vllm-ascend or vllm; first of all the row that has this very number."""
    for row in sorted(stacks.rows(), key=lambda row: row.vllm_ascend != version):
        versions = (row.vllm_ascend,) if package == "vllm-ascend" else row.vllm
        if any(stacks.same_release(version, each) for each in versions):
            return row
    return None


def _needs_cuda(submission: Submission, entry: Entry) -> Finding:
    edits = without(submission, [entry])
    return warn(
        expected=msg("packages that work on an NPU"),
        seen=msg("“{quoted}” needs CUDA: it fails to build or to load", quoted=entry.text),
        fix=in_words(edits) or msg("remove the line"),
        where=entry.where,
        edits=edits,
    )


def _without_limit(required: list[Entry], constrained_names: frozenset[str]) -> list[Entry]:
    """Packages that neither their line nor a constraints file limits to a version."""
    return [
        entry
        for entry in required
        if entry.form is Form.PACKAGE
        and not entry.is_limited
        and entry.name not in constrained_names
        and entry.name not in IMAGE
        and not is_standard(entry.name)
    ]


def _may_replace_the_image_version(
    submission: Submission, row: stacks.Row, entries_in_image: list[Entry]
) -> Finding:
    """The warning about packages without a limit that the image has in a version that fits it."""
    first, versions = entries_in_image[0], stacks.installed(row)
    in_image = ", ".join(
        f"{entry.name} {versions.get(entry.name, '')}".strip()
        for entry in entries_in_image[:MAX_QUOTED]
    )
    edits, lines = without(submission, entries_in_image), _quoted(entries_in_image)
    removal = in_words(edits) or msg("remove {lines} from {file}", lines=lines, file=first.file)
    return warn(
        expected=msg("no line for a package that the image has in the version that fits it"),
        seen=msg("{lines}: pip may replace the image's version by the newest", lines=lines),
        fix=msg(
            "{edit}: the image of {label} has {versions}",
            edit=removal,
            label=row.label(),
            versions=in_image,
        ),
        where=first.where,
        evidence=_packages(entries_in_image),
        edits=edits,
    )


def _has_no_version(submission: Submission, row: stacks.Row, unpinned: list[Entry]) -> Finding:
    """The warning about packages without a limit that the image does not have."""
    edits = tuple(_pinning_edits(submission, row, unpinned))
    pinned_lines = {edit.line for edit in edits}
    rest = [entry for entry in unpinned if entry.line not in pinned_lines]
    fix = in_words(edits)
    if rest:
        by_hand = msg(
            "in the environment of your tests, run `{command}`, and write the lines that it prints in place of "
            "the ones without a version",
            command=_freeze_command([entry.name for entry in rest]),
        )
        fix = msg("{first}; {second}", first=fix, second=by_hand) if fix else by_hand
    return warn(
        expected=msg("a version for every package: name==version"),
        seen=msg(
            "{names}: pip installs the newest version, unless the image has one",
            names=_quoted(unpinned),
        ),
        fix=fix,
        where=unpinned[0].where,
        evidence=_packages(unpinned),
        edits=edits,
    )


def _quoted(found: list[Entry]) -> str:
    """The requirements, as written but without their markers."""
    names = ", ".join(entry.text.split(";")[0].strip() for entry in found[:MAX_QUOTED])
    if len(found) <= MAX_QUOTED:
        return names
    return msg("{names} and {count} more", names=names, count=len(found) - MAX_QUOTED)


def _packages(found: list[Entry]) -> dict[str, JsonValue]:
    return {"packages": [entry.name for entry in found]}


def _pinning_edits(
    submission: Submission, row: stacks.Row, unpinned: list[Entry]
) -> Iterator[Edit]:
    """Pin each package whose version in the image is known to that version."""
    versions = stacks.installed(row)
    for entry in unpinned:
        text, version = source(submission, entry), versions.get(entry.name, "")
        requirement = _NAME_AND_RANGE.fullmatch(entry.text)
        is_known = version and entry.specifier.contains(version)
        if text is None or requirement is None or not is_known:
            continue
        lines = text.split("\n")
        column = lines[entry.line - 1].find(entry.text)
        if column >= 0:
            start = sum(len(line) + 1 for line in lines[: entry.line - 1]) + column
            pinned = f"{requirement['name']}=={version}"
            yield replaced(entry.file, text, start, start + len(entry.text), pinned)


def _freeze_command(names: list[str]) -> str:
    """The command that prints the requirements of installed packages with their versions."""
    spelled = "|".join(name.replace("-", "[-_.]") for name in names[:MAX_FINDINGS])
    return f"pip freeze | grep -iE '^({spelled})(==| @ )'"
