"""Muon: momentum whose update is made orthogonal. Matrices this small learn nothing in two minutes without it."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """The nearest semi-orthogonal matrix, by five Newton-Schulz steps (coefficients of Jordan et al., 2024)."""
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    if tall:
        x = x.T
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """For the hidden matrices; embeddings and norms stay with AdamW."""

    def __init__(self, parameters: Iterable[torch.Tensor], lr: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": 0.95, "decay": 0.01})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                momentum = state.setdefault("momentum", torch.zeros_like(parameter))
                momentum.lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonal(parameter.grad.lerp(momentum, group["momentum"]))
                scale = max(1.0, parameter.size(0) / parameter.size(1)) ** 0.5
                parameter.mul_(1 - group["lr"] * group["decay"]).add_(
                    update, alpha=-group["lr"] * scale
                )
