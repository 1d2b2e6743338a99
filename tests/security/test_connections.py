"""Without namespaces, a script reaches the servers that it has itself, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

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
import socket, threading
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
for places in ("127.0.0.1 127.0.0.1", "0.0.0.0 127.0.0.1", "0.0.0.0 0.0.0.0", "127.0.0.2 127.0.0.2", "::1 ::1", ":: ::1",
               ":: 127.0.0.1", "127.0.0.1 127.0.0.2", "127.0.0.2 127.0.0.1", "::1 127.0.0.1"):
    print(places, reached(*places.split()))
print("once", *{reached("127.0.0.1", "127.0.0.1", once=True) for _ in range(5)})
"""
REACHED = """\
127.0.0.1 127.0.0.1 HELLO
0.0.0.0 127.0.0.1 HELLO
0.0.0.0 0.0.0.0 HELLO
127.0.0.2 127.0.0.2 HELLO
::1 ::1 HELLO
:: ::1 HELLO
:: 127.0.0.1 HELLO
127.0.0.1 127.0.0.2 ConnectionRefusedError
127.0.0.2 127.0.0.1 ConnectionRefusedError
::1 127.0.0.1 ConnectionRefusedError
once HELLO
"""
WITHOUT_STUBS = (
    '#!/bin/bash\n"$(dirname "$(readlink -f "$(command -v vllm)")")"/py/bin/python3 -u -I -S {}\nexit 1\n'
)


@pytest.mark.parametrize("setup", SETUPS)
def test_a_script_reaches_its_own_servers_where_they_listen(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    (base / "repo/deploy.sh").write_text(WITHOUT_STUBS.format("own.py"))
    (base / "repo/own.py").write_text(OWN_SERVERS)
    shown = attack(
        setup, *packages[setup.ordinary], base / "repo", base / "weights", base / "temporary", wall_s=20.0
    )
    assert (shown.told["mode"], shown.told["stdout"]) == (setup.mode, REACHED), shown
