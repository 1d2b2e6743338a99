"""Repairs in the words of a repository that takes its options from adapter.toml."""

from __future__ import annotations

import re
from dataclasses import replace

from healthcheck.plan.checks.one_machine import SETTINGS
from healthcheck.plan.records import LaunchPlan
from healthcheck.records import Finding

_GIVES = re.compile(r"(?:use|pass|add to the command:) --(?P<option>[a-z-]+) (?P<value>\w+(?: or \d+)*)")
_PLANNED = re.compile(r"\badapter\b")
_LEAVES = re.compile(r"leave --(?P<option>[a-z-]+) out\b")


def in_settings(finding: Finding, plan: LaunchPlan | None) -> Finding:
    """The finding; its repair names the key of adapter.toml if that file, not deploy.sh, has the option."""
    if plan is None or not plan.settings.strip() or (plan.script and not _PLANNED.search(plan.script)):
        return finding

    def give(match: re.Match[str]) -> str:
        key, value = match["option"].replace("-", "_"), match["value"]
        written = value if value[0].isdigit() else f'"{value}"'
        return match[0] if _is_spelled_out(plan, match) else f"write {key} = {written} in {_place(plan, key)}"

    def leave(match: re.Match[str]) -> str:
        key = match["option"].replace("-", "_")
        return match[0] if _is_spelled_out(plan, match) else f"leave {key} out of {_place(plan, key)}"

    return replace(finding, fix=_LEAVES.sub(leave, _GIVES.sub(give, finding.fix)))


def _is_spelled_out(plan: LaunchPlan, match: re.Match[str]) -> bool:
    option = match["option"]
    return f"--{option}" in plan.script or f"--{option.replace('-', '_')}" in plan.script


def _place(plan: LaunchPlan, key: str) -> str:
    """The line that sets the key, else the one that has it commented out."""
    lines = plan.settings.splitlines()
    for pattern in (rf"\s*{key}\s*=", rf"\s*#\s*{key}\s*="):
        found = next((at for at, line in enumerate(lines, 1) if re.match(pattern, line)), 0)
        if found:
            return f"{SETTINGS}:{found}"
    return SETTINGS
