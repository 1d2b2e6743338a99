"""`npu-adapter simulate`: serve a simulated endpoint until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import queue
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping

from healthcheck.errors import UsageError
from healthcheck.extensions.simulator import (
    DEFAULT_ACCURACY,
    DIALECTS,
    FAULTS,
    Behaviour,
    Simulator,
)
from healthcheck.extensions.simulator.bank import known
from healthcheck.extensions.simulator.catalogue import NUMBERED
from healthcheck.extensions.simulator.manners import TEXTS, Manner
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes; returns 0 after a clean end."""
    if options.list:
        print("\n".join(_listed()))
        return 0
    bank = {} if options.incompetent else known(seed=options.problems_seed, count=options.problems)
    behaviour = Behaviour(
        model=options.model,
        dialect=options.dialect,
        manner=Manner(options.manner),
        faults=tuple(options.fault),
        seed=options.seed,
        answers={question: answer for question, (answer, _) in bank.items()},
        labels={question: tier for question, (_, tier) in bank.items()},
        accuracy=_accuracy(options.accuracy),
        correlation=options.correlation,
        solver=options.solver,
        tokens_per_second=options.tokens_per_second,
        first_token_s=options.first_token_s,
        context_tokens=options.context,
        competent=not options.incompetent,
    )
    asked_to_end: queue.SimpleQueue[int] = (
        queue.SimpleQueue()
    )  # an Event deadlocks when two signals come at once
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: asked_to_end.put(received))
    with Simulator(behaviour, host=options.host, port=options.port) as simulator:
        said = msg(
            "SIMULATED endpoint, no model behind it: {url} serves {model}",
            url=simulator.url,
            model=repr(options.model),
        )
        print(translation_of_the_process().say(said), file=sys.stderr)
        while asked_to_end.empty() and simulator.alive:
            time.sleep(0.2)
    return 0


def _listed() -> Iterator[str]:
    """The dialects, manners and faults, one per line."""
    say = translation_of_the_process().say
    yield say(msg("{label}: {text}", label=msg("dialects"), text=", ".join(DIALECTS))) + "\n"
    yield say(msg("manners, all of them honest:"))
    yield from (f"{manner.value:24} {say(text)}" for manner, text in TEXTS.items())
    yield "\n" + say(msg("faults, each with the check that it trips:"))
    yield from (f"{fault.name:24} {fault.check:28} {say(fault.text)}" for fault in FAULTS.values())
    yield from (f"{name:24} {'':28} {say(text)}" for name, text in NUMBERED.items())


def _accuracy(text: str) -> Mapping[str, float]:
    shares = dict(DEFAULT_ACCURACY)
    for item in filter(None, text.split(",")):
        tier, _, value = item.partition("=")
        if tier not in shares:
            raise UsageError(
                msg(
                    "--accuracy {item}: write a share for each tier, such as {for_all}",
                    item=item,
                    for_all=_for_all(item, shares),
                )
            )
        try:
            shares[tier] = _share(float(value))
        except ValueError as error:
            raise UsageError(
                msg("--accuracy {item}: {value} is not a number", item=item, value=repr(value))
            ) from error
    return shares


def _for_all(item: str, tiers: Iterable[str]) -> str:
    """The option with a share for each tier, where a single number was given."""
    bare = re.fullmatch(r"0?\.\d+|[01](?:\.0*)?", item)
    shares = (item,) * len(DEFAULT_ACCURACY) if bare else (".9", ".7", ".5")
    return ",".join(f"{tier}={share}" for tier, share in zip(tiers, shares, strict=True))


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise UsageError(msg("{value} does not lie between 0 and 1", value=value))
    return value
