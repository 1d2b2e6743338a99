"""How a case of the corpus is written: a repository of small files and what the plan stage is to say of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

UNKNOWN = {"plan/starts-server": "unsettled"}
"""The script ended without a server, and what the service has may be why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A repository, and what it is about.

    `expected` names the checks that fire ("fail", "warn" or "unsettled"); every other one passes or is skipped.
    `says` stands in what was seen or where, `fix` in a repair.
    """

    name: str
    files: Mapping[str, str]
    expected: Mapping[str, str]
    untracked: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    fix: str = ""


def sh(body: str) -> str:
    return "#!/bin/sh\n" + textwrap.dedent(body).strip() + "\n"


def bash(body: str) -> str:
    return "#!/bin/bash\n" + textwrap.dedent(body).strip() + "\n"


def case(
    name: str,
    deploy: str,
    expected: Mapping[str, str] | None = None,
    *,
    files: Mapping[str, str] | None = None,
    untracked: Mapping[str, str] | None = None,
    says: str = "",
    fix: str = "",
) -> Case:
    others = {path: textwrap.dedent(text).lstrip("\n") for path, text in (files or {}).items()}
    return Case(
        name=name,
        files={"deploy.sh": deploy, **others},
        expected=expected or {},
        untracked=untracked or {},
        says=says,
        fix=fix,
    )


def in_its_folder(right: Case) -> Case:
    """The case with a deploy.sh that first changes into its own folder, if other files are committed.

    Most right scripts of the corpus are about something else and name their files by relative paths.
    """
    deploy = right.files["deploy.sh"]
    if (
        len(right.files) == 1
        or "deploy.sh:" in right.says
        or "plan/working-directory" in right.expected
    ):
        return right
    first, newline, rest = deploy.partition("\n") if deploy.startswith("#!") else ("", "", deploy)
    return replace(
        right, files={**right.files, "deploy.sh": f'{first}{newline}cd "$(dirname "$0")"\n{rest}'}
    )
