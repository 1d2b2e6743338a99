"""A cluster of Ray of two nodes, each in a network of its own, as two machines are; root may make such networks.

    PYTHON-WITH-RAY ray_networks.py

It prints the address of the cluster and its own process id as JSON, stays in the network of the first node, whose
port 8000 is therefore free, and ends both nodes when its input ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys

ADDRESSES = {"first": "10.77.0.1", "second": "10.77.0.2"}
CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 1  # linux/if.h
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    from ray.cluster_utils import Cluster

    networks = connected_networks()
    cluster = Cluster()
    started = []
    for name, address in ADDRESSES.items():
        enter(networks[name])
        node = cluster.add_node(
            num_cpus=2, resources={"NPU": 2}, node_name=name, node_ip_address=address,
            object_store_memory=80_000_000, include_dashboard=False,
        )  # fmt: skip
        started.append(node.all_processes["raylet"][0].process)
    enter(networks["first"])
    print(json.dumps({"address": cluster.address, "pid": os.getpid()}), flush=True)
    while not select.select([sys.stdin], [], [], 0.5)[0]:
        for process in started:
            process.poll()
    cluster.shutdown()


def connected_networks() -> dict[str, int]:
    """A network for each node, with a cable between them; this process is in the second one then."""
    first = made()
    with subprocess.Popen(["sleep", "infinity"]) as there:  # `ip` names a network by a process in it
        second = made()
        ip("link", "add", "second", "type", "veth", "peer", "name", "first", "netns", str(there.pid))
        for name, network in (("second", second), ("first", first)):
            enter(network)
            ip("address", "add", f"{ADDRESSES[name]}/24", "dev", name)
            ip("link", "set", name, "up")
        there.kill()
    return {"first": first, "second": second}


def made() -> int:
    """A new network, which this thread is in then, with its loopback up; a handle of it."""
    if LIBC.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network of its own: these tests run as root")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter(network: int) -> None:
    if LIBC.setns(network, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the network cannot be entered")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


if __name__ == "__main__":
    main()
