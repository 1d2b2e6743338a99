"""Environment variables that prevent a server from starting on Ascend, whatever its command line says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck.check import warn
from healthcheck.plan.records import LaunchPlan, ServerCommand
from healthcheck.plan.script import deploy_sh
from healthcheck.plan.servers.served import line_of
from healthcheck.records import Finding
from healthcheck.repo import shell

_PATHS = {
    "LD_LIBRARY_PATH": "the libraries of CANN and of the driver are found through it",
    "PYTHONPATH": "CANN's Python modules (tbe) are found through it",
}
"""Source: CANN's set_env.sh, which puts its folders in front of both."""
_OF_CANN = re.compile(r"/Ascend/|\bcann\b|\bASCEND_", re.IGNORECASE)
_PLATFORM_PLUGIN = "ascend"
"""vllm-ascend's entry point in the group vllm.platform_plugins."""
_GRAPH_OPTIONS = re.compile(r"compilation-config|optimization-level|cc\b|O\b")
_NO_GRAPHS = re.compile(r"NONE|\b0\b")


def doubtful(plan: LaunchPlan) -> Iterator[Finding]:
    """Warnings for the server that the service would reach; each needs a real NPU to be settled."""
    if plan.server is None:
        return
    for name, use in _PATHS.items():
        yield from _replaced(plan, plan.server, name, use)
    if plan.server.engine == "vllm":
        yield from _without_platform(plan, plan.server)
        yield from _blocking(plan, plan.server)


def _replaced(plan: LaunchPlan, server: ServerCommand, name: str, use: str) -> Iterator[Finding]:
    value = server.env.get(name, "")
    line = _replacing_line(plan.script, name) if value and not _OF_CANN.search(value) else 0
    if line:
        yield warn(
            expected=f"{name} that keeps its previous value: {use}",
            seen=f"“{deploy_sh.line_at(plan.script, line)[:200]}” replaces what {name} was",
            fix=f'append the previous value: {name}="…${{{name}:+:${name}}}"',
            where=deploy_sh.place(line),
        )


def _replacing_line(text: str, name: str) -> int:
    """The last line that sets it; 0 if the script reads the previous value, or sources a file afterwards."""
    script = shell.read(text)
    if any(node.name == name for node in script.of("simple_expansion", "expansion")):
        return 0
    found = 0
    for node in script.of("variable_assignment", "command"):
        if node.kind == "variable_assignment" and node.name == name:
            found = 0 if _OF_CANN.search(node.text) else script.line(node.start)
        elif node.name in {".", "source"} or "set_env.sh" in node.text:
            found = 0
    return found


def _without_platform(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Source: load_plugins_by_group of vllm/plugins, for which an empty value names no plugin."""
    value = server.env.get("VLLM_PLUGINS")
    if value is not None and _PLATFORM_PLUGIN not in value.split(","):
        yield warn(
            expected=f"{_PLATFORM_PLUGIN} among the plugins that vLLM loads: it is vllm-ascend's NPU platform",
            seen=f"VLLM_PLUGINS={value[:200]}, so vLLM does not load it and finds no NPU",
            fix=f"do not set VLLM_PLUGINS, or add {_PLATFORM_PLUGIN} to it: VLLM_PLUGINS={_PLATFORM_PLUGIN},…",
            where=line_of(plan, "VLLM_PLUGINS=", "VLLM_PLUGINS"),
        )


def _blocking(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Source: check_and_update_config of vllm_ascend/platform.py, from 0.13.0 on."""
    graphs_off = any(
        _GRAPH_OPTIONS.match(name) and _NO_GRAPHS.search(f"{name} {value}")
        for name, value in server.options.items()
    )
    eager = server.option("enforce-eager") is not None or graphs_off or bool(server.unread_config)
    if server.env.get("ASCEND_LAUNCH_BLOCKING") == "1" and not eager:
        yield warn(
            expected="ACL graphs (the default) or ASCEND_LAUNCH_BLOCKING=1, not both",
            seen="ASCEND_LAUNCH_BLOCKING=1: vllm-ascend ends with “ACL graph is incompatible with "
            "ASCEND_LAUNCH_BLOCKING=1”",
            fix="do not set ASCEND_LAUNCH_BLOCKING; it is for debugging and slows every request",
            where=line_of(plan, "ASCEND_LAUNCH_BLOCKING=", "ASCEND_LAUNCH_BLOCKING"),
        )
