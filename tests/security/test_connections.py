"""Without namespaces a script has no network: stubs answer for its recorded servers, and an ordinary loop ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.world import Host, Setup, attack
from tests.support.daily import every

SETUPS = every(
    3,
    (
        Setup("confined", lacks=("userns",)),
        Setup("unconfined", ordinary=True, lacks=("landlock", "userns")),
        Setup("unconfined", lacks=("landlock", "userns")),
        Setup("confined", ordinary=True, lacks=("userns",)),
    ),
)
WAITS = """#!/bin/bash
vllm serve "$MODEL_PATH" --port 8000 &
until curl -sf localhost:8000/health > health.json; do sleep 1; done
wget -q -O- http://127.0.0.1:8000/v1/models | grep -c '"object"'
nc -z localhost 8000 && echo open
nc -z localhost 8001 || echo closed
curl -s -o /dev/null -w '%{http_code}' localhost:8000/v1/chat/completions -d '{"model": "other"}'
echo
python3 asks.py
exit 1
"""
ASKS = """
import asyncio, http.client, json, socket, urllib.request
import requests

print(json.load(urllib.request.urlopen("http://localhost:8000/health"))["status"])
print(requests.post("http://localhost:8000/v1/chat/completions", json={"model": "other"}).status_code)
client = http.client.HTTPConnection("127.0.0.1", 8000)
client.request("POST", "/v1/completions", json.dumps({"prompt": "x" * 500_000}))
print(client.getresponse().status)

async def asked():
    reader, writer = await asyncio.open_connection("localhost", 8000)
    writer.write(b"GET / HTTP/1.1\\r\\n\\r\\n")
    return (await reader.readline()).decode().strip()

print(asyncio.run(asked()))
print([socket.socket().connect_ex(("127.0.0.1", port)) for port in (8000, 8001)])
with socket.socket() as free:
    free.bind(("", 0))
    print(free.getsockname()[1] > 1024)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
    outward.connect(("8.8.8.8", 80))
    print(outward.getsockname()[0])
try:
    socket.create_server(("127.0.0.1", 8002))
except OSError as error:
    print(error.errno)
"""
SAID = [
    "1", "open", "closed", "404", "ok", "404", "200", "HTTP/1.1 200 OK", "[0, 111]", "True", "10.213.37.2", "49",
]  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("setup", SETUPS)
def test_stubs_answer_for_recorded_servers(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    (base / "repo/deploy.sh").write_text(WAITS)
    (base / "repo/asks.py").write_text(ASKS)
    folders = (base / "repo", base / "weights", base / "temporary")
    shown = attack(setup, *packages[setup.ordinary], *folders, wall_s=20.0)
    assert shown.told["mode"] == setup.mode, shown
    assert str(shown.told["stdout"]).split("\n") == [*SAID, ""], shown
    assert shown.told["exit_status"] == 1
