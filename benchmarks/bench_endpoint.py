"""How long the endpoint stage takes on a healthy server that answers at 30 tokens a second: 30 s at most.

.venv/bin/python benchmarks/bench_endpoint.py
"""

from __future__ import annotations

import sys
import time

from healthcheck.contract import Task
from healthcheck.endpoint.checks import CHECKS
from healthcheck.endpoint.facts import interview
from healthcheck.engine import Ledger
from healthcheck.progress import Silent
from healthcheck.records import Outcome
from healthcheck.simulator import Behaviour, Simulator

TOKENS_PER_SECOND = 30
FIRST_TOKEN_S = 0.1
MOST_S = 30.0


def main() -> int:
    slow = False
    for task in (Task.TEXT_GENERATION, Task.IMAGE_TEXT_TO_TEXT):
        behaviour = Behaviour(model="/weights", tokens_per_second=TOKENS_PER_SECOND, first_token_s=FIRST_TOKEN_S)
        ledger = Ledger(Silent())
        began, cpu = time.monotonic(), time.process_time()
        with Simulator(behaviour) as simulator:
            ledger.judge(CHECKS, lambda: interview(simulator.url, weights="/weights", task=task))  # noqa: B023
        seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu
        objections = [r.id for r in ledger.results if r.outcome not in {Outcome.PASS, Outcome.SKIP}]
        print(
            f"{task.value:20} {seconds:5.1f} s (at most {MOST_S:g}), {cpu_s:.1f} s of CPU, objections: {objections}"
        )
        slow = slow or seconds > MOST_S or bool(objections)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
