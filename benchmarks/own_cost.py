"""CPU time of a probe and a static verification, compared with an interpreter that imports the same libraries.

Both run against what answers at once: the fast server of `sampling`, and weights that are sparse files. What
remains is the kit's own work. A verification also starts programs: git, and the sandbox with deploy.sh in it.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import Bound, Section, main, ratios, spread, timed
from sampling import server
from static_verification import make, repository

ROUNDS = 7
SHARDS, GIGABYTES = 12, 100
MOST_TIMES = {"probe": 6.0, "verify": 11.0}
"""CPU time of a command divided by that of its libraries. It also rises if fewer libraries are imported."""
PROBE_LIMIT_S = 0.9
RUN = """
import atexit, json, pathlib, resource, sys
file = pathlib.Path(sys.argv.pop(1))
from healthcheck.__main__ import main

def tell():
    own, started = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    modules = [name for name in sys.modules if name.partition(".")[0] not in {"__main__", "healthcheck"}]
    file.write_text(json.dumps({
        "own_s": own.ru_utime + own.ru_stime, "started_s": started.ru_utime + started.ru_stime, "modules": modules,
    }))

atexit.register(tell)
main()
"""
IMPORT = """
import contextlib, importlib, sys
for name in sys.argv[1:]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU seconds of one run, and of the interpreter that imports the same libraries.

    Attributes:
        own_s: of the command's own process.
        started_s: of the programs that it started.
    """

    own_s: float
    started_s: float
    libraries_s: float
    modules: int

    @property
    def cpu_s(self) -> float:
        return self.own_s + self.started_s


def cost(scratch: Path, *arguments: str | Path) -> Cost:
    """Run a command of the kit, and then the interpreter that it is compared with."""
    told = scratch / "told.json"
    usage = timed((sys.executable, "-c", RUN, told, *arguments))
    assert usage.status in {0, 1}, usage.output
    figures = json.loads(told.read_text("utf-8"))
    libraries = timed((sys.executable, "-c", IMPORT, *figures["modules"]))
    assert libraries.status == 0, libraries.output
    return Cost(
        own_s=figures["own_s"],
        started_s=figures["started_s"],
        libraries_s=libraries.cpu_s,
        modules=len(figures["modules"]),
    )


def repeated(*arguments: str | Path) -> list[Cost]:
    """The costs of several runs, each with a new report folder; the first run of a fresh clone compiles."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        return [
            cost(scratch, *arguments, "--quiet", "--out", scratch / str(number))
            for number in range(ROUNDS + 1)
        ][1:]


def own_cost() -> Section:
    with server() as port:
        probe = repeated("probe", f"http://127.0.0.1:{port}")
    with tempfile.TemporaryDirectory() as folder:
        repo, weights = repository(Path(folder, "repo")), Path(folder, "weights")
        make(weights, SHARDS, GIGABYTES * 10**9)
        verify = repeated("verify", repo, "--weights", weights, "--until", "weights")
    costs = {"probe": probe, "verify": verify}
    times = {
        name: ratios([each.cpu_s for each in taken], [each.libraries_s for each in taken])
        for name, taken in costs.items()
    }
    return Section(
        title="The kit's own cost",
        about=f"A probe of 600 samples on one fast server, and a static verification with {SHARDS} shards of "
        f"{GIGABYTES} GB in all; CPU seconds of {ROUNDS} runs: median (range). The libraries are the "
        "modules that are not the kit's, imported by an interpreter that does nothing else.",
        header=("command", "CPU s", "of its own process", "libraries, CPU s", "modules", "times the libraries"),
        rows=[
            [name, spread([each.cpu_s for each in taken]), spread([each.own_s for each in taken]),
             spread([each.libraries_s for each in taken]), f"{taken[0].modules}", spread(times[name], ".1f")]
            for name, taken in costs.items()
        ],
        bounds=[
            Bound(
                promise=f"a probe of 600 samples takes at most {PROBE_LIMIT_S} s of CPU",
                seen=f"{spread([each.cpu_s for each in probe])} s",
                kept=statistics.median(each.cpu_s for each in probe) <= PROBE_LIMIT_S,
            ),
            *(Bound(
                promise=f"`npu-adapter {name}` takes at most {MOST_TIMES[name]:g} times the CPU of its libraries",
                seen=f"{spread(taken, '.1f')} times",
                kept=statistics.median(taken) <= MOST_TIMES[name],
            )
            for name, taken in times.items()),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(own_cost)
