"""Local weights as a reference: transformers computes them in a child process with its own environment.

The tokens are the server's own: each prompt that was requested alone is followed by the server's answer, and the
weights predict each of those tokens from all previous ones. So the comparison needs no further requests.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from healthcheck.errors import KitError, UsageError, reason_of
from healthcheck.extensions.numerics.asking import TRIAL
from healthcheck.extensions.numerics.distance import divergence
from healthcheck.extensions.numerics.records import (
    NumericsRun,
    Position,
    Prompt,
    Reading,
    Step,
    Weights,
    asked_by,
)
from healthcheck.extensions.numerics.reference import step
from healthcheck.extensions.numerics.relations import token_ids
from healthcheck.system import files, json_text, programs
from healthcheck.system.json_text import JsonError
from healthcheck.system.processes import ran, shortened
from healthcheck.text.messages import joined, msg

OPTION = "--reference-python"
NEEDS = ("torch", "transformers")
MOST_CONTEXTS = 60
ROUNDED = 3
"""Every third context is also computed in bfloat16, which shows the effect of rounding alone on these weights."""
DEADLINE_S = 3 * 3600.0
_INSIDE = Path(__file__).parent / "inside" / "read_weights.py"
_ANSWER_BYTES = 256 << 20
_TAIL_LINES = 40
_KEPT = ("LD_LIBRARY_PATH", "PATH", "OMP_NUM_THREADS")
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
}
_MARK = b"@npu-adapter "
Moved = Callable[..., None]
"""Called with the number of contexts that are `done`, of `total`."""


class WeightsUnread(KitError):  # noqa: N818 - what became of the weights
    """transformers could not compute the weights; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The child's answer: a reading of each context, and of every third one also in bfloat16."""

    transformers: str
    number_format: str
    trial: tuple[int, ...]
    readings: tuple[tuple[Position, ...], ...]
    rounded: tuple[tuple[Position, ...], ...]


def are_weights(folder: Path) -> bool:
    """Whether the folder holds a model and not a run."""
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def find_python(named: str) -> str:
    """The named Python, else this one.

    Raises:
        UsageError: the named Python does not exist, or none is named and this one lacks torch or transformers.
    """
    if named:
        return str(programs.python_at(named, OPTION))
    if all(find_spec(name) for name in NEEDS):
        return sys.executable
    raise UsageError(
        msg(
            "weights as a reference need a Python with {needs}: name one with {option}",
            needs=joined(" and ", NEEDS),
            option=OPTION,
        )
    )


def compared(run: NumericsRun, weights: Weights, moved: Moved) -> NumericsRun:
    """Add a step for each token that the server chose after a prompt alone.

    If the weights cannot be computed, the reason is noted in the run.
    """
    began, chosen = time.monotonic(), contexts(run.alone)
    if not chosen:
        return replace(
            run,
            unread=msg(
                "{folder}: it needs token ids, and this server takes {value}",
                folder=weights.folder,
                value=asked_by(run.server),
            ),
        )
    try:
        answer = read(
            weights, [context for context, _ in chosen], moved, logprobs=run.server.logprobs
        )
    except WeightsUnread as error:
        return replace(run, unread=msg("{folder}: {error}", folder=weights.folder, error=error))
    if answer.trial != run.trial:
        return replace(
            run,
            unread=msg(
                "{folder}: its tokenizer is another one than the server's", folder=weights.folder
            ),
        )
    rounded = dict(zip(range(0, len(chosen), ROUNDED), answer.rounded, strict=False))
    steps: list[Step] = []
    for number, (_, reading) in enumerate(chosen):
        steps += _steps(number, reading, answer.readings[number], rounded.get(number, ()))
    by = f"{weights.folder} transformers {answer.transformers}, {answer.number_format}"
    seconds = round(run.seconds + time.monotonic() - began, 1)
    return replace(run, reference=by, steps=tuple(steps), seconds=seconds)


def _steps(
    number: int, reading: Reading, exact: Sequence[Position], rough: Sequence[Position]
) -> Iterator[Step]:
    for at, (there, here) in enumerate(zip(exact, reading.positions, strict=False)):
        found = step(there, here, prompt=number)
        yield replace(found, rounding=divergence(there, rough[at])) if at < len(rough) else found


Context = tuple[tuple[int, ...], int]
"""Tokens, and the index of the first predicted one."""


def contexts(alone: Sequence[tuple[Prompt, Reading]]) -> list[tuple[Context, Reading]]:
    """Prompts of every length, each followed by the tokens of its completion."""
    usable = [
        ((prompt.ids + token_ids(reading), prompt.length), reading)
        for prompt, reading in sorted(alone, key=lambda each: each[0].length)
        if prompt.ids and not reading.error and token_ids(reading)
    ]
    room = min(MOST_CONTEXTS, len(usable))
    return [usable[place * len(usable) // room] for place in range(room)]


def read(weights: Weights, chosen: Sequence[Context], moved: Moved, *, logprobs: int) -> Answer:
    """The predictions of the weights, from a child process with a clean environment.

    Raises:
        WeightsUnread: they could not be computed.
    """
    request = {
        "folder": str(Path(weights.folder).resolve()),
        "contexts": [{"ids": list(ids), "begin": begin} for ids, begin in chosen],
        "top": logprobs,
        "trial": TRIAL,
        "rounded": ROUNDED,
        "remote_code": weights.remote_code,
    }
    with tempfile.TemporaryDirectory(prefix=files.prefix(), ignore_cleanup_errors=True) as folder:
        asked, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_bytes(json_text.dump(request))
        command = [weights.python, str(_INSIDE), str(asked), str(answer)]
        _run(command, folder, moved)
        try:
            return json_text.load_as(files.read_bounded(answer, _ANSWER_BYTES), Answer)
        except (UsageError, JsonError) as error:
            raise WeightsUnread(
                msg("transformers gave no answer that can be read ({error})", error=error)
            ) from error


def _run(command: Sequence[str], home: str, moved: Moved) -> None:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {**_QUIET, "HOME": home, "TMPDIR": home}
    tail: deque[bytes] = deque(maxlen=_TAIL_LINES)

    def follow(stream: IO[bytes]) -> None:
        while line := stream.readline(4096):
            words = line.split()
            if line.startswith(_MARK) and len(words) == 3:
                moved(done=int(words[1]), total=int(words[2]))
            elif line.strip():
                tail.append(line)

    try:
        status = ran(command, follow, deadline_s=DEADLINE_S, cwd=home, env=environment)
    except OSError as error:
        raise WeightsUnread(
            msg("{command} cannot be run: {reason}", command=command[0], reason=reason_of(error))
        ) from error
    if status is None:
        raise WeightsUnread(msg("no end within {deadline_s:g} hours", deadline_s=DEADLINE_S / 3600))
    if status:
        raise WeightsUnread(_reason(b"".join(tail).decode("utf-8", "replace"), status))


def _reason(text: str, status: int) -> str:
    lines = text.splitlines() or [msg("it ended with status {status}", status=status)]
    if "trust_remote_code" in text:
        return msg("its own Python code would have to run, which --trust-remote-code allows")
    if "No module named" in lines[-1]:
        return msg(
            "{lines}: name a Python with {needs} with {option}",
            lines=shortened(lines[-1], 200),
            needs=joined(" and ", NEEDS),
            option=OPTION,
        )
    return msg(
        "transformers ended with status {status}: {lines}",
        status=status,
        lines=shortened(lines[-1], 300),
    )
