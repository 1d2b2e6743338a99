"""The state cache of hybrid models: for how many sequences at a time vLLM has a block.

A block holds one page of each of the layers of a group (as many as there are of attention or of linear attention,
the fewer of both). On Ascend a page is two states, as keys and values lie apart, and the input of the convolution:
    state = value heads / T × value size × key size × bytes of a number
    blocks = memory for the cache / (layers of a group × page)
Source: get_num_blocks and _get_kv_cache_groups_uniform_page_size of vllm/v1/core/kv_cache_utils.py, 0.23.0;
patch_mamba_config.py of vllm_ascend, 0.22.1rc1 to 0.28.0rc1. On a 310P a page is one state, and vllm_ascend takes
half of the memory (worker_310p.py). With one state a page, 3.86 GiB give the 161 blocks of vLLM issue 49064.
"""

from __future__ import annotations

from healthcheck.ascend import stacks
from healthcheck.stages.weights.documents import integer, positive, text_of
from healthcheck.stages.weights.fit.memory import Cached, Layout, Shape
from healthcheck.stages.weights.records import WeightsFacts

DEFAULT_SEQUENCES = 256
"""vLLM's --max-num-seqs for a device of unknown memory: vllm-ascend does not say it before the start."""
RELEASES = ">=0.22.1rc1,<0.29.0rc1"
"""Releases of vllm-ascend with that page; 0.30.0rc1 has pages of different sizes."""
_WITHOUT_FULL_GRAPHS = {"none", "piecewise"}


def sequences_with_state(facts: WeightsFacts) -> int:
    """The sequences for each of which vLLM wants a block; 0 if unknown, or if it wants none (no full graphs)."""
    mode = text_of(facts.table("compilation-config").get("cudagraph_mode")).lower()
    known = stacks.in_range(facts.row.vllm_ascend, RELEASES)
    if not known or facts.option("enforce-eager") is not None or mode in _WITHOUT_FULL_GRAPHS:
        return 0
    given = facts.option("max-num-seqs") or ""
    return int(given) if given.isdecimal() and len(given) < 9 else DEFAULT_SEQUENCES


def bytes_per_state_block(facts: WeightsFacts, shape: Shape, layout: Layout) -> int | None:
    """The bytes of a block on each device; None for another model than those with gated delta nets."""
    config = facts.weights.text_config
    heads, key_heads = (
        positive(config, "linear_num_value_heads"),
        positive(config, "linear_num_key_heads"),
    )
    value, key = positive(config, "linear_value_head_dim"), positive(config, "linear_key_head_dim")
    kinds = (shape.layers.count(Cached.STATE), shape.layers.count(Cached.FULL))
    if not (heads and key_heads and value and key and all(kinds)):
        return None
    dtype = facts.option("mamba-ssm-cache-dtype") or "auto"
    dtype = text_of(config.get("mamba_ssm_dtype")) if dtype == "auto" else dtype
    state = heads * value * key * (4 if dtype == "float32" else 2)
    convolved = (
        (2 * key_heads * key + heads * value)
        * 2
        * ((integer(config.get("linear_conv_kernel_dim")) or 1) - 1)
    )
    group = max(kinds) if max(kinds) < 1.5 * min(kinds) else min(kinds)
    return group * (2 * state + convolved) // (layout.tensor * layout.pipeline)
