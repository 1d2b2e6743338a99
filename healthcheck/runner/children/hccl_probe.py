"""An all-reduce over HCCL: one process a device, each gives its rank plus one, all must get the sum.

Called with the number of devices; it calls itself once a rank.
"""

import datetime as dt
import importlib
import json
import socket
import subprocess
import sys
import time
from typing import Any

INIT_S = 150
GRACE_S = 3


def say(step: str, **fields: object) -> None:
    """One write, with a line end before it: other ranks and libraries write to the same stream."""
    sys.stdout.write("\n@npu-adapter " + json.dumps({"step": step, **fields}) + "\n")
    sys.stdout.flush()


def rank_main(rank: int, world: int, port: int) -> None:
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch_npu")
        distributed: Any = importlib.import_module("torch.distributed")
        torch.npu.set_device(rank)
        distributed.init_process_group(
            "hccl",
            init_method=f"tcp://127.0.0.1:{port}",
            rank=rank,
            world_size=world,
            timeout=dt.timedelta(seconds=INIT_S),
        )
        values = torch.tensor([float(rank + 1)] * 256).to(f"npu:{rank}")
        distributed.all_reduce(values)
        seen = values.cpu().tolist()
        say("reduced", rank=rank, right=seen == [world * (world + 1) / 2] * 256, seen=seen[0])
        distributed.destroy_process_group()
    except BaseException as error:
        say(
            "error",
            at=f"rank {rank}",
            during="all-reduce",
            device=rank,
            text=f"{type(error).__name__}: {error}"[:2000],
        )
        raise SystemExit(1) from error


def main() -> None:
    world = int(sys.argv[1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    say("begin", world=world)
    command = [sys.executable, __file__, str(world)]
    ranks = [subprocess.Popen([*command, str(rank), str(port)]) for rank in range(world)]
    wait_for(ranks)
    for rank, process in enumerate(ranks):
        say("ended", rank=rank, status=process.wait())
    say("end")


def wait_for(ranks: "list[subprocess.Popen[bytes]]") -> None:
    """Wait until all have ended; if one fails, the others never succeed, and are ended after a grace."""
    while None in [process.poll() for process in ranks]:
        if any(process.returncode for process in ranks):
            time.sleep(GRACE_S)
            for process in ranks:
                process.kill()
            return
        time.sleep(0.1)


if len(sys.argv) > 2:
    rank_main(int(sys.argv[2]), int(sys.argv[1]), int(sys.argv[3]))
else:
    main()
