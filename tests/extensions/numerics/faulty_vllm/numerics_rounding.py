"""A plugin for a real vLLM (CPU) that adds in another order, as accelerators do. Its results are no worse, only others.

The matrix products of vLLM's CPU build have one order of additions, whatever stands beside a request. Kernels of
accelerators split the reduction (split-K): into as many parts as suit the number of rows, or with atomic additions
in the order in which parts are done. Here each product is cut along the reduction, each part is summed in float32 and
rounded to the type of the weights, and parts are added in that type, as PyTorch allows by default
(`allow_bf16_reduced_precision_reduction`). Nothing else changes.

The file in NUMERICS_ROUNDING says how: `rows`, `random`, or anything else for the build's own products.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import torch

FEW_ROWS = ((2, 8), (8, 4), (64, 2))
"""Up to so many rows, so many parts: the fewer rows, the more parts keep an accelerator busy."""
PARTS = (1, 2, 4, 8)


def parts_by_rows(rows: int) -> int:
    """The parts of a reduction, by the rows of the batch."""
    return next((parts for most, parts in FEW_ROWS if rows <= most), 1)


def split(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, order: list[int]
) -> torch.Tensor:
    """x @ weight.T in as many parts as `order` has, added in this order. `weight` is in float32."""
    rows, parts = x.reshape(-1, x.shape[-1]).float(), len(order)
    width = rows.shape[1] // parts
    total = None
    for part in order:
        cut = slice(part * width, (part + 1) * width)
        found = (rows[:, cut] @ weight[:, cut].T).to(x.dtype)
        total = found if total is None else total + found
    whole = total.reshape(*x.shape[:-1], -1)
    return whole if bias is None else whole + bias.to(x.dtype)


def register() -> None:
    """Called by vLLM in each of its processes."""
    from vllm.model_executor.layers import utils

    dispatch = utils.dispatch_cpu_unquantized_gemm
    path = Path(os.environ["NUMERICS_ROUNDING"])
    draw = random.Random(0)

    def noisy_dispatch(layer: Any, remove_weight: bool) -> None:
        wide = layer.weight.detach().float() if layer.weight.ndim == 2 else None
        dispatch(layer, remove_weight=remove_weight)
        if wide is None or wide.shape[1] % PARTS[-1]:
            return
        own = layer.cpu_linear

        def linear(x: Any, weight: Any, bias: Any) -> Any:
            how = path.read_text("utf-8").strip()
            if how == "rows":
                return split(x, wide, bias, list(range(parts_by_rows(x.numel() // x.shape[-1]))))
            if how == "random":
                parts = draw.choice(PARTS)
                return split(x, wide, bias, draw.sample(range(parts), parts))
            return own(x, weight, bias)

        layer.cpu_linear = linear

    utils.dispatch_cpu_unquantized_gemm = noisy_dispatch
