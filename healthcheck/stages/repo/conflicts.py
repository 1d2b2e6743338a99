"""Compares a requirement with what vllm-ascend and vLLM of a release require."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import fail, warn
from healthcheck.core.edits import in_words
from healthcheck.core.records import Edit, Finding, JsonValue
from healthcheck.stages.repo.requirements import Entry, Form
from healthcheck.stages.repo.specifiers import satisfiable
from healthcheck.text.messages import msg


def conflict(
    entry: Entry, row: stacks.Row, declared: Entry | None = None, edits: tuple[Edit, ...] = ()
) -> Iterator[Finding]:
    """The finding about a requirement that the release of a row excludes, none if they agree.

    `edits` remove its line, because the image provides every package that a release requires.
    `declared` is the line that names the release; a conflict with it fails, since no image can satisfy both.
    """
    if entry.form is not Form.PACKAGE or entry.requirement is None:
        return
    asked = str(entry.specifier)
    said = stacks.statements(row, entry.name)
    agreed = said if satisfiable([each.specifier for each in said]) else said[:1]
    against = next((each for each in agreed if not satisfiable([asked, each.specifier])), None)
    if against is None:
        return
    fitting = [each.vllm_ascend for each in stacks.rows() if _fits(entry.name, asked, each)]
    name = entry.name
    expected = msg(
        "{name}{specifier}, which {by} requires",
        name=name,
        specifier=against.specifier,
        by=against.by,
    )
    fix = msg("remove {name} from {file}: the image provides it", name=name, file=entry.file)
    if edits:
        fix = msg("{edit}: the image provides {name}", edit=in_words(edits), name=name)
    evidence: dict[str, JsonValue] = {
        "package": name,
        "asked": asked,
        "row": row.vllm_ascend,
        "fits": [*fitting],
    }
    other = (
        msg("; it fits {fitting}", fitting=", ".join(fitting[:4]))
        if fitting
        else msg("; it fits no row of the matrix")
    )
    say, seen, rule = warn, msg("“{quoted}”{other}", quoted=entry.text, other=other), None
    if stacks.is_of_the_service(row):
        say, rule = fail, contract.RELEASE
    if declared is not None and against.by.split()[0] == declared.name and name != "ray":
        seen = msg(
            "“{first}” beside “{second}” ({where}): no installation has both",
            first=entry.text,
            second=declared.text,
            where=declared.where,
        )
        say, rule = fail, contract.PROVIDED
    yield say(
        expected=expected,
        seen=seen,
        fix=fix,
        where=entry.where,
        rule=rule,
        evidence=evidence,
        edits=edits,
    )


def _fits(name: str, asked: str, row: stacks.Row) -> bool:
    said = [each.specifier for each in stacks.statements(row, name)]
    return bool(said) and satisfiable([asked, *said])
