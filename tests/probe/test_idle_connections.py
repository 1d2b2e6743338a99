"""A connection that the server closed while this process got no processor is not used again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web

from healthcheck.probe.sampler import Patience, open_session
from tests.service.launching import free_port

pytestmark = pytest.mark.slow
SERVER_WAITS_S, STALL_S = 3, 4.5


@pytest.fixture
def url() -> Iterator[str]:
    """A server that closes idle connections, as uvicorn does."""
    port, ready, loop = free_port(), threading.Event(), asyncio.new_event_loop()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(text="yes")

    async def begin() -> web.AppRunner:
        application = web.Application()
        application.router.add_post("/", answer)
        runner = web.AppRunner(application, keepalive_timeout=SERVER_WAITS_S)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        return runner

    def serve() -> None:
        runner = loop.run_until_complete(begin())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(30)
    yield f"http://127.0.0.1:{port}/"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def test_a_stall_costs_no_request(url: str) -> None:
    async def ask(session: aiohttp.ClientSession) -> str:
        async with session.post(url, data=b"x" * 100_000) as response:
            return await response.text()

    async def talk() -> list[str]:
        async with open_session(Patience()) as session:
            await asyncio.gather(*[ask(session) for _ in range(8)])
            time.sleep(STALL_S)  # noqa: ASYNC251 - the whole process stands still
            return await asyncio.gather(*[ask(session) for _ in range(8)])

    assert asyncio.run(talk()) == ["yes"] * 8
