"""Times an all-reduce over HCCL for each pair of devices.

Called with the number of devices; `run_ranks` calls it once per rank. The pairs of a round are disjoint, as in a
tournament, so that they run side by side.
"""

import time
from typing import Any

from shared import join_ranks, run_ranks, said, say

INIT_S = 300
VALUES = 4 * 2**20
REPEATS = 3
BUFFER_MB = "32"
"""For each of the two buffers of a group; HCCL's own 200 MB would add up over the groups."""


def rounds(world: int) -> "list[list[tuple[int, int]]]":
    """The rounds with every pair once; with an odd number of devices, one rests in each round."""
    places = list(range(world + world % 2))
    found = []
    for _ in range(len(places) - 1):
        half = len(places) // 2
        halves = zip(places[:half], reversed(places[half:]))  # noqa: B905 - Python 3.9
        found.append([(min(pair), max(pair)) for pair in halves if max(pair) < world])
        places = [places[0], places[-1], *places[1:-1]]
    return found


def rank_main(rank: int, world: int, port: int) -> None:
    doing = "all"
    try:
        torch, distributed = join_ranks(rank, world, port, INIT_S)
        for pairs in rounds(world):
            groups = [(pair, distributed.new_group(list(pair))) for pair in pairs]
            for pair, group in groups:
                if rank in pair:
                    doing = f"{pair[0]} and {pair[1]}"
                    one_pair(torch, distributed, rank, pair, group)
            distributed.barrier()
        distributed.destroy_process_group()
    except BaseException as error:
        at = f"rank {rank} with {doing}"
        say("error", at=at, during="all-reduce", device=rank, text=said(error))
        raise SystemExit(1) from error


def one_pair(torch: Any, distributed: Any, rank: int, pair: "tuple[int, int]", group: Any) -> None:
    """The first repetition sets up the connection and is not timed."""
    seconds, same = [], True
    for repetition in range(REPEATS + 1):
        values = torch.full((VALUES,), float(rank + 1)).to(f"npu:{rank}")
        torch.npu.synchronize(rank)
        began = time.monotonic()
        distributed.all_reduce(values, group=group)
        torch.npu.synchronize(rank)
        if repetition:
            seconds.append(round(time.monotonic() - began, 9))
        same = same and int((values.cpu() != float(sum(pair) + 2)).sum()) == 0
    say(
        "pair", rank=rank, left=pair[0], right=pair[1], same=same, bytes=4 * VALUES, seconds=seconds
    )


run_ranks(__file__, rank_main, {"HCCL_BUFFSIZE": BUFFER_MB})
