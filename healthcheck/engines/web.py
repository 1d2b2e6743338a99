"""Web servers and fronts: the submission's own code or configuration makes a model server of them."""

from __future__ import annotations

import functools

from healthcheck.engines.base import (
    EVERYWHERE,
    LOOPBACK,
    Api,
    Engine,
    FrontKind,
    Grammar,
    Launch,
    Options,
)
from healthcheck.text.messages import msg


class _Proxy(Engine):
    """Its configuration names the address on which it listens."""

    __slots__ = ()

    def port_repair(self, port: int) -> str:
        return msg("have it listen on {port} in its configuration", port=port)


class _Gunicorn(Engine):
    """One option has host and port."""

    __slots__ = ()

    def port_repair(self, port: int) -> str:
        return msg("pass --bind {everywhere}:{port}", everywhere=EVERYWHERE, port=port)

    def host_repair(self, port: int) -> str:
        return msg("pass --bind {everywhere}:{port}", everywhere=EVERYWHERE, port=port)


_Server = functools.partial(Engine, web_server=True)
_Launch = functools.partial(Launch, api=Api.UNKNOWN, model_options=(), name_is="?")

NGINX = _Proxy(
    name="proxy",
    of_many_programs=True,
    web_server=True,
    front=FrontKind.NGINX,
    options=Options(port=""),
)
PROXY = _Proxy(
    name="proxy",
    of_many_programs=True,
    web_server=True,
    front=FrontKind.UNREAD,
    options=Options(port=""),
)
GUNICORN = _Gunicorn(name="gunicorn", web_server=True, options=Options(port="", host=""))
PYTHON_HTTP = _Server(name="python-http")

LAUNCHES = (
    _Launch(engine=NGINX, programs=("nginx",), port=None, listens_by_file=True),
    _Launch(engine=PROXY, programs=("haproxy", "caddy"), port=None, listens_by_file=True),
    _Launch(
        engine=_Server(name="litellm", front=FrontKind.LITELLM),
        programs=("litellm", "-m litellm"),
        port=4000,
        port_variables=("PORT",),
        host_variables=("HOST",),
        name_options=(),
        key_options=(),
        key_variables=("LITELLM_MASTER_KEY",),
        grammar=Grammar(
            short={"-c": "config", "-m": "model"},
            valued=frozenset({"config", "port", "host", "model", "api-base", "num-workers"}),
        ),
    ),
    _Launch(
        engine=_Server(name="uvicorn"),
        programs=("uvicorn", "-m uvicorn", "python:uvicorn"),
        host=LOOPBACK,
        port_variables=("UVICORN_PORT",),
        host_variables=("UVICORN_HOST",),
    ),
    _Launch(
        engine=GUNICORN,
        programs=("gunicorn", "-m gunicorn"),
        host=LOOPBACK,
        bind_options=("bind",),
        grammar=Grammar(
            short={
                "-b": "bind",
                "-w": "workers",
                "-k": "worker-class",
                "-t": "timeout",
                "-c": "config",
            }
        ),
    ),
    _Launch(
        engine=_Server(name="flask"),
        programs=("flask", "-m flask", "python:flask"),
        port=5000,
        host=LOOPBACK,
        grammar=Grammar(short={"-p": "port", "-h": "host", "-A": "app"}),
        port_variables=("FLASK_RUN_PORT",),
        host_variables=("FLASK_RUN_HOST",),
    ),
    _Launch(engine=_Server(name="fastapi"), programs=("fastapi run", "fastapi", "-m fastapi")),
    _Launch(engine=_Server(name="aiohttp"), programs=("python:aiohttp",), port=8080),
    _Launch(
        engine=PYTHON_HTTP, programs=("python:http.server", "python:asyncio", "python:tornado")
    ),
    _Launch(
        engine=PYTHON_HTTP,
        programs=("-m http.server",),
        api=Api.OPENAI_OTHER,
        host_options=("bind",),
        positional_port=True,
    ),
)
