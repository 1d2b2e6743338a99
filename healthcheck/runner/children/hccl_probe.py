"""An all-reduce over HCCL: one process a device, each gives its rank plus one, all must get the sum.

Called with the number of devices; it calls itself once a rank.
"""

import datetime as dt
import importlib
import sys
from typing import Any

from shared import as_ranks, said, say

INIT_S = 150


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
        say("error", at=f"rank {rank}", during="all-reduce", device=rank, text=said(error))
        raise SystemExit(1) from error


if len(sys.argv) > 2:
    rank_main(int(sys.argv[2]), int(sys.argv[1]), int(sys.argv[3]))
else:
    as_ranks(__file__)
