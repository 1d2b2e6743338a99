"""Without namespaces, a script can connect to its own servers only."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from healthcheck.sandbox.endpoints import Endpoint, is_between, listening
from tests.security.world import Host, Setup, attack
from tests.support.daily import every

SETUPS = every(
    3,
    (
        Setup("confined", lacks=("userns",)),
        Setup("unconfined", lacks=("landlock", "userns")),
        Setup("confined", ordinary=True, lacks=("userns",)),
        Setup("unconfined", ordinary=True, lacks=("landlock", "userns")),
    ),
)
OWN_SERVERS = """
import socket, sys, threading
def reached(bound, asked, once=False):
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    server = socket.create_server((bound, 0), family=family, dualstack_ipv6=bound == "::")
    port = server.getsockname()[1]
    def serve():
        peer = server.accept()[0]
        if once:
            server.close()
        peer.sendall(peer.recv(5).upper())
    threading.Thread(target=serve, daemon=True).start()
    client = socket.socket(socket.AF_INET6 if ":" in asked else socket.AF_INET)
    client.settimeout(20)
    try:
        client.connect((asked, port))
        client.sendall(b"hello")
        return client.recv(5).decode()
    except OSError as error:
        return type(error).__name__
for places in sys.argv[1:]:
    print(places, reached(*places.split()))
print("once", *{reached("127.0.0.1", "127.0.0.1", once=True) for _ in range(5)})
"""
REACHED = {
    "127.0.0.1 127.0.0.1": "HELLO",
    "0.0.0.0 127.0.0.1": "HELLO",
    "0.0.0.0 0.0.0.0": "HELLO",
    "127.0.0.2 127.0.0.2": "HELLO",
    "127.0.0.1 127.0.0.2": "ConnectionRefusedError",
    "127.0.0.2 127.0.0.1": "ConnectionRefusedError",
}
REACHED_6 = {
    "::1 ::1": "HELLO",
    ":: ::1": "HELLO",
    ":: 127.0.0.1": "HELLO",
    "::1 127.0.0.1": "ConnectionRefusedError",
}
"""Where a server listens, where the client connects, and the result."""
WITHOUT_STUBS = (
    '#!/bin/bash\n"$(dirname "$(readlink -f "$(command -v vllm)")")"/py/bin/python3 -u -I -S own.py {}\nexit 1\n'
)


@pytest.mark.process
@pytest.mark.parametrize("setup", SETUPS)
def test_a_script_reaches_its_own_servers_where_they_listen(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    reached = REACHED | (REACHED_6 if has_ipv6() else {})
    (base / "repo/deploy.sh").write_text(WITHOUT_STUBS.format(" ".join(f"'{places}'" for places in reached)))
    (base / "repo/own.py").write_text(OWN_SERVERS)
    folders = (base / "repo", base / "weights", base / "temporary")
    shown = attack(setup, *packages[setup.ordinary], *folders, wall_s=20.0)
    assert shown.told["mode"] == setup.mode, shown
    said = str(shown.told["stdout"]).splitlines()
    assert said == [*(f"{places} {outcome}" for places, outcome in reached.items()), "once HELLO"], shown


@pytest.mark.process
def test_a_connection_that_was_led_elsewhere_is_noticed() -> None:
    """As by a packet filter; the tables of sockets show where the connection really ended."""
    with socket.create_server(("127.0.0.1", 0)) as meant, socket.create_server(("127.0.0.1", 0)) as other:
        with socket.create_connection(other.getsockname()) as connection:
            ours = Endpoint.of(*connection.getsockname())
            assert is_between(ours, Endpoint.of(*other.getsockname()))
            assert not is_between(ours, Endpoint.of(*meant.getsockname()))
        found = [listening(Endpoint.of(*server.getsockname())) for server in (meant, other)]
        assert [len(each) for each in found] == [1, 1]
        assert found[0] != found[1]


def has_ipv6() -> bool:
    """Whether this machine has an IPv6 loopback address; a container may have none."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
