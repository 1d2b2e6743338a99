"""Real engines and proxies, each in its own environment: context managers that return an address."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.service.launching import free_port
from tests.support.servers import running, serving
from tests.support.template import ROOT

VLLM_QUIET = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
NEW, OLD = ".venv-vllm", ".venv-vllm-0.23"
OF_PICTURES = ("--skip-mm-profiling", "--limit-mm-per-prompt", '{"image": 1}')
UNBUFFERED = ("proxy_buffering off", "proxy_http_version 1.1")
_MAKERS = {
    "dense": ("tiny_lm/make_weights.py",),
    "moe": ("tiny_variants/make_weights.py", "moe"),
    "hybrid": ("tiny_variants/make_weights.py", "hybrid"),
    "thinking": ("tiny_variants/make_weights.py", "thinking"),
    "calling": ("tiny_variants/make_weights.py", "calling"),
    "finding": ("tiny_variants/make_weights.py", "finding"),
    "vision": ("tiny_vlm/make_weights.py",),
}
_SCHEMA = "/openapi.json"
_NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {url};
            {directives}
        }}
    }}
}}
"""


def weights_of(kind: str) -> Path:
    """The weights of one of the kinds of `_MAKERS`, made unless the cache has them."""
    maker, *options = _MAKERS[kind]
    command = [ROOT / NEW / "bin" / "python", ROOT / "examples" / maker, *options]
    made = subprocess.run(
        [*command, "--cache", ROOT / ".cache" / "weights"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Path(made.stdout.strip())


def program(environment: str, name: str) -> Path:
    """A program in one of the environments, which `make` makes."""
    path = ROOT / environment / "bin" / name
    assert path.is_file(), f"there is no {environment}: run `make {environment}/ready`"
    return path


def _path(executable: Path) -> str:
    return f"{executable.parent}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def vllm(environment: str, weights: Path, folder: Path, *more: str) -> Iterator[str]:
    """`vllm serve` of vLLM's CPU build."""
    executable = program(environment, "vllm")
    variables = {**VLLM_QUIET, "PATH": _path(executable)}
    command = [executable, "serve", weights, "--enforce-eager", *more]
    with serving(command, environment=variables, log=folder / "vllm.log") as url:
        yield url


@contextmanager
def transformers(folder: Path) -> Iterator[str]:
    """`transformers serve`, as on a machine with no cache of downloaded models."""
    executable = program(".venv-transformers", "transformers")
    variables = {"HF_HUB_OFFLINE": "1", "PATH": _path(executable), "HF_HOME": str(folder / "none")}
    with serving(
        [executable, "serve"], environment=variables, log=folder / "transformers.log"
    ) as url:
        yield url


@contextmanager
def llama_cpp(gguf: Path, name: str, folder: Path, *more: str) -> Iterator[str]:
    """llama-cpp-python's server; `name` is its model name."""
    python = program(".venv-llama-cpp", "python")
    command: list[str | Path] = [
        python, "-m", "llama_cpp.server", "--model", gguf, "--model_alias", name, "--n_ctx", "2048", *more,
    ]  # fmt: skip
    with serving(command, environment={}, log=folder / "llama.log", sign="/v1/models") as url:
        yield url


@contextmanager
def fastchat(weights: Path, name: str, folder: Path) -> Iterator[str]:
    """FastChat's controller, one worker and its OpenAI server."""
    weights = _for_older_transformers(weights, folder / "weights")
    part: list[str | Path] = [program(".venv-fastchat", "python"), "-m"]
    quiet = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "LOGDIR": ""}
    port = free_port()
    worker = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        controller = stack.enter_context(
            serving(
                [*part, "fastchat.serve.controller"],
                environment=quiet,
                log=folder / "controller.log",
                sign=_SCHEMA,
            )
        )
        asking = [
            *part, "fastchat.serve.model_worker", "--model-path", weights, "--model-names", name, "--device", "cpu",
            "--controller-address", controller, "--worker-address", worker, "--host", "127.0.0.1", "--port", str(port),
        ]  # fmt: skip
        stack.enter_context(
            running(asking, worker + _SCHEMA, environment=quiet, log=folder / "worker.log")
        )
        server = [*part, "fastchat.serve.openai_api_server", "--controller-address", controller]
        yield stack.enter_context(
            serving(server, environment=quiet, log=folder / "fastchat.log", sign="/v1/models")
        )


def _for_older_transformers(weights: Path, copy: Path) -> Path:
    """A copy for transformers before 5, which has another name for the tokenizer's class."""
    shutil.copytree(weights, copy)
    path = copy / "tokenizer_config.json"
    settings = json.loads(path.read_text("utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    path.write_text(json.dumps(settings), "utf-8")
    return copy


@contextmanager
def nginx(url: str, folder: Path, *directives: str) -> Iterator[str]:
    """nginx in front of a server, with these directives beside `proxy_pass`."""
    executable = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert executable, "there is no nginx: apt-get install nginx"
    port = free_port()
    own = folder / "nginx"
    own.mkdir(exist_ok=True)
    settings = own / "nginx.conf"
    lines = "\n            ".join(f"{directive};" for directive in directives)
    settings.write_text(_NGINX.format(folder=own, port=port, url=url, directives=lines))
    front = f"http://127.0.0.1:{port}"
    command = [executable, "-p", own, "-c", settings]
    with running(command, f"{front}/v1/models", environment={}, log=own / "log"):
        yield front


@contextmanager
def litellm(url: str, name: str, folder: Path) -> Iterator[str]:
    """LiteLLM's proxy in front of a server whose model is called `name`, under the same name."""
    executable = program(".venv-litellm", "litellm")
    settings = folder / "litellm.yaml"
    parameters = {"model": f"hosted_vllm/{name}", "api_base": f"{url}/v1", "api_key": "none"}
    general = {"dangerously_permit_weak_or_unset_master_key": True}
    models = [{"model_name": name, "litellm_params": parameters}]
    settings.write_text(json.dumps({"model_list": models, "general_settings": general}))
    variables = {
        "PATH": _path(executable), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False",
        "AIOHTTP_KEEPALIVE_TIMEOUT": "2",  # vLLM closes an idle connection after 5 s, and the next request gets a 500
    }  # fmt: skip
    command = [executable, "--config", settings, "--telemetry", "False"]
    with serving(
        command, environment=variables, log=folder / "litellm.log", sign="/health/liveliness"
    ) as front:
        yield front
