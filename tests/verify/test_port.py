"""The tests' own port: what else runs on this machine neither disturbs them nor makes them fail at once."""

from __future__ import annotations

import socket
import threading

from tests.support.port import PORT, port_is_free, the_port


def test_a_taken_port_is_no_obstacle_where_it_comes_free_in_time(port) -> None:
    with socket.create_server(("0.0.0.0", PORT)) as holder:
        release = threading.Timer(0.5, holder.close)
        release.start()
        with the_port() as is_free:
            assert is_free()
            with socket.create_server(("0.0.0.0", PORT)):
                assert not is_free()
        release.join()
    assert port()
    assert port is port_is_free
