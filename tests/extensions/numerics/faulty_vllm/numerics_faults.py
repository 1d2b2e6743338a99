"""A plugin for a real vLLM (CPU) that breaks one thing at a time. The file in NUMERICS_FAULT holds the fault's name.

vLLM finds it through PYTHONPATH, as an entry point of vllm.general_plugins, in the engine's worker as well. The file
is read before each step of the engine, so that one server shows every fault, one after the other.

METADATA changes what attention is told of a batch: other requests are right. CONSISTENT changes every request alike,
which only a reference shows. SAMPLER changes what is drawn, and not what is told of it, or the other way round.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

ROUGH = ("weights-in-8-bit-floats", "weights-in-8-bit-integers", "weights-in-4-bit-integers")
CONSISTENT = (*ROUGH, "wrong-rope-base", "logits-scaled-twice", "long-sequences-saturate")
WRONG_ROPE_BASE = 1_000_000.0
LOGITS_SCALE = 0.8
SATURATED_FROM = 256
END_OF_TURN = 31_985
"""Of the small weights' tokenizer."""

_now = ""


def chosen() -> str:
    """The fault of this moment."""
    global _now  # noqa: PLW0603 - one for the step, so that no step has two
    try:
        _now = Path(os.environ["NUMERICS_FAULT"]).read_text("utf-8").strip()
    except OSError:
        _now = ""
    return _now


def requests_of(batch: Any) -> list[tuple[int, int, int, int]]:
    """Of each request: its place, its first token in the batch, tokens to compute, tokens computed before."""
    starts = batch.query_start_loc_cpu.tolist()
    lengths = batch.seq_lens.tolist()
    return [
        (
            place,
            starts[place],
            starts[place + 1] - starts[place],
            lengths[place] - starts[place + 1] + starts[place],
        )
        for place in range(batch.num_reqs)
    ]


def prefix_hit_reads_a_wrong_block(batch: Any) -> None:
    for place, _, new, before in requests_of(batch):
        if new > 1 and before:
            batch.block_table_tensor[place, 0] = 0


def prefix_hit_shifts_positions(batch: Any) -> None:
    for _, start, new, before in requests_of(batch):
        if new > 1 and before:
            batch.positions[start : start + new] += 1


def batch_of_three_reads_a_neighbour(batch: Any) -> None:
    if batch.num_reqs == 3:
        batch.block_table_tensor[2] = batch.block_table_tensor[1]


def graph_bucket_masks_tokens(batch: Any) -> None:
    if batch.max_query_len == 1 and 4 < batch.num_reqs <= 8:
        batch.seq_lens[:] = torch.clamp(batch.seq_lens - 8, min=1)


def full_batch_drops_the_last_slot(batch: Any) -> None:
    if batch.num_reqs >= 24 and batch.max_query_len == 1:
        batch.seq_lens[-4:] = 1


def decode_sees_one_token_less(batch: Any) -> None:
    if batch.max_query_len == 1:
        batch.seq_lens[:] = torch.clamp(batch.seq_lens - 2, min=1)


def decode_shifts_positions(batch: Any) -> None:
    if batch.max_query_len == 1:
        batch.positions[: batch.num_reqs] += 3


def mixed_step_masks_the_prefill(batch: Any) -> None:
    seen = requests_of(batch)
    if any(new == 1 for _, _, new, _ in seen):
        for place, start, new, _ in seen:
            if new > 1:
                batch.positions[start : start + new] = batch.positions[start : start + new].flip(0)
                batch.seq_lens[place] = max(int(batch.seq_lens[place]), 1)


def block_edge_is_lost(batch: Any) -> None:
    for place, _, new, before in requests_of(batch):
        if new == 1 and before % 128 < 4 and before >= 128:
            batch.block_table_tensor[place, before // 128] = 0


def graph_size_of_64_is_short(batch: Any) -> None:
    for place, _, new, before in requests_of(batch):
        if new == 1 and 64 <= before < 68:
            batch.seq_lens[place] = 32


_steps = 0


def some_steps_read_stale_memory(batch: Any) -> None:
    global _steps  # noqa: PLW0603 - a counter of this process
    _steps += 1
    if _steps % 3 == 0:
        batch.positions[: batch.num_actual_tokens] += 17


def aborted_slot_stays_dirty(batch: Any) -> None:
    """Requests after one that was left: its client cancelled while 160 tokens were asked for."""
    global _steps  # noqa: PLW0603
    lonely = batch.num_reqs == 1 and batch.max_query_len > 1
    if lonely and 8 < _steps < 150:  # the request before was ended early
        batch.positions[: batch.num_actual_tokens] += 5
    _steps = 0 if batch.max_query_len > 1 else _steps + 1


def one_place_of_five_reads_a_neighbour(batch: Any) -> None:
    if batch.num_reqs == 5 and batch.max_query_len == 1:
        batch.block_table_tensor[3] = batch.block_table_tensor[2]


def places_from_33_shift_positions(batch: Any) -> None:
    if batch.num_reqs > 32 and batch.max_query_len == 1:
        batch.positions[32 : batch.num_reqs] += 5


def long_sequences_lose_eight_tokens(batch: Any) -> None:
    for place, _, new, before in requests_of(batch):
        if new == 1 and before >= 400:
            batch.seq_lens[place] -= 8


def overflow_at_long_lengths(batch: Any) -> None:
    del batch


METADATA = {each.__name__.replace("_", "-"): each for each in (
    prefix_hit_reads_a_wrong_block, prefix_hit_shifts_positions, batch_of_three_reads_a_neighbour,
    graph_bucket_masks_tokens, full_batch_drops_the_last_slot, decode_sees_one_token_less, decode_shifts_positions,
    mixed_step_masks_the_prefill, block_edge_is_lost, graph_size_of_64_is_short, some_steps_read_stale_memory,
    aborted_slot_stays_dirty, one_place_of_five_reads_a_neighbour, places_from_33_shift_positions,
    long_sequences_lose_eight_tokens,
    overflow_at_long_lengths,
)}  # fmt: skip


def rounded(weight: torch.Tensor, name: str) -> torch.Tensor:
    """The weight as a quantization without care has it: integers with one scale for each row, or floats with none."""
    if name == "weights-in-8-bit-floats":
        return weight.to(torch.float8_e4m3fn).to(weight.dtype)
    wide = weight.float()
    most = 7 if "4-bit" in name else 127
    scale = wide.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / most
    return ((wide / scale).round() * scale).to(weight.dtype)


def positions_of(metadata: Any) -> torch.Tensor:
    """The position of each token of a batch in its sequence."""
    starts = metadata.query_start_loc
    lengths = starts[1:] - starts[:-1]
    offsets = torch.arange(int(starts[-1])) - starts[:-1].repeat_interleave(lengths)
    return offsets + (metadata.seq_lens[: len(lengths)] - lengths).repeat_interleave(lengths)


def break_attention() -> None:
    from vllm.v1.attention.backends import cpu_attn

    build = cpu_attn.CPUAttentionMetadataBuilder.build
    forward = cpu_attn.CPUAttentionBackendImpl.forward

    def broken_build(self: Any, prefix: int, batch: Any, fast_build: bool = False) -> Any:
        fault = METADATA.get(chosen())
        if fault:
            fault(batch)
        return build(self, prefix, batch, fast_build)

    def broken_forward(self: Any, layer: Any, query: Any, key: Any, value: Any, cache: Any, metadata: Any,
                       output: Any, *more: Any, **named: Any) -> Any:  # fmt: skip
        result = forward(self, layer, query, key, value, cache, metadata, output, *more, **named)
        if metadata is None:
            return result
        if _now == "overflow-at-long-lengths" and int(metadata.seq_lens.max()) > 300:
            output[: metadata.num_actual_tokens] = float("nan")
        elif _now == "long-sequences-saturate":  # the sum under the fraction stops growing
            factor = (positions_of(metadata) / SATURATED_FROM).clamp(min=1.0).to(output.dtype)
            output[: len(factor)] *= factor.view(-1, *[1] * (output.dim() - 1))
        return result

    cpu_attn.CPUAttentionMetadataBuilder.build = broken_build
    cpu_attn.CPUAttentionBackendImpl.forward = broken_forward


def break_weights() -> None:
    from vllm.model_executor.layers import utils
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    dispatch = utils.dispatch_cpu_unquantized_gemm

    def broken_dispatch(layer: Any, remove_weight: bool) -> None:
        dispatch(layer, remove_weight=False)
        if layer.weight.ndim != 2 or isinstance(layer, VocabParallelEmbedding):
            return
        healthy = layer.cpu_linear
        rough = {name: rounded(layer.weight, name) for name in ROUGH}

        def linear(x: Any, weight: Any, bias: Any) -> Any:
            if _now in rough:
                return torch.nn.functional.linear(x, rough[_now], bias)
            return healthy(x, weight, bias)

        layer.cpu_linear = linear

    utils.dispatch_cpu_unquantized_gemm = broken_dispatch


def break_rope_and_logits() -> None:
    from vllm.model_executor.layers.logits_processor import LogitsProcessor
    from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbedding

    rotate, process = RotaryEmbedding.forward_cpu, LogitsProcessor.forward

    def broken_rotate(self: Any, positions: Any, query: Any, key: Any = None) -> Any:
        if _now != "wrong-rope-base":
            return rotate(self, positions, query, key)
        right = self.base, self.cos_sin_cache
        if not hasattr(self, "wrong_cache"):
            self.base = WRONG_ROPE_BASE
            self.wrong_cache = self._compute_cos_sin_cache().to(right[1].dtype)
        self.base, self.cos_sin_cache = right[0], self.wrong_cache
        try:
            return rotate(self, positions, query, key)
        finally:
            self.cos_sin_cache = right[1]

    def broken_process(self: Any, *arguments: Any, **named: Any) -> Any:
        logits = process(self, *arguments, **named)
        return (
            logits * LOGITS_SCALE
            if _now == "logits-scaled-twice" and logits is not None
            else logits
        )

    RotaryEmbedding.forward_cpu = broken_rotate
    LogitsProcessor.forward = broken_process


def draws_the_likeliest(logits: torch.Tensor, _: Any) -> torch.Tensor:
    return logits.masked_fill(logits < logits.max(-1, keepdim=True).values, float("-inf"))


def draws_at_twice_the_temperature(logits: torch.Tensor, _: Any) -> torch.Tensor:
    return logits / 2


def draws_at_temperature_1(logits: torch.Tensor, sampling: Any) -> torch.Tensor:
    asked = sampling.temperature
    return logits if asked is None else logits * asked.clamp(min=1e-2).unsqueeze(1)


def draws_with_min_p(logits: torch.Tensor, _: Any) -> torch.Tensor:
    likely = logits.softmax(-1)
    return logits.masked_fill(likely < 0.5 * likely.max(-1, keepdim=True).values, float("-inf"))


def draws_with_noise(logits: torch.Tensor, _: Any) -> torch.Tensor:
    return logits + 0.5 * torch.randn_like(logits)


def places_from_33_draw_anything(logits: torch.Tensor, _: Any) -> torch.Tensor:
    return torch.cat([logits[:32], torch.randn_like(logits[32:])])


def steps_end_half_of_the_batch(logits: torch.Tensor, _: Any) -> torch.Tensor:
    global _steps  # noqa: PLW0603
    _steps += 1
    if _steps % 60:
        return logits
    ended = logits.clone()
    ended[::2, END_OF_TURN] = 1e4
    return ended


SAMPLER = {each.__name__.replace("_", "-"): each for each in (
    draws_the_likeliest, draws_at_twice_the_temperature, draws_at_temperature_1, draws_with_min_p, draws_with_noise,
    places_from_33_draw_anything, steps_end_half_of_the_batch,
)}  # fmt: skip
PENALTY, NORMALISER = "a-repetition-penalty", "tells-too-little"


def break_sampler() -> None:
    from vllm.v1.sample.sampler import Sampler
    from vllm.v1.worker.gpu_input_batch import InputBatch

    sample, compute, add = Sampler.sample, Sampler.compute_logprobs, InputBatch.add_request

    def broken_sample(self: Any, logits: Any, sampling: Any, *more: Any, **named: Any) -> Any:
        change = SAMPLER.get(chosen())
        return sample(
            self, change(logits, sampling) if change else logits, sampling, *more, **named
        )

    def broken_compute(logits: Any) -> Any:
        return compute(logits) - (0.3 if chosen() == NORMALISER else 0.0)

    def broken_add(self: Any, request: Any) -> Any:
        if chosen() == PENALTY:
            request.sampling_params.repetition_penalty = 1.5
        return add(self, request)

    Sampler.sample, InputBatch.add_request = broken_sample, broken_add
    Sampler.compute_logprobs = staticmethod(broken_compute)


def register() -> None:
    """Called by vLLM in each of its processes. With NUMERICS_ROUNDING, what is not broken rounds as accelerators do."""
    if "NUMERICS_ROUNDING" in os.environ:
        import numerics_rounding

        numerics_rounding.register()
    break_attention()
    break_weights()
    break_rope_and_logits()
    break_sampler()
