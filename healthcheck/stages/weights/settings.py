"""Rewrites repairs for a repository that takes its options from adapter.toml."""

from __future__ import annotations

import re
from dataclasses import replace

from healthcheck.core.records import Finding
from healthcheck.stages.plan.records import SETTINGS, LaunchPlan
from healthcheck.text.messages import joined, msg

_GIVES = re.compile(
    r"(?:use|pass|add to the command:) --(?P<option>[a-z-]+) (?P<value>\w+(?: or \d+)*)"
)
_PLANNED = re.compile(r"\badapter\b")
_LEAVES = re.compile(r"leave --(?P<option>[a-z-]+) out\b")


def in_settings(finding: Finding, plan: LaunchPlan | None) -> Finding:
    """Let the repair name the key of adapter.toml if that file, not deploy.sh, has the option."""
    if (
        plan is None
        or not plan.settings.strip()
        or (plan.script and not _PLANNED.search(plan.script))
    ):
        return finding

    given, left = _GIVES.search(finding.fix), _LEAVES.search(finding.fix)
    match = given or left
    if match is None or _is_spelled_out(plan, match):
        return finding
    key = match["option"].replace("-", "_")
    said = msg("leave {key} out of {file}", key=key, file=_place(plan, key))
    if given:
        value = given["value"] if given["value"][0].isdigit() else f'"{given["value"]}"'
        said = msg(
            "write {key} = {value} in {file}",
            key=key,
            value=joined(" or ", value.split(" or ")),
            file=_place(plan, key),
        )
    whole = match[0] == finding.fix
    return replace(
        finding, fix=said if whole else msg("{fix} ({said})", fix=finding.fix, said=said)
    )


def _is_spelled_out(plan: LaunchPlan, match: re.Match[str]) -> bool:
    option = match["option"]
    return f"--{option}" in plan.script or f"--{option.replace('-', '_')}" in plan.script


def _place(plan: LaunchPlan, key: str) -> str:
    """The line that sets the key, else the line where the key is commented out."""
    return (
        plan.settings_line(rf"\s*{key}\s*=") or plan.settings_line(rf"\s*#\s*{key}\s*=") or SETTINGS
    )
