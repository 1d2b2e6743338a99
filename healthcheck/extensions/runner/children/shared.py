"""Shared functions of the programs. Their folder is first on Python's path, since each is run by its file."""

import datetime as dt
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

GRACE_S = 3


def say(step: str, **fields: object) -> None:
    """Print in one write, beginning with a line end: other ranks and libraries write to the same stream."""
    sys.stdout.write("\n@npu-adapter " + json.dumps({"step": step, **fields}) + "\n")
    sys.stdout.flush()


def said(error: BaseException) -> str:
    """The error on one line."""
    return f"{type(error).__name__}: {error}"[:4000]


def join_ranks(rank: int, world: int, port: int, limit_s: int) -> "tuple[Any, Any]":
    """Join the ranks over HCCL; returns torch and torch.distributed."""
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch_npu")
    distributed: Any = importlib.import_module("torch.distributed")
    torch.npu.set_device(rank)
    place, limit = f"tcp://127.0.0.1:{port}", dt.timedelta(seconds=limit_s)
    distributed.init_process_group(
        "hccl", init_method=place, rank=rank, world_size=world, timeout=limit
    )
    return torch, distributed


def run_ranks(file: str, rank_main: Any, variables: "dict[str, str]") -> None:
    """Run a program once per device and wait for all; each calls `rank_main` with rank, number of ranks and port.

    If one fails, the others cannot succeed, and end after a grace period. `variables` are for the ranks; those of
    the environment take precedence.
    """
    world = int(sys.argv[1])
    if len(sys.argv) > 2:
        rank_main(int(sys.argv[2]), world, int(sys.argv[3]))
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    say("begin", world=world)
    commands = [[sys.executable, file, str(world), str(rank), str(port)] for rank in range(world)]
    environment = {**variables, **os.environ}
    ranks = [subprocess.Popen(command, env=environment) for command in commands]
    while any_runs(ranks) and not any(process.returncode for process in ranks):
        time.sleep(0.1)
    if any_runs(ranks):
        time.sleep(GRACE_S)
        for process in ranks:
            process.kill()
    for rank, process in enumerate(ranks):
        say("ended", rank=rank, status=process.wait())
    say("end")


def any_runs(programs: "list[Any]") -> bool:
    """Whether a program still runs."""
    return None in [process.poll() for process in programs]
