"""Patches modules of the standard library for the dry run, each when it is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from healthcheck.sandbox.protocol import ADDRESS, TIME_LIMIT
from healthcheck.stages.plan.dry_run.stubs import apps, image, naps, note, offline
from healthcheck.stages.plan.dry_run.stubs.pip import SITE

_LOCAL = {"", "localhost", "127.0.0.1", "0.0.0.0", "::1", "::"}  # noqa: S104 - compared with, never bound


def _socketserver(module: ModuleType) -> None:
    server: Any = module.__dict__["TCPServer"]
    really_bind = server.server_bind

    def bind(self: Any) -> None:
        if not (isinstance(self.server_address, tuple) and self.server_address[1]):
            really_bind(self)

    def serve_forever(self: Any, *_: Any, **__: Any) -> None:
        apps.serve("http.server", host=self.server_address[0], port=self.server_address[1])

    server.server_bind = bind
    server.server_activate = lambda _: None
    module.__dict__["BaseServer"].serve_forever = serve_forever


def _asyncio(module: ModuleType) -> None:
    really_create = module.__dict__["BaseEventLoop"].create_server

    async def create_server(
        self: Any, factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        if not port:
            return await really_create(self, factory, host, port, **options)
        apps.serve("asyncio", host=host or "", port=port)
        return None

    module.__dict__["BaseEventLoop"].create_server = create_server


def _asyncio_sleep(module: ModuleType) -> None:
    really_sleep = module.__dict__["sleep"]

    async def sleep(delay: float, result: Any = None) -> Any:
        naps.note_sleep(delay)
        return await really_sleep(naps.nap_s(delay), result)

    module.__dict__["sleep"] = sleep


def _socket(module: ModuleType) -> None:
    """Block connections to other machines; without a network, answer for recorded servers."""
    if note.is_offline():
        offline.patch(module)
    kind: Any = module.__dict__["socket"]
    really_connect, really_name = kind.connect, kind.getsockname
    really_find, this_host = module.__dict__["gethostbyname"], module.__dict__["gethostname"]()
    outward: Any = weakref.WeakSet()

    def connect(self: Any, address: Any) -> Any:
        if self.type == module.__dict__["SOCK_DGRAM"] and isinstance(address, tuple):
            outward.add(
                self
            )  # programs connect a UDP socket to learn their own address; nothing is sent
            return None
        if isinstance(address, tuple) and str(address[0]) not in _LOCAL:
            raise OSError(101, "Network is unreachable")
        if isinstance(address, tuple):
            try:
                return really_connect(self, address)
            except ConnectionRefusedError:
                note.refused_port(address[1])
                raise
        return really_connect(self, address)

    really_resolve = module.__dict__["getaddrinfo"]

    def getsockname(self: Any) -> Any:
        return (ADDRESS, 0) if self in outward else really_name(self)

    def find(host: str) -> str:
        return ADDRESS if host == this_host else really_find(host)

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        host = ADDRESS if host == this_host else host
        if host is not None and str(host) not in {*_LOCAL, ADDRESS}:
            raise module.__dict__["gaierror"](-3, "Temporary failure in name resolution")
        return really_resolve(host, *arguments, **options)

    kind.connect, kind.getsockname = connect, getsockname
    module.__dict__["gethostbyname"] = find
    module.__dict__["getaddrinfo"] = resolve


def _subprocess(module: ModuleType) -> None:
    """Pass the time limit of a program on to the program."""
    really_run, really_call = module.__dict__["run"], module.__dict__["call"]

    def limited(really: Any) -> Any:
        def start(
            *words: Any, timeout: float | None = None, env: Any = None, **options: Any
        ) -> Any:
            if timeout is not None:
                env = {**(os.environ if env is None else env), TIME_LIMIT: str(timeout)}
            return really(*words, timeout=timeout, env=env, **options)

        return start

    module.__dict__["run"], module.__dict__["call"] = limited(really_run), limited(really_call)


def _metadata(module: ModuleType) -> None:
    """Add the versions of packages that the image has and this interpreter lacks."""
    really_version, unknown = module.__dict__["version"], module.__dict__["PackageNotFoundError"]

    def version(name: str) -> Any:
        try:
            return really_version(name)
        except unknown:
            if found := image.packages().get(image.pip_name(name)):
                return found
            raise

    module.__dict__["version"] = version


def _sysconfig(module: ModuleType) -> None:
    """Return the folder where the stubs claim that libraries are installed."""
    really_find = module.__dict__["get_paths"]

    def find(*words: Any, **options: Any) -> Any:
        return {**really_find(*words, **options), "purelib": SITE, "platlib": SITE}

    def find_one(name: str, *words: Any, **options: Any) -> Any:
        return find(*words, **options)[name]

    module.__dict__.update(get_paths=find, get_path=find_one)


_AFTER: dict[str, Callable[[ModuleType], None]] = {
    "socketserver": _socketserver,
    "asyncio.base_events": _asyncio,
    "asyncio.tasks": _asyncio_sleep,
    "site": lambda module: module.__dict__.update(getsitepackages=lambda *_: [SITE]),
    "socket": _socket,
    "subprocess": _subprocess,
    "sysconfig": _sysconfig,
    "importlib.metadata": _metadata,
}


class AfterImport(importlib.abc.MetaPathFinder):
    """First finder: patches a module right after its import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = _AFTER.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader and hasattr(spec.loader, "exec_module"):
            _run_after(spec.loader, change)
        return spec


def _run_after(loader: Any, change: Callable[[ModuleType], None]) -> None:
    really_execute = loader.exec_module

    def execute(module: ModuleType) -> None:
        really_execute(module)
        change(module)

    loader.exec_module = execute
