"""Facts of real models' config.json, and on how many 64 GB devices vllm-ascend's documents or CI serve them.

`cache` is the key-value cache of one token over all layers that keep it for every token, on one device, in bytes:
2 × layers × kv_heads × head_dim × 2, or layers × (512 + 64) × 2 for MLA.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Model:
    name: str
    gigabytes: float
    cache: int
    config: dict
    documented: int | None = None
    wrap: tuple[str, ...] = ()
    outside: dict = field(default_factory=dict)
    quantised: bool = False

    def write(self, folder: Path) -> Path:
        """A folder with its config.json, and a sparse file as large as its weights."""
        config = {"torch_dtype": "bfloat16", **self.config}
        for name in reversed(self.wrap):
            config = {name: config, **(self.outside if name == self.wrap[-1] else {})}
        (folder / "config.json").write_text(
            json.dumps({**config, **({} if self.wrap else self.outside)})
        )
        with (folder / "model.safetensors").open("wb") as file:
            file.truncate(int(self.gigabytes * 1e9))
        if self.quantised:
            (folder / "quant_model_description.json").write_text("{}")
        return folder


def shape(layers, heads, kv_heads, hidden, context, head_dim=None, **more):
    config = {
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "hidden_size": hidden, "max_position_embeddings": context,
    }  # fmt: skip
    return config | ({"head_dim": head_dim} if head_dim else {}) | more


MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
CODE = {"auto_map": {"AutoModelForCausalLM": "modeling.Model"}}
SEES = {"vision_config": {"depth": 27}, "video_token_id": 1}
MODELS = (
    Model("Qwen3-0.6B", 1.5, 114688, shape(28, 16, 8, 1024, 40960, 128), 1),
    Model("Qwen3-8B", 16.4, 147456, shape(36, 32, 8, 4096, 40960, 128), 1),
    Model("Qwen3-8B-W8A8", 9.4, 147456, shape(36, 32, 8, 4096, 40960, 128), 1, quantised=True),
    Model("Qwen3-14B", 29.5, 163840, shape(40, 40, 8, 5120, 40960, 128)),
    Model("Qwen3-32B", 65.5, 262144, shape(64, 64, 8, 5120, 40960, 128), 4),
    Model("Qwen3-32B-W8A8", 34.5, 262144, shape(64, 64, 8, 5120, 40960, 128), 4, quantised=True),
    Model("Qwen3-30B-A3B", 61.1, 98304, shape(48, 32, 4, 2048, 40960, 128, num_experts=128), 2),
    Model("Qwen3-30B-A3B-W8A8", 31.2, 98304, shape(48, 32, 4, 2048, 40960, 128, num_experts=128), 2, quantised=True),
    Model("Qwen3-235B-A22B", 470.2, 192512, shape(94, 64, 4, 4096, 40960, 128, num_experts=128), 16),
    Model("Qwen3-Next-80B-A3B", 162.7, 24576,
          shape(48, 16, 2, 2048, 262144, 256, num_experts=512, full_attention_interval=4), 4),
    Model("Qwen2.5-0.5B", 1.0, 12288, shape(24, 14, 2, 896, 32768), None),
    Model("Qwen2.5-7B", 15.2, 57344, shape(28, 28, 4, 3584, 32768), 1),
    Model("Qwen2.5-72B", 145.4, 327680, shape(80, 64, 8, 8192, 32768), 4),
    Model("Llama-3.2-3B", 6.4, 114688, shape(28, 24, 8, 3072, 131072, 128), 1),
    Model("Llama-3.1-8B", 16.1, 131072, shape(32, 32, 8, 4096, 131072), None),
    Model("Llama-3.1-70B", 141.1, 327680, shape(80, 64, 8, 8192, 131072), None),
    Model("Mixtral-8x7B", 93.4, 131072, shape(32, 32, 8, 4096, 32768, num_local_experts=8), 4),
    Model("Mistral-7B-v0.1", 14.5, 0, shape(32, 32, 8, 4096, 32768, sliding_window=4096)),
    Model("DeepSeek-V2-Lite", 31.4, 31104,
          shape(27, 16, 16, 2048, 163840, n_routed_experts=64, **MLA), outside=CODE),
    Model("DeepSeek-R1-W8A8", 685.0, 70272,
          shape(61, 128, 128, 7168, 163840, n_routed_experts=256, **MLA), 16, outside=CODE, quantised=True),
    Model("ERNIE-4.5-21B-A3B", 43.7, 57344, shape(28, 20, 4, 2560, 131072, 128, moe_num_experts=64), 1),
    Model("Hunyuan-A13B", 160.8, 131072, shape(32, 32, 8, 4096, 32768, 128, num_experts=64), 4, outside=CODE),
    Model("internlm3-8b", 17.6, 49152, shape(48, 32, 2, 4096, 32768, 128), 1, outside=CODE),
    Model("gemma-3-4b-it", 8.6, 20480,
          shape(34, 8, 4, 2560, 131072, 256, sliding_window=1024, sliding_window_pattern=6), 1,
          wrap=("text_config",), outside=SEES),
    Model("Qwen2.5-VL-7B", 16.6, 57344, shape(28, 28, 4, 3584, 128000), 1, outside=SEES),
    Model("Qwen3-VL-8B", 17.5, 147456, shape(36, 32, 8, 4096, 262144, 128), 1, wrap=("text_config",), outside=SEES),
    Model("Qwen3-VL-30B-A3B", 62.2, 98304, shape(48, 32, 4, 2048, 262144, 128, num_experts=128), 2,
          wrap=("text_config",), outside=SEES),
    Model("Qwen3-Omni-30B-A3B", 70.5, 98304, shape(48, 32, 4, 2048, 65536, 128, num_experts=128), 4,
          wrap=("thinker_config", "text_config"), outside=SEES | {"audio_config": {"d_model": 1280}}),
    Model("Phi-4", 29.3, 204800, shape(40, 40, 10, 5120, 16384)),
    Model("GLM-4.5-Air", 221.0, 188416,
          shape(46, 96, 8, 4096, 131072, 128, n_routed_experts=128, partial_rotary_factor=0.5)),
    Model("Mixtral-8x22B", 281.0, 229376, shape(56, 48, 8, 6144, 65536, num_local_experts=8)),
    Model("Llama-3.1-405B", 812.0, 516096, shape(126, 128, 8, 16384, 131072)),
    Model("Llama-4-Scout", 217.3, 49152,
          shape(48, 40, 8, 5120, 10485760, 128, num_local_experts=16, sliding_window=8192,
                layer_types=(["chunked_attention"] * 3 + ["full_attention"]) * 12), wrap=("text_config",), outside=SEES),
    Model("Qwen2.5-VL-72B", 146.8, 327680,
          shape(80, 64, 8, 8192, 128000, use_sliding_window=False, sliding_window=32768,
                rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]}), outside=SEES),
    Model("InternVL3-8B", 15.9, 57344, shape(28, 28, 4, 3584, 32768), wrap=("llm_config",),
          outside=CODE | {"vision_config": {"depth": 24}}),
    Model("R1-Distill-Llama-70B", 141.1, 327680,
          shape(80, 64, 8, 8192, 131072, rope_scaling={"rope_type": "llama3", "factor": 8.0,
                                                       "original_max_position_embeddings": 8192})),
    Model("Qwen3-235B-A22B-W8A8", 239.0, 192512, shape(94, 64, 4, 4096, 40960, 128, num_experts=128), quantised=True),
)  # fmt: skip
