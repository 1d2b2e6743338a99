"""The probe's sampling on the real vLLM (CPU build) beside a raw-socket client: the time that the server needs.

Both send the same requests at the same concurrency; the raw client does nothing but read and parse, so its time is
the server's own. Temperature 0, so that both get the same answers. A block is raw, probe, probe, raw or the other
way round, and gives one ratio of sums: what drifts over a block falls on both. The engine has the first processor
for itself and the clients have the others: which of them the kernel lets run first is not what is measured.
"""

from __future__ import annotations

import asyncio
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from measure import ROOT, Bound, Section, main, ratios, spread
from sampling import Raw

from healthcheck.core.progress import Silent
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.statistics.distributions import t_quantile
from tests.support.servers import serving

ENGINE = ROOT / ".venv-vllm/bin"
VARIABLES = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}  # fmt: skip
"""One thread of arithmetic, bound nowhere: more of them spin on the processors that the clients need."""
SETTINGS = ProbeSettings(
    url="",
    model="tiny",
    problems=60,
    samples=4,
    concurrency=16,
    temperature=0.0,
    max_tokens=128,
    full=True,
)
BLOCKS = 16
MOST_TIMES = 1.05


@contextmanager
def engine(folder: Path) -> Iterator[int]:
    """The small weights behind vLLM, on the port that is given."""
    make = [
        ENGINE / "python",
        ROOT / "examples/tiny_lm/make_weights.py",
        "--cache",
        ROOT / ".cache/weights",
    ]
    weights = subprocess.run(make, check=True, capture_output=True, text=True).stdout.strip()
    command = (ENGINE / "vllm", "serve", weights, "--served-model-name", "tiny", "--enforce-eager",
               "--max-model-len", "512")  # fmt: skip
    variables = {**VARIABLES, "PATH": f"{ENGINE}:{os.environ['PATH']}"}
    allowed = os.sched_getaffinity(0)
    engines = {min(allowed)}
    os.sched_setaffinity(0, engines)
    try:
        with serving(command, environment=variables, log=folder / "vllm.log") as url:
            os.sched_setaffinity(0, allowed - engines or allowed)
            yield int(url.rpartition(":")[2])
    finally:
        os.sched_setaffinity(0, allowed)


def raw_s(port: int) -> tuple[float, int]:
    """Seconds, and the characters of all answers."""
    raw, began = Raw(SETTINGS, port), time.perf_counter()
    asyncio.run(raw.run())
    return time.perf_counter() - began, sum(map(len, raw.answers))


def probe_s(port: int) -> tuple[float, int]:
    """Seconds, and the characters of all answers."""
    with tempfile.TemporaryDirectory() as folder:
        run = measure(
            replace(SETTINGS, url=f"http://127.0.0.1:{port}"), Silent(), Path(folder) / "run"
        )
    assert not run.failed
    return run.seconds, sum(len(sample.text) for sample in run.samples)


CLIENTS = {"raw": raw_s, "probe": probe_s}


def in_blocks(seconds: Sequence[float]) -> list[float]:
    """The sums of the two runs of each block."""
    return [first + second for first, second in zip(seconds[::2], seconds[1::2], strict=True)]


def interval(times: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of some ratios with its 95 % t interval."""
    logs = [math.log(time) for time in times]
    middle = statistics.fmean(logs)
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def real_engine() -> Section:
    title = "The real vLLM"
    requests = SETTINGS.problems * SETTINGS.samples
    about = (
        f"vLLM's CPU build on the small weights, one thread, {requests} requests, {SETTINGS.concurrency} in "
        f"flight; {BLOCKS} blocks of raw, probe, probe, raw and the other way round in turn; a ratio is of the "
        "sums of a block."
    )
    header = ("client", "sampling, s", "characters answered")
    if not (ENGINE / "vllm").exists():
        return Section(
            title=title, about=about, header=header, rows=[["vLLM", "not installed", ""]]
        )
    seen: dict[str, list[float]] = {"raw": [], "probe": []}
    characters: dict[str, int] = {"raw": 0, "probe": 0}
    with tempfile.TemporaryDirectory() as folder, engine(Path(folder)) as port:
        raw_s(port)  # the first requests compile and fill caches
        for turn in range(BLOCKS):
            outer, inner = ("raw", "probe") if turn % 2 else ("probe", "raw")
            for who in (outer, inner, inner, outer):
                seconds, answered = CLIENTS[who](port)
                seen[who].append(seconds)
                characters[who] += answered
    times = ratios(in_blocks(seen["probe"]), in_blocks(seen["raw"]))
    middle, low, high = interval(times)
    return Section(
        title=title,
        about=about,
        header=header,
        rows=[[who, spread(taken), f"{characters[who]}"] for who, taken in seen.items()],
        bounds=[
            Bound(
                promise="the probe takes at most 5 % longer than the server itself",
                seen=f"{middle:.3f} times, 95 % interval {low:.3f}-{high:.3f} (blocks: {spread(times, '.3f')})",
                kept=middle <= MOST_TIMES,
            )
        ],
    )


if __name__ == "__main__":
    main(real_engine)
