"""How each engine is told where to listen and what to call its model: the fix that a finding names."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.plan.records import ServerCommand
from healthcheck.plan.servers.engines import EVERYWHERE

_PORT_OPTIONS = {"lmdeploy": "--server-port", "tritonserver": "--http-port"}
_HOST_OPTIONS = {"lmdeploy": "--server-name", "tgi": "--hostname"}
_NAME_OPTIONS = {"llama.cpp": "--alias", "lmdeploy": "--model-name", "fastchat": "--model-names"}
_BOUND = ("gunicorn", "hypercorn")


def port(server: ServerCommand) -> str:
    """How the server comes to listen on the service's port."""
    if server.engine == "mindie":
        return f'set "port" to {contract.PORT} in ServerConfig of MindIE\'s config.json'
    if server.option("uds") is not None:
        return "remove --uds"
    if _in_python(server):
        return f"write port={contract.PORT} where the Python program starts it"
    if server.engine == "proxy":
        return f"have it listen on {contract.PORT} in its configuration"
    if server.engine in _BOUND:
        return f"pass --bind {EVERYWHERE}:{contract.PORT}"
    return f"pass {_PORT_OPTIONS.get(server.engine, '--port')} {contract.PORT}"


def host(server: ServerCommand) -> str:
    """How the server comes to listen on every interface."""
    if server.engine == "mindie":
        return f'set "ipAddress" to "{EVERYWHERE}" and "allowAllZeroIpListening" to true in MindIE\'s config.json'
    if _in_python(server):
        return f'write host="{EVERYWHERE}" where the Python program starts it'
    if server.engine in _BOUND:
        return f"pass --bind {EVERYWHERE}:{server.port or contract.PORT}"
    return f"pass {_HOST_OPTIONS.get(server.engine, '--host')} {EVERYWHERE}"


def name(server: ServerCommand, option: str, model_path: str) -> str:
    """How the model comes to be served under the weight path; `option` is the one that names it otherwise."""
    if server.engine == "mindie":
        return 'set "modelName" to the value of MODEL_PATH in MindIE\'s config.json'
    if server.engine in {"vllm", "sglang", "lmdeploy"} and option and model_path in server.argv:
        return f"remove --{option} and its value"
    spelled = f"--{option}" if option else _NAME_OPTIONS.get(server.engine, "--served-model-name")
    given = f'pass {spelled} "$MODEL_PATH"'
    return given if option or server.engine not in {"vllm", "sglang"} else f'serve "$MODEL_PATH" itself, or {given}'


def no_tls(server: ServerCommand) -> str:
    """How the server comes to answer plain HTTP."""
    if server.engine == "mindie":
        return 'set "httpsEnabled" to false in ServerConfig of MindIE\'s config.json'
    return "remove --ssl-certfile and --ssl-keyfile"


def _in_python(server: ServerCommand) -> bool:
    return bool(server.argv) and server.argv[0].startswith("python:")
