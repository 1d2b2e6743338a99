"""Runs and reads Huawei's own diagnosis, `ascend-dmi --dg --se SCENE --fmt json -q`.

Sources: MindCluster ToolBox user guide 7.3.0 and 26.1.0, "one-click diagnosis" (scenes, their items and durations),
"common parameters" and "driver health diagnosis" (results). The guide shows the plain output only;
the names in the JSON (item_name, item_result, item_info) come from a public test suite with recordings of
ascend-dmi 26.1. Both forms are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.extensions.runner.asked import Scene
from healthcheck.machine.interface import Machine, Output
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg

ENVIRONMENT = "/usr/local/Ascend/toolbox/set_env.sh"
WELL = frozenset({"PASS", "HEALTH"})
MILD = frozenset({"GENERAL_WARN", "IMPORTANT_WARN", "WARN"})
LEFT_OUT = frozenset({"SKIP"})
RESULTS = WELL | MILD | LEFT_OUT | {"FAIL", "EMERGENCY_WARN"}
MAX_ITEMS = 200
MAX_DEPTH = 12
_SOURCED = 'source "$1" >/dev/null 2>&1; shift; exec ascend-dmi "$@"'
_PLAIN = re.compile(
    rf"^[ \t]+(\w{{1,40}}):\n[ \t]*({'|'.join(RESULTS)})[ \t]*$((?:\n[ \t]*\*{{3}}.*)*)",
    re.IGNORECASE | re.MULTILINE,
)
LIMITS_S = {Scene.HEALTH: 600.0, Scene.PERFORMANCE: 4 * 3600.0, Scene.STRESS: 10 * 3600.0}
"""The guide gives at most 2 minutes, 3 hours, and 9.5 hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a diagnosis: its result and ascend-dmi's comment."""

    name: str
    result: str
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The output of ascend-dmi for a scene.

    Attributes:
        trouble: why there are no items, or "".
    """

    scene: Scene
    items: tuple[Item, ...] = ()
    trouble: str = ""


def installed(machine: Machine) -> tuple[str, ...]:
    """The command before `--dg`; () if ascend-dmi is not installed."""
    if machine.paths(ENVIRONMENT):
        return ("bash", "-c", _SOURCED, "bash", ENVIRONMENT)
    return () if machine.run("ascend-dmi", "-v").trouble else ("ascend-dmi",)


def diagnose(machine: Machine, command: tuple[str, ...], scene: Scene) -> Diagnosis:
    """Run one scene, which needs the devices for itself."""
    words = (*command, "--dg", "--se", scene.value, "--fmt", "json", "-q")
    return read(machine.run(*words, timeout_s=LIMITS_S[scene]), scene)


def read(output: Output, scene: Scene) -> Diagnosis:
    """The items in the output, in either form."""
    if output.trouble:
        return Diagnosis(scene=scene, trouble=output.trouble)
    items = tuple(_from_json(output.stdout))[:MAX_ITEMS] or tuple(_from_text(output.stdout))[:MAX_ITEMS]
    said = (output.text.strip() or "nothing").splitlines()[-1][:200]
    trouble = "" if items else msg("exit status {status}, and it printed {said}", output.status, repr(said))
    return Diagnosis(scene=scene, items=items, trouble=trouble)


def _from_json(text: str) -> Iterator[Item]:
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        return
    try:
        value = json_text.load(text[begin : end + 1])
    except JsonError:
        return
    yield from _items(value, MAX_DEPTH)


def _items(value: JsonValue, depth: int) -> Iterator[Item]:
    """Every object with a name and a result, at any depth: the nesting differs between guide and versions."""
    if depth == 0:
        return
    if isinstance(value, list):
        for each in value:
            yield from _items(each, depth - 1)
    elif isinstance(value, dict):
        name, result = value.get("item_name"), value.get("item_result")
        if isinstance(name, str) and isinstance(result, str):
            yield Item(name=name[:60], result=result.strip().upper()[:40], said=_words(value.get("item_info")))
        for each in value.values():
            yield from _items(each, depth - 1)


def _words(value: JsonValue) -> str:
    parts = value if isinstance(value, list) else [value]
    return joined("; ", (part.strip() for part in parts if isinstance(part, str) and part.strip()))[:600]


def _from_text(text: str) -> Iterator[Item]:
    """The plain output: the name with a colon, then the result, then lines that begin with ***."""
    for name, result, below in _PLAIN.findall(text.replace("\r\n", "\n")):
        said = joined("; ", (line.strip(" \t*") for line in below.splitlines() if line))
        yield Item(name=name, result=result.upper(), said=said[:600])
