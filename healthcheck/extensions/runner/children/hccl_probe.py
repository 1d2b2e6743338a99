"""An all-reduce over HCCL: one process per device, each contributes its rank plus one, all must get the sum.

Called with the number of devices; `run_ranks` calls it once per rank.
"""

from shared import join_ranks, run_ranks, said, say

INIT_S = 150


def rank_main(rank: int, world: int, port: int) -> None:
    try:
        torch, distributed = join_ranks(rank, world, port, INIT_S)
        values = torch.tensor([float(rank + 1)] * 256).to(f"npu:{rank}")
        distributed.all_reduce(values)
        seen = values.cpu().tolist()
        say("reduced", rank=rank, right=seen == [world * (world + 1) / 2] * 256, seen=seen[0])
        distributed.destroy_process_group()
    except BaseException as error:
        say("error", at=f"rank {rank}", during="all-reduce", device=rank, text=said(error))
        raise SystemExit(1) from error


run_ranks(__file__, rank_main, {})
