"""plan/keeps-packages: the image's own packages are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan.commands import NAME_CHARACTERS, command_text
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand
from healthcheck.stages.plan.requested import installed_by, is_install
from healthcheck.stages.repo import packages, pip_words, requirements
from healthcheck.stages.repo.conflicts import conflict
from healthcheck.text.messages import msg

_PROVIDED = re.compile(
    r"^(torch|torch[-_]npu|vllm|vllm[-_]ascend|triton|triton[-_]ascend|torchvision|torchaudio)\b"
)
_UPGRADE = re.compile(r"--upgrade|-[a-z]*U[a-z]*")
_NEEDED = {"torch", "torch_npu", "vllm", "vllm_ascend"}


@check(
    "plan/keeps-packages",
    msg("The image's own packages are kept"),
    rule=contract.PROVIDED,
    why=msg(
        "The image's torch, torch-npu, vllm and vllm-ascend fit together; another version of one breaks them."
    ),
    requires=("repo/deploy-sh-present",),
)
def keeps_packages(plan: LaunchPlan) -> Findings:
    """deploy.sh neither removes nor replaces torch, torch-npu, vllm and vllm-ascend. A package that is removed and
    installed again is a warning, one that stays removed fails. A version that the release excludes is a warning, as
    in requirements.txt, and so is the newest version (pip install -U) of a package that the release limits.

    Example:
    ```sh
    pip uninstall -y torch
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    plain = {word for _, word, _ in packages.installed_by(plan.script)}
    for number, command in enumerate(plan.commands, 1):
        words = command.argv[1:]
        if "uninstall" in words[:4]:
            yield from _uninstalled(command, plan.commands[number:])
        for word in words if is_install(command) else ():
            if word not in plain and _PROVIDED.match(word.lower()):
                said = command_text(command.argv[:12])
                expected = msg(
                    "the image's own torch, torch-npu, vllm and vllm-ascend, which fit together"
                )
                seen = msg(
                    "{word} is installed: {command}", word=word[:NAME_CHARACTERS], command=said
                )
                fix = msg("leave {word} out", word=word)
                yield warn(
                    expected=expected,
                    seen=seen,
                    fix=fix,
                    where=command.where,
                    rule=contract.PROVIDED,
                )
        asked = requirements.read(
            contract.ENTRY_POINT, "\n".join(pip_words.operands(words)).encode()
        )
        newest, row = any(map(_UPGRADE.fullmatch, words)), stacks.row(plan.stack)
        for entry in (each for each in asked.entries if not packages.provided_part(each.name)):
            for finding in conflict(entry, row):
                yield replace(finding, where=command.where)
            if newest and not entry.is_limited:
                yield from _upgraded(entry.name, row, command)


def _upgraded(name: str, row: stacks.Row, command: RecordedCommand) -> Iterator[Finding]:
    for stated in stacks.statements(row, name)[:1]:
        expected = msg(
            "{name}{specifier}, which {by} requires",
            name=name,
            specifier=stated.specifier,
            by=stated.by,
        )
        seen, fix = (
            msg("{name}: -U installs the newest", name=name),
            msg("leave {word} out", word=name),
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=command.where)


def _as_module(package: str) -> str:
    return package.lower().replace("-", "_")


def _installed_by(command: RecordedCommand) -> frozenset[str]:
    """The packages that a command installs; `.` is a project that usually has the name of its folder."""
    here = [command.cwd] if is_install(command) and "." in command.argv else []
    return installed_by(command) | pip_words.packages(here)


def _uninstalled(command: RecordedCommand, later: Sequence[RecordedCommand]) -> Iterator[Finding]:
    for word in command.argv[1:]:
        if _as_module(word) not in _NEEDED:
            continue
        again = next((each for each in later if _as_module(word) in _installed_by(each)), None)
        say = warn if again else fail
        expected = msg("{word}, which the server needs and the image provides", word=word)
        seen = msg("it is removed: {command}", command=command_text(command.argv))
        if again:
            seen += msg("; and installed again: {command}", command=command_text(again.argv))
        yield say(
            expected=expected,
            seen=seen,
            fix=msg("leave {word} installed", word=word),
            where=command.where,
        )
