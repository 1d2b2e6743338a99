"""plan/engine-variables: vLLM can read the value of every environment variable."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from healthcheck.ascend import stacks
from healthcheck.ascend.variables import NUMBERS, TextKind, Variable
from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan.checks.device_memory import DEVICES, over_committed
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script.unexported import names, unexported
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.servers.served import STARTED, line_of, served
from healthcheck.stages.plan.vllm_cli.catalogue import (
    around,
    retired_variables,
    variables,
    versions,
)
from healthcheck.text.messages import msg

_OWN, _OF_ASCEND = "VLLM_", "VLLM_ASCEND_"
_OF_HCCL = "HCCL_"
_OF_THE_LAUNCH = frozenset((
    DEVICES, "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTORCH_NPU_ALLOC_CONF", "TASK_QUEUE_ENABLE", "OMP_NUM_THREADS",
    "CPU_AFFINITY_CONF", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "ACL_OP_INIT_MODE", "ATB_LLM_HCCL_ENABLE",
))  # fmt: skip
"""Variables of other programs that launch scripts set for a server."""
_LEVEL = "VLLM_LOGGING_LEVEL"
_NAMES = ("INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTSET")
_LEVELS = Variable(choices=_NAMES, any_case=True)
"""Python's levels: logging.config.dictConfig raises ValueError for others.

Source: vllm/logger.py.
"""
_STRICT = "fail-on-environ-validation"
"""The option that makes unknown variables an error. Source: validate_environ."""
_NEAR = 0.85
_SWITCHES = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}
_NUMBER = re.compile(r"([+-]?\d{1,18}(?:\.\d{1,18})?)\s*(?:s|secs?|seconds?)?", re.IGNORECASE)
"""A number with a unit that can be omitted: vLLM's times are in seconds."""
MAX_SHOWN = 120


@check(
    "plan/engine-variables",
    msg("vLLM can read every environment variable"),
    why=msg(
        "vLLM reads all of its variables while it starts, and exits if it cannot read a value."
    ),
    requires=STARTED,
    by_row=True,
)
def engine_variables(plan: LaunchPlan) -> Findings:
    """Each variable of vLLM has a type, and some have a closed set of values. When the engine
    starts, vLLM reads all of them at once, even those that this launch does not use. The catalogues
    have the answers of the releases themselves, from 0.18.0 to 0.33.0. Some variables have common
    names, such as VERBOSE and LOCAL_RANK.

    A value that the release cannot read fails. Without --stack, it is a warning if a release of
    another row starts with it. A release without a catalogue is judged by those before and after
    it; an older one only warns. Warnings:

    - a variable of the launch (VLLM_…, HCCL_…, ASCEND_RT_VISIBLE_DEVICES and others) that deploy.sh assigns
      without exporting it. The server does not get it.
    - a value that vllm-ascend cannot read: it reads its variables only when it needs them.
    - a VLLM_ variable that no release knows, with a name close to a known one. vLLM only logs
      “Unknown vLLM environment variable detected”. With --fail-on-environ-validation, vLLM ends
      for every unknown one, and the check fails.

    A variable of another release does not warn: the report mentions which releases read it.

    Example:
    ```sh
    export VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    export VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5
    exec vllm serve "$MODEL_PATH"
    ```
    """
    row = stacks.row(plan.stack or stacks.DEFAULT)
    chosen = around(row.vllm[0])[0]
    lost = list(_unexported(plan, row, chosen))
    yield from lost
    server = plan.server
    if server is None or not server.engine.is_catalogued:
        if lost:
            return
        raise NotApplicable(msg("the server is not vLLM"))
    given = {name: value for name, value in sorted(server.env.items()) if UNRESOLVED not in value}
    for name, value in given.items():
        variable, of_ascend = _variable(chosen, name), row.accepts.get(name)
        if variable is not None:
            if not variable.accepts(value):
                yield _refused(plan, name, variable, chosen)
        elif of_ascend is not None:
            if not of_ascend.accepts(value):
                yield _refused_by_ascend(plan, name, row)
        elif name.startswith(_OWN) and not _is_of_ascend(name, row):
            yield _unknown(plan, server, name, chosen)


def _unexported(plan: LaunchPlan, row: stacks.Row, chosen: str) -> Iterator[Finding]:
    """Variables of the launch that the script assigns, and vLLM does not get."""
    servers = [server for server in plan.servers if server.engine.is_catalogued]
    crowded = over_committed(plan) is not None  # plan/device-memory reports it
    for name in names(plan):
        known = name in _OF_THE_LAUNCH or name in row.variables or name in variables(chosen)
        if not (known or name.startswith(_OF_HCCL)) or (name == DEVICES and crowded):
            continue
        if found := unexported(plan, servers, name):
            yield warn(
                expected=msg("variables of the server that are exported"),
                seen=found.seen,
                fix="",
                where=found.where,
                edits=found.edits,
            )


def _is_of_ascend(name: str, row: stacks.Row) -> bool:
    """Whether plan/ascend-environment judges an unknown name, or vllm-ascend knows it."""
    return name.startswith(_OF_ASCEND) or name in row.variables


def _variable(release: str, name: str) -> Variable | None:
    return _LEVELS if name == _LEVEL else variables(release).get(name)


def _refused(plan: LaunchPlan, name: str, variable: Variable, chosen: str) -> Finding:
    value = served(plan).env[name]
    doubt = _doubt(plan, name, value)
    seen = msg(
        "{variable}={value}: vLLM {release} reads it while it starts, and ends with ValueError",
        variable=name,
        value=value[:MAX_SHOWN],
        release=chosen,
    )
    say = warn if doubt else fail
    return say(
        expected=_expected(name, variable),
        seen=seen + doubt,
        fix=_repair(name, value, variable),
        where=line_of(plan, f"{name}=", name),
        evidence={"vllm": chosen},
    )


def _doubt(plan: LaunchPlan, name: str, value: str) -> str:
    """Why the service's release may start with a value that the judging release refuses."""
    if plan.stack in {"", stacks.DEFAULT}:
        possible = {version for each in stacks.rows() for version in each.vllm}
        known = (each for each in versions() if each in possible)
        takers = [each for each in known if _reads(each, name, value)]
        unknown = msg("which release the service has is not documented")
        named = stacks.spans(takers, versions())
        return (
            msg("; vLLM {releases} does not, and {doubt}", releases=named, doubt=unknown)
            if takers
            else ""
        )
    vllm = stacks.row(plan.stack).vllm[0]
    beside = around(vllm)
    between = len(beside) > 1 and not any(_reads(each, name, value) for each in beside)
    if vllm in beside or between:
        return ""
    return msg("; vLLM {release} itself is not catalogued", release=vllm)


def _reads(release: str, name: str, value: str) -> bool:
    """Whether a release starts with the value: it accepts it, or does not know the variable."""
    variable = _variable(release, name)
    return variable is None or variable.accepts(value)


def _refused_by_ascend(plan: LaunchPlan, name: str, row: stacks.Row) -> Finding:
    variable, value = row.accepts[name], served(plan).env[name]
    seen = msg(
        "{variable}={value}: {release} ends with ValueError when it reads it",
        variable=name,
        value=value[:MAX_SHOWN],
        release=row.label(),
    )
    fix, where = _repair(name, value, variable), line_of(plan, f"{name}=", name)
    return warn(expected=_expected(name, variable), seen=seen, fix=fix, where=where)


def _expected(name: str, variable: Variable) -> str:
    if variable.choices:
        return msg(
            "{variable} as one of {choices}", variable=name, choices=", ".join(variable.choices)
        )
    if TextKind.JSON in variable.takes:
        return msg("{variable} as JSON", variable=name)
    if TextKind.FLOAT in variable.takes:
        return msg("{variable} as a number", variable=name)
    if TextKind.INT in variable.takes:
        return msg("{variable} as a whole number (a switch is 1 or 0)", variable=name)
    return msg("{variable} as a value that the release can read", variable=name)


def _repair(name: str, value: str, variable: Variable) -> str:
    if corrected := _corrected(value.strip(), variable):
        return msg("write {variable}={value}", variable=name, value=corrected)
    return msg("remove {variable}: the default then applies", variable=name)


def _corrected(value: str, variable: Variable) -> str:
    """The accepted value that was probably meant; "" if none suggests itself."""
    number = _NUMBER.fullmatch(value)
    candidates = [_SWITCHES.get(value.lower(), "")]
    if number and NUMBERS & set(variable.takes):
        candidates += [number[1], number[1].partition(".")[0]]
    folded: Mapping[str, str] = {choice.lower(): choice for choice in variable.choices}
    near = difflib.get_close_matches(value.lower(), folded, n=1, cutoff=0.6)
    candidates += [folded[each] for each in near]
    return next((each for each in candidates if each and variable.accepts(each)), "")


def _unknown(plan: LaunchPlan, server: ServerCommand, name: str, chosen: str) -> Finding:
    """A VLLM_ variable that the release does not know."""
    where, strict = line_of(plan, f"{name}=", name), server.option(_STRICT) is not None
    seen = msg("{variable}, which vLLM {release} does not read", variable=name, release=chosen)
    readers = [version for version in versions() if name in variables(version)]
    older = retired_variables().get(name, "")
    if readers:
        seen += msg("; vLLM {releases} does", releases=stacks.spans(readers, versions()))
    elif older:
        seen += msg("; vLLM {release} did", release=older)
    near = "" if readers or older else _nearest(name, chosen)
    expected = msg("variables that vLLM {release} reads", release=chosen)
    fix = (
        msg("write {variable}", variable=near) if near else msg("remove {variable}", variable=name)
    )
    if near:
        seen += msg("; did you mean {variable}?", variable=near)
    if strict:
        seen += msg("; with --{option}, vLLM ends because of it", option=_STRICT)
        say = warn if readers and plan.stack in {"", stacks.DEFAULT} else fail
        return say(expected=expected, seen=seen, fix=fix, where=where)
    if not near:
        return note(seen, where=where)
    return warn(expected=expected, seen=seen, fix=fix, where=where)


def _nearest(name: str, chosen: str) -> str:
    """The known name that an unknown one may be a misspelling of, "" if none is close.

    The prefix does not count.
    """
    known = [each.removeprefix(_OWN) for each in variables(chosen) if each.startswith(_OWN)]
    near = difflib.get_close_matches(name.removeprefix(_OWN), known, n=1, cutoff=_NEAR)
    return f"{_OWN}{near[0]}" if near else ""
