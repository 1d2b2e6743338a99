"""An all-reduce over HCCL: one process per device, each contributes its rank plus one, all must get the sum.

Called with the number of devices; it calls itself once per rank, with the rank and the port where the ranks meet.
"""

import datetime as dt
import importlib
import socket
import subprocess
import sys
import time
from typing import Any

from shared import any_runs, said, say

INIT_S = 150
GRACE_S = 3


def rank_main(rank: int, world: int, port: int) -> None:
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch_npu")
        distributed: Any = importlib.import_module("torch.distributed")
        torch.npu.set_device(rank)
        place, limit = f"tcp://127.0.0.1:{port}", dt.timedelta(seconds=INIT_S)
        distributed.init_process_group("hccl", init_method=place, rank=rank, world_size=world, timeout=limit)
        values = torch.tensor([float(rank + 1)] * 256).to(f"npu:{rank}")
        distributed.all_reduce(values)
        seen = values.cpu().tolist()
        say("reduced", rank=rank, right=seen == [world * (world + 1) / 2] * 256, seen=seen[0])
        distributed.destroy_process_group()
    except BaseException as error:
        say("error", at=f"rank {rank}", during="all-reduce", device=rank, text=said(error))
        raise SystemExit(1) from error


def main(world: int) -> None:
    """Run the ranks and wait for all. If one fails, the others cannot succeed, and end after a grace period."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    say("begin", world=world)
    command = [sys.executable, __file__, str(world)]
    ranks = [subprocess.Popen([*command, str(rank), str(port)]) for rank in range(world)]
    while any_runs(ranks) and not any(process.returncode for process in ranks):
        time.sleep(0.1)
    if any_runs(ranks):
        time.sleep(GRACE_S)
        for process in ranks:
            process.kill()
    for rank, process in enumerate(ranks):
        say("ended", rank=rank, status=process.wait())
    say("end")


if len(sys.argv) > 2:
    rank_main(int(sys.argv[2]), int(sys.argv[1]), int(sys.argv[3]))
else:
    main(int(sys.argv[1]))
