"""Renders an untrusted chat template in a child process with limits."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.content_format import ContentFormat
from healthcheck.system import programs
from healthcheck.text.messages import msg

CPU_S = 3
WALL_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The rendering of one conversation.

    Attributes:
        text: the rendering, or the beginning of a long one.
        error: the error that the template raised, "" if it raised none.
        ended: False if a limit ended the rendering.
        line: the line of the template that raised the error, 0 if unknown.
    """

    text: str = ""
    error: str = ""
    ended: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Renderings:
    """The renderings of several conversations.

    Attributes:
        rows: one for each conversation.
        detected: the format of `content` that vLLM detects.
        detected_by_name: the same since vLLM 0.22.1, where a loop over a variable `content` counts as well.
    """

    rows: tuple[Rendered, ...]
    detected: ContentFormat = ContentFormat.TEXT
    detected_by_name: ContentFormat = ContentFormat.TEXT


def render(
    template: str,
    conversations: Sequence[Sequence[Mapping[str, JsonValue]]],
    variables: Mapping[str, JsonValue],
) -> Renderings:
    """Render each conversation with one template, in a child process with CPU_S seconds of processor time."""
    request = json.dumps(
        {
            "template": template,
            "conversations": conversations,
            "variables": dict(variables),
            "cpu_s": CPU_S,
        }
    )
    try:
        child = subprocess.run(
            programs.isolated("healthcheck.stages.weights.render_child", folders=_libraries()),
            input=request.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=WALL_S,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = msg("did not end within {wall_s} s", wall_s=WALL_S)
    else:
        if not child.returncode:
            answer = json.loads(child.stdout)
            return Renderings(
                rows=tuple(Rendered(**row) for row in answer["rows"]),
                detected=ContentFormat(answer["formats"]["False"]),
                detected_by_name=ContentFormat(answer["formats"]["True"]),
            )
        reason = child.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            "no reason given"
        ]
        why = msg("could not be rendered: {reason}", reason=reason[0][:300])
        if child.returncode < 0:
            why = msg("did not end within {cpu_s} s of computing", cpu_s=CPU_S)
    return Renderings(rows=tuple(Rendered(error=why, ended=False) for _ in conversations))


def _libraries() -> tuple[str, ...]:
    """The folders of Jinja and its dependencies."""
    found = (importlib.util.find_spec(name) for name in ("jinja2", "markupsafe"))
    origins = (spec.origin for spec in found if spec and spec.origin)
    return tuple(dict.fromkeys(os.path.dirname(os.path.dirname(origin)) for origin in origins))
