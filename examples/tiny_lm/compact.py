"""A large vocabulary of which few tokens occur, as training sees it: those tokens, and one for all the others."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from transformers import PreTrainedModel

PADDING = -100


class Compact:
    """Ids of the tokens that occur, numbered anew in order; `size - 1` stands for every other token.

    Attributes:
        known: the tokens that occur, as ids of the whole vocabulary.
        log_weights: what is added to the logits, (size,): the last one stands for so many tokens that score alike.
    """

    def __init__(self, vocabulary: int, occurring: Iterable[int]) -> None:
        self.known = torch.tensor(sorted(set(occurring)))
        self.size = len(self.known) + 1
        self.log_weights = torch.zeros(self.size)
        self.log_weights[-1] = math.log(vocabulary - len(self.known))
        self._numbers = torch.full((vocabulary,), self.size - 1)
        self._numbers[self.known] = torch.arange(len(self.known))

    def of(self, ids: torch.Tensor) -> torch.Tensor:
        """Ids of the whole vocabulary in the compact one; padding stays."""
        return torch.where(ids == PADDING, PADDING, self._numbers[ids.clamp(min=0)])


@torch.no_grad()
def spread(trained: PreTrainedModel, whole: PreTrainedModel, compact: Compact) -> None:
    """Give a model of the whole vocabulary what a compact one has learnt.

    Tokens that never occurred keep the small random rows of their initialisation, moved to where the one that stood
    for them has been learnt: they are told apart, and score alike.
    """
    learnt = trained.get_input_embeddings().weight
    rows = whole.get_input_embeddings().weight
    whole.load_state_dict(
        {k: v for k, v in trained.state_dict().items() if v.shape != learnt.shape}, strict=False
    )
    rows += learnt[-1]
    rows[compact.known] = learnt[:-1]
