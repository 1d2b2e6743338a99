"""plan/ascend-environment: the environment lets a server start on Ascend."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit, Finding, JsonValue
from healthcheck.stages.plan.records import LaunchPlan, Mark, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.sourced import without_variable
from healthcheck.stages.plan.servers.served import line_of
from healthcheck.stages.repo import shell
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

_OWN = "VLLM_ASCEND_"
_MOVED = {
    "VLLM_ASCEND_BALANCE_SCHEDULING": '{"scheduler_config": {"enable_balance_scheduling": …}}',
    "VLLM_ASCEND_ENABLE_MLAPO": '{"enable_mlapo": …}',
    "VLLM_ASCEND_ENABLE_NZ": '{"weight_nz_mode": …}',
    "VLLM_ASCEND_ENABLE_FUSED_MC2": '{"enable_fused_mc2": …}',
    "VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK": '{"enable_transpose_kv_cache_by_block": …}',
}
"""Keys of --additional-config that replaced variables. Source: additional_config.md of 0.30.0rc2."""
_SCRIPTS = {
    Mark.ATB_UNDER_U: (
        msg("sourced under set -u, though ATB's script reads unset variables"),
        msg("set +u around it"),
    ),
    Mark.CANN_WITHOUT_BASH: (
        msg("sourced by a shell that is not bash, though it is written for bash"),
        msg("use #!/bin/bash"),
    ),
}
_PATHS = {
    "LD_LIBRARY_PATH": msg("the libraries of CANN and of the driver are found through it"),
    "PYTHONPATH": msg("CANN's Python modules (tbe) are found through it"),
}
"""Source: CANN's set_env.sh, which prepends its folders to both."""
_PLAIN_VALUE = re.compile(r"(?:[\w./:@+-]|\$\w+|\$\{\w+\})+")
"""A value that means the same between double quotes."""
_CONTINUES = re.compile(r"(?:\\|&&|\|)\s*$")
_STATEMENT = re.compile(
    r"(?:(?:\[+ [^;#]* \]+|test [^;#]*) && )?(?:source|\.) [^\s;#&|]+(?: >/dev/null(?: 2>&1)?)?(?: \|\| true)?"
)
"""A line that sources a file, perhaps only if it is there."""
_OF_CANN = re.compile(r"/Ascend/|\bcann\b|\bASCEND_", re.IGNORECASE)
_GPU_DEVICES, _NPU_DEVICES = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"
_VERSION = "VLLM_VERSION"
_ALLOCATOR = "PYTORCH_NPU_ALLOC_CONF"
_WITHOUT_SEGMENTS = {"max_split_size_mb", "garbage_collection_threshold"}
"""Settings of the allocator that cannot be combined with expandable segments."""
_PLATFORM_PLUGIN = "ascend"
"""vllm-ascend's entry point in the group vllm.platform_plugins."""


@check(
    "plan/ascend-environment",
    msg("The environment lets a server start on Ascend"),
    why=msg("Some variables keep vLLM from the NPU, and CANN's scripts run under bash only."),
    requires=("repo/deploy-sh-present",),
)
def ascend_environment(plan: LaunchPlan) -> Findings:
    """An empty VLLM_PLUGINS fails: vLLM then loads no plugin, and finds no NPU. Warnings, each to be settled on an
    NPU machine:

    - VLLM_PLUGINS without `ascend`: vLLM does not load vllm-ascend, and finds an NPU only by another plugin.
    - CUDA_VISIBLE_DEVICES: it chooses no NPUs. vllm-ascend reads ASCEND_RT_VISIBLE_DEVICES.
    - LD_LIBRARY_PATH or PYTHONPATH replaced: CANN's directories are lost.
    - A VLLM_ASCEND_ variable that the chosen release (--stack) does not read. Since 0.27.1rc1 most of them are keys
      of --additional-config.
    - VLLM_VERSION with another release than that of vLLM: vllm-ascend then takes the code for that one.
    - PYTORCH_NPU_ALLOC_CONF with expandable_segments:True beside max_split_size_mb or
      garbage_collection_threshold: torch_npu refuses them together.
    - set_env.sh sourced under `set -u`, or by a shell that is not bash.

    Example:
    ```sh
    export LD_LIBRARY_PATH=/opt/lib
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    export LD_LIBRARY_PATH="/opt/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    exec vllm serve "$MODEL_PATH"
    ```
    """
    for mark, (seen, fix) in _SCRIPTS.items():
        if mark in plan.observed.marks:
            where, edits = _sourcing(plan, mark)
            yield warn(
                expected=msg("CANN's environment script runs"),
                seen=msg("set_env.sh is {seen}", seen=seen),
                fix="" if edits else fix,
                where=where,
                edits=edits,
            )
    server = plan.server
    if server is None:
        return
    for name, use in _PATHS.items():
        yield from _replaced(plan, server, name, use)
    if server.engine.loading.by_vllm_ascend:
        yield from _without_platform(plan, server)
        yield from _devices_of_a_gpu(plan, server)
        yield from _unread(plan, server)
        yield from _other_version(plan, server)
        yield from _allocator(plan, server)


def _sourcing(plan: LaunchPlan, mark: Mark) -> tuple[str, tuple[Edit, ...]]:
    """The line that sources the script of a mark, and the edits around it; ("", ()) if it is unknown."""
    texts = [
        (contract.ENTRY_POINT, plan.script),
        *((each.path, each.text) for each in plan.sourced),
    ]
    found = [
        (file, text, command)
        for file, text in texts
        for command in shell.read(text).runs("source", ".")
        if len(command.words) > 1 and "set_env.sh" in command.words[1].text
    ]
    if mark is Mark.ATB_UNDER_U:
        found = [each for each in found if "atb" in each[2].words[1].text.lower()] or found
    if not found:
        return deploy_sh.place_of(plan.script, ["set_env.sh"]), ()
    file, text, command = found[0]
    line = shell.read(text).line(command.start)
    edits = _without_nounset(file, text, line) if mark is Mark.ATB_UNDER_U else ()
    return f"{file}:{line}", edits


def _without_nounset(file: str, text: str, line: int) -> tuple[Edit, ...]:
    """Switch `set -u` off around the statement in a line; () if the line is not a statement of its own."""
    lines = text.split("\n")
    whole, before = lines[line - 1].strip(), lines[line - 2] if line > 1 else ""
    if _CONTINUES.search(before) or not _STATEMENT.fullmatch(whole) or "\r" in text:
        return ()
    start = sum(len(each) + 1 for each in lines[: line - 1]) + lines[line - 1].index(whole)
    new = f"set +u; {whole}; set -u"
    return (replaced(file, text, start, start + len(whole), new),)


def _allocator(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Settings of torch_npu's allocator that exclude each other.

    Source: a note in vllm_ascend/platform.py (pull request 5855), which leaves expandable segments
    out where one of the others is set.
    """
    value = server.env.get(_ALLOCATOR, "")[:400]
    settings = [part.strip() for part in value.split(",") if part.strip()]
    names = {part.partition(":")[0].strip() for part in settings}
    excluded = sorted(names & _WITHOUT_SEGMENTS)
    if "expandable_segments:true" not in value.replace(" ", "").lower() or not excluded:
        return
    kept = ",".join(part for part in settings if part.partition(":")[0].strip() not in excluded)
    yield warn(
        expected=msg("no {names} beside expandable_segments:True", names=" or ".join(excluded)),
        seen=msg(
            "{name}={value}: torch_npu refuses them together, and the server does not start",
            name=_ALLOCATOR,
            value=value,
        ),
        fix=msg("write {assignment}", assignment=f"export {_ALLOCATOR}={kept}"),
        where=line_of(plan, f"{_ALLOCATOR}=", _ALLOCATOR),
    )


def _other_version(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Source: vllm_version_is of vllm_ascend/utils.py, which prefers the variable to the installed version."""
    row, value = stacks.row(plan.stack or stacks.DEFAULT), server.env.get(_VERSION, "")[:200]
    if (
        value
        and _VERSION in row.variables
        and not any(stacks.same_release(value, known) for known in row.vllm)
    ):
        expected = msg(
            "no {name}, or that of {label}: {vllm}",
            name=_VERSION,
            label=row.label(),
            vllm=", ".join(row.vllm),
        )
        seen = msg(
            "{name}={value}: vllm-ascend then runs its code for another vLLM than the installed one",
            name=_VERSION,
            value=value,
        )
        where = line_of(plan, f"{_VERSION}=", _VERSION)
        edits = without_variable(plan, _VERSION)
        fix = "" if edits else msg("remove it")
        evidence: dict[str, JsonValue] = {"row": row.vllm_ascend}
        yield warn(
            expected=expected, seen=seen, fix=fix, where=where, evidence=evidence, edits=edits
        )


def _replaced(plan: LaunchPlan, server: ServerCommand, name: str, use: str) -> Iterator[Finding]:
    value = server.env.get(name, "")
    line = _replacing_line(plan.script, name) if value and not _OF_CANN.search(value) else 0
    if line:
        expected = msg("{name} that keeps its previous value: {use}", name=name, use=use)
        seen = msg(
            "“{line_at}” replaces what {name} was",
            line_at=deploy_sh.line_at(plan.script, line)[:200],
            name=name,
        )
        yield warn(
            expected=expected,
            seen=seen,
            fix="",
            where=deploy_sh.place(line),
            edits=_extended(plan.script, name, line),
        )


def _extended(text: str, name: str, line: int) -> tuple[Edit, ...]:
    """Append the previous value of a variable to the one that a line gives it."""
    script, previous = shell.read(text), f"${{{name}:+:${name}}}"
    given = [
        node
        for node in script.of("variable_assignment")
        if node.name == name and script.line(node.start) == line
    ]
    if not given:
        return ()
    written = given[-1].text
    value = given[-1].part("value")
    new = f'{written}"{previous}"'
    if value is not None and value.kind == "string":
        new = f'{written[:-1]}{previous}"'
    elif value is not None and _PLAIN_VALUE.fullmatch(value.text):
        new = f'{name}="{value.text}{previous}"'
    return (replaced(contract.ENTRY_POINT, text, given[-1].start, given[-1].end, new),)


def _replacing_line(text: str, name: str) -> int:
    """The last line that sets the variable; 0 if the script reads the previous value, or sources a file later."""
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
    """Source: load_plugins_by_group of vllm/plugins, which loads no plugin if the value is empty."""
    value, own = server.env.get("VLLM_PLUGINS"), _PLATFORM_PLUGIN
    if value is not None and own not in value.split(","):
        expected = msg(
            "{platform_plugin} among the plugins that vLLM loads: it is vllm-ascend's NPU platform",
            platform_plugin=own,
        )
        seen = msg(
            "VLLM_PLUGINS={value}, so vLLM does not load it and finds no NPU without another plugin",
            value=value[:200],
        )
        fix = msg(
            "do not set VLLM_PLUGINS, or add {platform_plugin} to it: VLLM_PLUGINS={platform_plugin},…",
            platform_plugin=own,
        )
        edits = without_variable(plan, "VLLM_PLUGINS")
        say, where = warn if value else fail, line_of(plan, "VLLM_PLUGINS=", "VLLM_PLUGINS")
        yield say(expected=expected, seen=seen, fix="" if edits else fix, where=where, edits=edits)


def _devices_of_a_gpu(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Source: device_control_env_var of vllm_ascend/platform.py."""
    value = server.env.get(_GPU_DEVICES, "")[:200]
    if value and _NPU_DEVICES not in server.env:
        expected = msg("{npu_devices}, where devices are chosen", npu_devices=_NPU_DEVICES)
        seen = msg(
            "{gpu_devices}={value}, which chooses no NPUs: the server sees all of them",
            gpu_devices=_GPU_DEVICES,
            value=value,
        )
        fix = msg(
            "remove the line; where it has to be, it is {npu_devices}={value}",
            npu_devices=_NPU_DEVICES,
            value=value,
        )
        edits, where = (
            without_variable(plan, _GPU_DEVICES),
            line_of(plan, f"{_GPU_DEVICES}=", _GPU_DEVICES),
        )
        yield warn(expected=expected, seen=seen, fix="" if edits else fix, where=where, edits=edits)


def _unread(plan: LaunchPlan, server: ServerCommand) -> Iterator[Finding]:
    """Variables of vllm-ascend that the chosen release ignores."""
    row, known = stacks.row(plan.stack or stacks.DEFAULT), stacks.rows()
    for name in sorted(
        name for name in server.env if name.startswith(_OWN) and name not in row.variables
    ):
        readers = [each.vllm_ascend for each in known if name in each.variables]
        said = stacks.spans(readers, [each.vllm_ascend for each in known])
        others = (
            msg("; vllm-ascend {said} does", said=said) if readers else hint(name, row.variables)
        )
        moved = _MOVED.get(name, "")
        expected = msg("variables that {label} reads", label=row.label())
        seen = msg(
            "{name}={env}, which it does not read{others}",
            name=name,
            env=server.env[name][:200],
            others=others,
        )
        fix = (
            msg("write --additional-config '{moved}' instead", moved=moved)
            if moved
            else msg("remove it")
        )
        where, unknown = line_of(plan, f"{name}=", name), not (moved or readers or others)
        edits = without_variable(plan, name) if unknown else ()
        yield warn(
            expected=expected,
            seen=seen,
            fix="" if edits else fix,
            where=where,
            evidence={"row": row.vllm_ascend},
            edits=edits,
        )
