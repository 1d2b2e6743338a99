"""The plan for every model of vllm-ascend's recipes, on the machine of the recipe.

Recorded launches, published shapes and sparse files; nothing is served, and no NPU is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from adapter.chips import chip_called
from tests.adapter.recipe_page import page
from tests.adapter.recipe_words import CHINESE, ENGLISH, Words
from tests.adapter.recipes import DATA, Compared, compare, differences

GIB = 2**30
TORCH_GIB = {"A3": 60.97, "910B3": 60.97, "910B4": 28.6, "310P3-Duo": 42.67, "950DT": 77.6}
"""What torch reports for one device."""


@cache
def pairs() -> tuple[Compared, ...]:
    found = []
    for recipe in DATA["recipes"]:
        with TemporaryDirectory() as folder:
            found.append(compare(recipe, Path(folder)))
    return tuple(found)


def faults(pair: Compared) -> Iterator[str]:
    """What vllm-ascend is known to refuse, and what the recipe has because the launch fails without."""
    tensor, copies = pair.planned("tensor-parallel-size"), pair.planned("data-parallel-size")
    heads, kv_heads = pair.weights.attention.heads, pair.weights.attention.kv_heads
    if tensor * copies > pair.recipe["devices"]:
        yield f"{tensor} × {copies} devices of {pair.recipe['devices']}"
    if heads % tensor or (kv_heads % tensor and tensor % kv_heads):
        yield f"{heads} and {kv_heads} heads on {tensor} devices"
    if pair.weights.experts % (tensor * copies):
        yield f"{pair.weights.experts} experts on {tensor * copies} devices"
    for option in (
        "quantization",
        "load-format",
        "tokenizer-mode",
        "mamba-ssm-cache-dtype",
        "dtype",
    ):
        if option in pair.recipe["arguments"] and pair.planned(option) != pair.asked(option):
            yield f"{option} {pair.planned(option)}, not {pair.asked(option)}"
    yield from memory_faults(pair, tensor, copies)
    yield from graph_faults(pair)
    if chip_called(pair.recipe["chip"]).family == "310P":
        yield from faults_on_310p(pair, copies)


def memory_faults(pair: Compared, tensor: int, copies: int) -> Iterator[str]:
    """Beside the weights and 2 GiB, the cache of one sequence fits in what vLLM may take."""
    shape = pair.weights.attention
    full = shape.layers - shape.linear_layers - shape.sliding_layers
    token = (
        shape.latent * 2 if shape.latent else 4 * shape.head_dim * max(1, shape.kv_heads // tensor)
    )
    weights = pair.weights.total_bytes / tensor / (copies if pair.weights.experts else 1)
    needed = weights + full * token * pair.planned("max-model-len") + 2 * GIB
    there = pair.planned("gpu-memory-utilization") * TORCH_GIB[pair.recipe["chip"]] * GIB
    if needed > there:
        yield f"{needed / GIB:.1f} GiB of {there / GIB:.1f} on each device"


def graph_faults(pair: Compared) -> Iterator[str]:
    same = [
        recipe
        for recipe in DATA["recipes"]
        if (recipe["model"], recipe["chip"]) == pair.model_and_chip
    ]
    if all(recipe["arguments"].get("enforce-eager") for recipe in same) and not pair.planned(
        "enforce-eager"
    ):
        yield "graphs, where every recipe is eager"
    asked = (pair.asked("additional-config") or {}).get("ascend_compilation_config", {})
    planned = (pair.planned("additional-config") or {}).get("ascend_compilation_config", {})
    for fusion in ("fuse_norm_quant", "fuse_qknorm_rope", "enable_npugraph_ex"):
        if asked.get(fusion) is False and planned.get(fusion) is not False:
            yield f"{fusion}, without which the recipe goes"


def faults_on_310p(pair: Compared, copies: int) -> Iterator[str]:
    if pair.planned("enable-expert-parallel"):
        yield "expert parallelism on a 310P"
    if pair.planned("dtype") != "float16":
        yield f"{pair.planned('dtype')} on a 310P"
    if pair.weights.attention.linear_layers and pair.planned("mamba-ssm-cache-dtype") != "float16":
        yield "the state of linear attention in float32 on a 310P"
    if copies > 1:
        yield "copies on a 310P"


def test_no_plan_would_fail(subtests: pytest.Subtests):
    for pair in pairs():
        with subtests.test(pair.name):
            assert [*faults(pair)] == [], pair.name


def test_every_difference_has_its_reason(subtests: pytest.Subtests):
    for pair in pairs():
        with subtests.test(pair.name):
            assert [
                difference for difference in differences(pair) if not difference.reason
            ] == [], pair.name


def test_the_plan_uses_no_fewer_devices_than_the_recipe_or_says_why(subtests: pytest.Subtests):
    for pair in pairs():
        with subtests.test(pair.name):
            used = pair.planned("tensor-parallel-size") * pair.planned("data-parallel-size")
            asked = pair.asked("tensor-parallel-size") * pair.asked("data-parallel-size")
            assert used >= min(asked, pair.recipe["devices"]) or "one copy" in pair.why(
                "data-parallel-size"
            ), pair.name


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_the_page_shows_the_differences_that_remain(words: Words):
    shown = words.page.read_text(encoding="utf-8")
    assert shown == page(pairs(), words), "run .venv/bin/python -m tests.adapter.recipe_page"


def test_a_reason_without_chinese_makes_no_page():
    with pytest.raises(KeyError, match="a reason of tomorrow"):
        CHINESE.say("a reason of tomorrow")


def test_recipes_are_facts_with_their_source():
    for recipe in DATA["recipes"]:
        assert recipe["source"].startswith("docs/source/tutorials/")
        assert recipe["releases"]
        assert recipe["model"] in DATA["models"]
        assert chip_called(recipe["chip"]).name == recipe["chip"]
        assert not any(
            isinstance(value, str) and value.startswith("$")
            for value in recipe["arguments"].values()
        )
    for name, model in DATA["models"].items():
        assert any(recipe["model"] == name for recipe in DATA["recipes"])
        assert json.loads(json.dumps(model["config"]))["architectures"]
