"""Finds the code in an answer, and runs it in the sandbox against the tests or the outputs of its problem.

Only a sandbox that is isolated or confined runs code of a model: without one, nothing runs.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from healthcheck.errors import Blocked
from healthcheck.sandbox import box, leftovers, outside
from healthcheck.sandbox.job import IN_DOCKER, EndedBy, Limits, Mode, Recording
from healthcheck.stages.probe.grading import code_child
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.problems.forms import FORMS
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg

AT_ONCE = len(os.sched_getaffinity(0))
"""How many answers run at the same time."""
_LIMIT_S, _MOST_S = 10.0, 120.0
"""For the tests or one input, and for all inputs."""
_LIMITS = Limits(
    process_cpu_s=12, processes=32, memory_bytes=2**30, disk_bytes=2**26, kept_output_bytes=2**23
)
_CODE_BEGINS = re.compile(
    r"^(?:import |from \w[\w.]* import |def |async def |class |@)", re.MULTILINE
)
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,399})(?:\.\d{0,400})?(?:[eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The code in an answer.

    Attributes:
        before: the code that runs before it: what the prompt has above the function.
        sources: its readings, of which the first that is Python runs.
        fenced: it was in a block of code, as the prompt asks.
    """

    before: str
    sources: tuple[str, ...]
    fenced: bool


@lru_cache(maxsize=1)
def mode() -> Mode:
    """The stricter sandbox that this system supports.

    Raises:
        Blocked: it supports neither. Nobody can consent to running a model's code unconfined.
    """
    leftovers.remove_abandoned()
    why: list[str] = []
    for each in (Mode.ISOLATED, Mode.CONFINED):
        trouble = box.unavailable(each)
        if not trouble:
            return each
        why.append(trouble)
    raise Blocked(
        msg(
            "code in answers runs only in a sandbox, and here no program can be isolated (no user namespaces) or "
            "confined (no Landlock, which Linux has since 5.13): {why}. Allow user namespaces ({in_docker}), or "
            "remove "
            "the rows of code",
            why=joined("; ", why),
            in_docker=IN_DOCKER,
        )
    )


def found_in(answer: str, problem: Problem) -> Found:
    """The last block of code that defines the function, else the text if it does, else the last block or the text.

    What does not define the function continues the code of the prompt.
    """
    blocks = [
        textwrap.dedent(body) if indent else body
        for indent, _, body in FORMS[problem.kind].pattern.findall(answer)
    ]
    if problem.kind is AnswerKind.PROGRAM:
        source = blocks[-1] if blocks else answer
        return Found(before="", sources=(source,), fenced=bool(blocks))
    name, prompt, _ = problem.references
    defined = re.compile(rf"^[ \t]*(?:(?:async )?def|class) +{name}\b|^{name} *=", re.MULTILINE)
    defining = [block for block in blocks if defined.search(block)]
    if not defining and defined.search(answer):
        begins = _CODE_BEGINS.search(answer)
        blocks, defining = [], [answer[begins.start() :] if begins else answer]
    if defining:
        above = defined.search(prompt)
        before = prompt[: above.start()] if above else prompt
        return Found(
            before=before,
            sources=(defining[-1], textwrap.dedent(defining[-1])),
            fenced=bool(blocks),
        )
    body = blocks[-1] if blocks else answer
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    sources = (prompt + body, f"{prompt}    {body.lstrip()}", prompt + indented)
    return Found(before="", sources=sources, fenced=bool(blocks))


@lru_cache(maxsize=2**12)
def ran(kind: AnswerKind, references: Sequence[str], found: Found) -> tuple[bool, str]:
    """Run the code against the `references` of its problem: whether it passes, and what was seen.

    Raises:
        Blocked: there is no sandbox, or it cannot be started again.
    """
    if kind is AnswerKind.CODE:
        name, _, tests = references
        token = secrets.token_hex(16)
        recording = _recorded(found, _LIMIT_S, {"name": name, "tests": tests, "token": token})
        passed, otherwise = recording.stdout == token, "ended before its tests did"
    else:
        inputs, outputs = references[::2], references[1::2]
        recording = _recorded(
            found, min(_LIMIT_S * len(inputs), _MOST_S), {"inputs": inputs, "tests": ""}
        )
        passed, otherwise = _outputs(recording.stdout) == [*map(_lines, outputs)], "other output"
    if recording.ended_by is not EndedBy.EXIT:
        return False, recording.ended_by.value
    return passed, "passed" if passed else (recording.stderr.rstrip(": ") or otherwise)[:200]


def _recorded(found: Found, wall_s: float, job: dict[str, object]) -> Recording:
    """Run the job in a sandbox of its own, again if the sandbox itself was lost."""
    limits = replace(_LIMITS, wall_s=wall_s)
    with tempfile.TemporaryDirectory(prefix=files.prefix(), dir=outside.room()) as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - the sandboxed program may be another user
        source, nothing = Path(folder, "source"), Path(folder, "nothing")
        source.mkdir()
        nothing.mkdir()
        (source / "run.py").write_bytes(Path(code_child.__file__).read_bytes())
        asked = {**job, "before": found.before, "sources": found.sources}
        (source / "job.json").write_text(json.dumps(asked), "ascii")
        setting = box.Setting(  # noqa: S604 - a description; no process is started here
            source=source, script="run.py", shell=(box.PYTHON, "-I"), weights=nothing, weights_name="nothing",
            limits=limits,
        )  # fmt: skip
        recording = box.run(setting, mode())[1]
        if recording.ended_by is EndedBy.LOST:
            recording = box.run(setting, mode())[1]
    if recording.ended_by in {EndedBy.SETUP, EndedBy.COPY, EndedBy.LOST}:
        raise Blocked(
            msg(
                "the sandbox for an answer could not be started again: {trouble}",
                trouble=recording.trouble,
            )
        )
    return recording


def _outputs(said: str) -> list[list[list[object]]]:
    try:
        return [*map(_lines, json_text.load_as(said, list[str]))]
    except JsonError:
        return []


def _lines(output: str) -> list[list[object]]:
    """The words of each line, numbers by value, without empty lines at the ends."""
    lines = output.strip().splitlines()
    return [
        [Decimal(word) if _NUMBER.fullmatch(word) else word for word in line.split()]
        for line in lines
    ]
