"""Stubs for web frameworks: they collect the routes of an application and its address."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from typing import Any

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import recorded_servers, shadows
from healthcheck.stages.plan.dry_run.stubs.permissive import Base

_METHODS = {"get", "post", "put", "delete", "patch", "route", "api_route", "websocket"}


_USUAL_NAMES = ("app", "application", "api", "create_app", "make_app")


class App(Base):
    """An application or a router of any framework; it collects its routes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.routes_found: list[str] = []
        self.prefix = kwargs.get("prefix") or kwargs.get("url_prefix") or ""
        self.routes_found += _paths([*args, kwargs.get("routes")])

    def route(self, path: str = "", *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        self.routes_found.append(_plain(f"{self.prefix}{path}"))
        return lambda function: function

    get = post = put = delete = patch = api_route = websocket = route

    def add_api_route(self, *args: Any, **kwargs: Any) -> None:
        """Add a route; aiohttp's arguments have the method before the path."""
        words = [*args, *kwargs.values()]
        path = next((word for word in words if isinstance(word, str) and word.startswith("/")), "")
        self.routes_found.append(_plain(f"{self.prefix}{path}"))

    add_url_rule = add_route = add_get = add_post = add_api_route

    def add_routes(self, routes: Any, *args: Any, **kwargs: Any) -> None:
        self.routes_found += _paths(routes)

    def include_router(
        self, router: Any, prefix: str = "", url_prefix: str = "", **kwargs: Any
    ) -> None:
        given = prefix or url_prefix
        own = getattr(router, "prefix", "") if url_prefix else ""
        found = [route.removeprefix(own) for route in getattr(router, "routes_found", [])]
        self.routes_found += [_plain(f"{self.prefix}{given}{route}") for route in found]

    register_blueprint = include_router

    @property
    def router(self) -> App:
        return self

    def mount(self, path: str, app: Any, *args: Any, **kwargs: Any) -> None:
        self.routes_found += [
            _plain(f"{path}{route}") for route in getattr(app, "routes_found", ["/{path:path}"])
        ]

    add_subapp = mount

    def run(self, host: str | None = None, port: int | None = None, **kwargs: Any) -> None:
        """Flask's own server."""
        serve("flask", self, host=host, port=port, **kwargs)

    def listen(self, port: int, address: str = "", **kwargs: Any) -> None:
        """Tornado's own server."""
        serve("tornado", self, host=address or "0.0.0.0", port=port)  # noqa: S104 - its default


class Route(App):
    """One route as a value: Route("/path", …) and Mount("/path", routes=…) of Starlette, web.get("/path", …)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        path = next(
            (word for word in (*args, kwargs.get("path")) if isinstance(word, str) and "/" in word),
            "",
        )
        below = [
            *(word for word in args if not isinstance(word, str)),
            kwargs.get("app"),
            kwargs.get("routes"),
        ]
        self.routes_found = [_plain(f"{path}{route}") for route in _paths(below) or [""]]


def _paths(routes: Any) -> list[str]:
    """The paths of routes in any framework's notation: values, (path, handler) pairs, tables and lists of these."""
    if isinstance(routes, App):
        return routes.routes_found
    if isinstance(routes, tuple) and routes and isinstance(routes[0], str):
        return [_plain(routes[0])]
    return (
        [path for each in routes for path in _paths(each)]
        if isinstance(routes, (list, tuple))
        else []
    )


def _plain(path: str) -> str:
    """A path without the end of a regular expression."""
    return path.removesuffix("$").removesuffix("/?").removesuffix("(/)?")


def routes_of(target: str) -> tuple[str, ...]:
    """The routes of "module:attribute".

    Raises:
        ImportError, AttributeError: as the real server would.
    """
    name, _, attribute = target.partition(":")
    found: Any = importlib.import_module(name)
    if not attribute:
        usual = [each for each in _USUAL_NAMES if hasattr(found, each)]
        attribute = usual[0] if usual else "app"
        attribute += "()" if attribute.startswith(("create", "make")) else ""
    for part in attribute.removesuffix("()").split("."):
        found = getattr(found, part or "app")
    if attribute.endswith("()"):
        found = found()
    return tuple(getattr(found, "routes_found", ()))


def serve(name: str, app: Any = None, **options: Any) -> None:
    """Record an application server that Python code starts, and act as the server."""
    routes = routes_of(app) if isinstance(app, str) else tuple(getattr(app, "routes_found", ()))
    plain = {key: str(value) for key, value in options.items() if value is not None}
    shadows.record_for_library()
    recorded_servers.act_as_server(
        f"{calls.CALL}{name}", [json.dumps({"routes": routes, "options": plain})]
    )


class UvicornServer:
    """uvicorn.Server(uvicorn.Config(app, …))."""

    def __init__(self, config: Any) -> None:
        self._config = config

    def run(self, *args: Any, **kwargs: Any) -> None:
        serve("uvicorn", self._config.app, **self._config.options)

    async def serve(self, *args: Any, **kwargs: Any) -> None:
        self.run()


class UvicornConfig:
    def __init__(self, app: Any, **options: Any) -> None:
        self.app, self.options = app, options
        self.host, self.port = options.get("host"), options.get("port")


class AiohttpSite:
    """web.TCPSite(web.AppRunner(app), host, port)."""

    def __init__(
        self, runner: Any, host: str | None = None, port: int | None = None, **_: Any
    ) -> None:
        self._app, self._host, self._port = getattr(runner, "app", None), host, port

    async def start(self) -> None:
        serve("aiohttp", self._app, host=self._host, port=self._port)


class AiohttpRunner(Base):
    def __init__(self, app: Any, *_: Any, **__: Any) -> None:
        self.app = app

    async def setup(self) -> None:
        return None


def parts(name: str) -> dict[str, Any]:
    """The stubbed attributes of a web library, by module name."""
    known: dict[str, dict[str, Any]] = {
        "uvicorn": {"run": functools.partial(serve, "uvicorn"), "Server": UvicornServer, "Config": UvicornConfig},
        "fastapi": {"FastAPI": App, "APIRouter": App},
        "fastapi.applications": {"FastAPI": App},
        "fastapi.routing": {"APIRouter": App},
        "starlette.applications": {"Starlette": App},
        "starlette.routing": {"Route": Route, "Mount": Route, "Router": App},
        "flask": {"Flask": App, "Blueprint": App},
        "tornado.web": {"Application": App, "url": Route, "URLSpec": Route},
        "aiohttp.web": {
            "Application": App, "RouteTableDef": App, "run_app": functools.partial(serve, "aiohttp"),
            "AppRunner": AiohttpRunner, "TCPSite": AiohttpSite,
            **dict.fromkeys(("get", "post", "route", "view"), Route),
        },
        "pydantic": {"BaseModel": Base,
                     "Field": lambda default=None, *_, **more: more.get("default_factory", lambda: default)()},
        "uvloop": {"run": lambda main, **_: importlib.import_module("asyncio").run(main), "install": lambda: None},
    }  # fmt: skip
    return known.get(name, {})
