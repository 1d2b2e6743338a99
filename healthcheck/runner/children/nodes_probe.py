"""One of two programs, on two machines, that all-reduce values with each other and time it.

Called with hccl or gloo, the rank (0 or 1), the address and the port of rank 0, this machine's own address, and the
seconds after which it ends whatever it does. Over HCCL it takes the first visible device, over gloo none. Each rank
gives its number plus one, so both must get 3.
"""

import ctypes
import datetime as dt
import importlib
import json
import os
import signal
import sys
import time
from typing import Any

INIT_S = 120
VALUES = 16 * 2**20
REPEATS = 3
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def say(step: str, **fields: object) -> None:
    """One write, with a line end before it: libraries write to the same stream."""
    sys.stdout.write("\n@npu-adapter " + json.dumps({"step": step, **fields}) + "\n")
    sys.stdout.flush()


def all_reduce(over: str, rank: int, store: str, own: str) -> None:
    torch: Any = importlib.import_module("torch")
    distributed: Any = importlib.import_module("torch.distributed")
    if over == "hccl":
        importlib.import_module("torch_npu")
        torch.npu.set_device(0)
        if "HCCL_SOCKET_IFNAME" not in os.environ:
            os.environ.setdefault("HCCL_IF_IP", own)
    say("begin", rank=rank)
    limit = dt.timedelta(seconds=INIT_S)
    distributed.init_process_group(over, init_method=f"tcp://{store}", rank=rank, world_size=2, timeout=limit)
    seconds, wrong = [], 0
    for at in range(REPEATS + 1):
        values = torch.full((VALUES,), float(rank + 1))
        if over == "hccl":
            values = values.to("npu:0")
            torch.npu.synchronize(0)
        began = time.monotonic()
        distributed.all_reduce(values)
        if over == "hccl":
            torch.npu.synchronize(0)
        if at:
            seconds.append(round(time.monotonic() - began, 9))
        wrong = max(wrong, int((values.cpu() != 3.0).sum()))
    say("reduced", rank=rank, wrong=wrong, of=VALUES, bytes=4 * VALUES, seconds=seconds)
    distributed.destroy_process_group()


def main() -> None:
    over, rank, host, port, own, limit = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whoever asked for the trial may be killed
    signal.alarm(int(limit))
    store = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        all_reduce(over, int(rank), store, own)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"[:2000]
        say("error", at=f"rank {rank}", during="all-reduce", text=said)
        raise SystemExit(1) from error


main()
