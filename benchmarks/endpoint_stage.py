"""How long the endpoint stage takes on a healthy simulated server that answers at 30 tokens a second."""

from __future__ import annotations

import time

from measure import Bound, Section, main

from healthcheck.contract import Task
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview

TOKENS_PER_SECOND = 30
FIRST_TOKEN_S = 0.1
MOST_S = 15.0
TASKS = (Task.TEXT_GENERATION, Task.IMAGE_TEXT_TO_TEXT)


def judged(task: Task) -> tuple[float, float, list[str]]:
    """Seconds, CPU seconds of stage and simulator together, and the checks that objected."""
    behaviour = Behaviour(
        model="/weights", tokens_per_second=TOKENS_PER_SECOND, first_token_s=FIRST_TOKEN_S
    )
    ledger = Ledger(Silent())
    began, cpu = time.monotonic(), time.process_time()
    with Simulator(behaviour) as simulator:
        ledger.judge(CHECKS, lambda: interview(simulator.url, weights="/weights", task=task))
    objections = [
        result.id for result in ledger.results if result.outcome not in {Outcome.PASS, Outcome.SKIP}
    ]
    return time.monotonic() - began, time.process_time() - cpu, objections


def endpoint_stage() -> Section:
    taken = {task: judged(task) for task in TASKS}
    longest = max(seconds for seconds, _, _ in taken.values())
    objections = sorted({name for _, _, names in taken.values() for name in names})
    return Section(
        title="Endpoint stage",
        about=f"All endpoint checks on a simulated server at {TOKENS_PER_SECOND} tokens/s, first token after "
        f"{FIRST_TOKEN_S} s; one run, since nearly all of it is waiting.",
        header=("task", "s", "CPU s, simulator included"),
        rows=[
            [task.value, f"{seconds:.1f}", f"{cpu:.1f}"]
            for task, (seconds, cpu, _) in taken.items()
        ],
        bounds=[
            Bound(promise=f"at most {MOST_S:g} s", seen=f"{longest:.1f} s", kept=longest <= MOST_S),
            Bound(
                promise="no objection to a healthy server",
                seen=", ".join(objections) or "none",
                kept=not objections,
            ),
        ],
    )


if __name__ == "__main__":
    main(endpoint_stage)
