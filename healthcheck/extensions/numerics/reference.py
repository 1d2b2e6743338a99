"""A reference run: stored in a folder, and compared token by token with another server."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.numerics.bench import Bench
from healthcheck.extensions.numerics.distance import divergence
from healthcheck.extensions.numerics.records import (
    NumericsRun,
    Position,
    Prompt,
    Reading,
    Reference,
    Server,
    Step,
    TokenIds,
    asked_by,
)
from healthcheck.extensions.numerics.relations import token_ids
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

FILE = "numerics.json"
STEPS = (0, 2, 5)
"""Numbers of the reference's tokens that are prefilled after the prompt."""
_MOST_BYTES = 64 * 2**20


def keep(folder: Path, run: NumericsRun) -> None:
    """Store the readings that a later run can compare with."""
    kept = [(prompt, reading) for prompt, reading in run.alone if prompt.ids and not reading.error]
    readings = tuple((prompt.ids, reading) for prompt, reading in kept)
    made = Reference(place="", server=run.server, trial=run.trial, readings=readings)
    files.write_atomically(folder / FILE, json_text.dump(made))


def load(folder: Path) -> Reference:
    """Read a folder that `keep` wrote.

    Raises:
        UsageError: it is not such a folder, or its server accepted no token ids.
    """
    path = folder / FILE
    if not path.is_file():
        raise UsageError(
            msg(
                "{folder} has no {file}: name the folder of `npu-adapter numerics URL --out`",
                folder=folder,
                file=FILE,
            )
        )
    try:
        kept = json_text.load_as(files.read_bounded(path, _MOST_BYTES), Reference)
    except (OSError, JsonError, ValueError) as error:
        raise UsageError(msg("cannot read {path}: {error}", path=path, error=error)) from error
    if not kept.readings:
        raise UsageError(
            msg(
                "{folder} is not a reference: its server took no token ids, or gave no answers",
                folder=folder,
            )
        )
    return replace(kept, place=str(folder))


def refuse_unlike(reference: Reference, server: Server, trial: TokenIds) -> None:
    """Make sure that the tokens of the reference mean the same on this server.

    Raises:
        UsageError: they do not, or the server accepts no token ids.
    """
    if not server.takes_ids:
        raise UsageError(
            msg(
                "a reference needs token ids, and this server takes {value}", value=asked_by(server)
            )
        )
    if reference.trial != trial:
        raise UsageError(
            msg(
                "{place} is not a reference for this model: its tokenizer is another one",
                place=reference.place,
            )
        )


async def steps(bench: Bench, reference: Reference, moved: Callable[..., None]) -> list[Step]:
    """Predict the reference's own tokens on this server (teacher forcing), each from all previous tokens.

    This server's answer to the same prompt is used as far as it chose the same tokens; the rest is prefilled.
    """
    found = []
    usable = [each for each in reference.readings if len(each[0]) + max(STEPS) <= bench.longest]
    own = {prompt.ids: reading for prompt, reading in bench.alone.items() if not reading.error}
    for (number, (ids, reading)), at in itertools.product(enumerate(usable), STEPS):
        moved(done=number * len(STEPS), total=len(usable) * len(STEPS))
        before = token_ids(reading)[:at]
        if len(before) < at or len(reading.positions) <= at:
            continue
        said = own.get(ids, Reading())
        if len(said.positions) > at and token_ids(said)[:at] == before:
            here = said.positions[at]
        else:
            prompt = Prompt(ids=ids + before)
            forced = await bench.asker.read(prompt, tokens=1)
            bench.record(prompt, forced)
            if forced.error:
                continue
            here = forced.positions[0]
        found.append(step(reading.positions[at], here, prompt=number))
    return found


def step(there: Position, here: Position, *, prompt: int) -> Step:
    """Compare one token of the reference (`there`) with this server's."""
    least = min(here.top.values(), default=-math.inf)
    lost = there.top.get(there.token, 0.0) - here.top.get(there.token, least)
    return Step(
        prompt=prompt, kl=divergence(there, here), agrees=here.token == there.token, lost=lost
    )
