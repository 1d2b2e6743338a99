"""What docs/recipes.md says, in each language: `Words` with its text and its words for the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Words:
    """A page in one language; `layouts` and `others` end with the head of a table.

    Attributes:
        say: its words for an English reason, or for what is left out and why; KeyError if it has none.
        options: how it writes the options whose names have English words.
        unnamed: of a context that the recipe leaves to vLLM.
        comma: between releases; `either` between reasons of one row.
        item: what is left out, and why.
    """

    page: Path
    say: Callable[[str], str]
    options: Mapping[str, str]
    top: str
    copies: str
    layouts: str
    others: str
    left_out: str
    unnamed: str
    comma: str
    either: str
    item: str


ENGLISH = Words(
    page=_DOCS / "recipes.md",
    say=str,
    options={},
    top="""\
# The plan beside vllm-ascend's recipes

<!-- Written by `python -m tests.adapter.recipe_page` from scripts/data/recipes.json and the adapter. -->

vllm-ascend documents how it launches its models. `scripts/data/recipes.json` records {recipes} of these launches,
for {models} models, from the tutorials in the released packages of {releases}:
those on one machine that serve chat completions, of weights whose shape is published. `tests/adapter/test_recipes.py`
plans each model on the machine of its recipe. It fails where the plan would not start by what is known of vllm-ascend,
or differs without a reason.

This compares words with words: recorded launches with planned ones. **Nothing was served, and no NPU was used.** The
sizes of quantised weights are approximate.
""",
    copies="""\
## Copies of a model

Where one copy leaves devices idle, the plan adds `--data-parallel-size`: copies in one `vllm serve`, on one port. A
dense model gets as many as there are devices for. A mixture of experts gets copies that share its experts, and only if
a recipe has copies of its architecture and its weights are in 16 bits or by ModelSlim. On an A3 a large mixture is
4 × 4 or 8 × 2 where recipes have it so; on an A2 it is one copy, as there. `ADAPTER_DATA_PARALLEL_SIZE=1` asks for one.

By the source of vLLM 0.23.0: each copy is an engine process, to which vLLM shows its own devices alone; there are as
many API servers as copies, which share the port, and one process that balances them. Engines and API servers talk over
local sockets; copies of a mixture meet at a port that vLLM finds free. Every copy reserves its devices as one copy
would, and each process takes some gigabytes of the host's memory. If one copy fails, the server stops.
""",
    layouts="""\
## Devices and context

TP is the number of devices of one copy, DP the number of copies. The recipe is that of the newest release; where one
has several launches for a machine, the first.

| model | machine | recipe: TP × DP, context | plan: TP × DP, context |
|---|---|---|---|
""",
    others="""\
## Differences that remain

How many of the recipes have the option in another way, and why the plan has not. Where the plan has more of the same
(a longer context, more requests), it is not counted.

| option | recipes | reason |
|---|---|---|
""",
    left_out="""\
## Not compared

""",
    unnamed="not named",
    comma=", ",
    either="; or ",
    item="- {}: {}.",
)

_IN_CHINESE = {
    # why the plan has an option in another way
    "only speed": "只影响速度",
    "vLLM's default: only speed": "沿用 vLLM 的默认值：只影响速度",
    "vLLM chooses the sizes: only speed": "捕获哪些大小的图由 vLLM 选择：只影响速度",
    "vllm-ascend's default": "沿用 vllm-ascend 的默认值",
    "vllm-ascend sets it": "由 vllm-ascend 设置",
    "the least that is recommended on NPUs": "NPU 上建议的最小值",
    "leaves a tenth to the runtime": "留出十分之一给运行时",
    "all that the model was made for": "已是模型支持的全部长度",
    "enough for an evaluation, of the model's N": "足够评测之用（模型最长支持 N）",
    "the cache holds N sequences of N tokens": "缓存容得下 N 个序列，每个长 N 个 token",
    "less fragmentation": "减少内存碎片",
    "most recipes for a 310P go without": "310P 的启动示例大多不设这一项",
    "no graphs": "不使用 ACL 图",
    "only the host's memory and the time to load": "只影响主机内存和加载时间",
    "a smaller cache in less precise numbers": "缓存更小，但数值精度更低",
    "contexts beyond what an evaluation needs": "只有上下文比评测所需更长时才用得上",
    "a longer context or another index than the weights name": "上下文比权重写明的更长，或索引设置与权重写明的不同",
    "misspelt in the recipe; the plan spells it enable_npugraph_ex": "启动示例拼写有误；计划中写作 enable_npugraph_ex",
    "the service has the weights alone, no draft model beside them": "评测服务只有权重，没有随附的草稿模型",
    'drafts save time but changed answers; ask with {"method": "mtp", "num_speculative_tokens": 1}':
        '用草稿可以省时间，但曾使回答改变；需要时设为 {"method": "mtp", "num_speculative_tokens": 1}',
    "N GiB of weights a device leave room for the cache; copies of N device(s) each share requests and experts":
        "每个设备放 N GiB 权重，还放得下缓存；每个副本占 N 个设备，分担请求和专家",
    "N GiB of weights a device leave room for the cache; copies of N device(s) each share the requests":
        "每个设备放 N GiB 权重，还放得下缓存；每个副本占 N 个设备，分担请求",
    "N GiB of weights a device leave room for the cache; one copy: it takes N device(s)":
        "每个设备放 N GiB 权重，还放得下缓存；只用一个副本：一个副本就占 N 个设备",
    "N GiB of weights a device leave room for the cache; one copy: no recipe has more of this mixture":
        "每个设备放 N GiB 权重，还放得下缓存；只用一个副本：没有启动示例对这种混合专家模型用多个副本",
    "N GiB of weights a device leave room for the cache; one copy: no recipe has more on a 310P":
        "每个设备放 N GiB 权重，还放得下缓存；只用一个副本：没有启动示例在 310P 上用多个副本",
    "N GiB of weights a device: 4 copies share experts; copies of N device(s) each share requests and experts":
        "每个设备放 N GiB 权重：专家由 4 个副本分担；每个副本占 N 个设备，分担请求和专家",
    # what is not compared
    "Qwen3.8-27B, Qwen3.8-Flash-Next, Qwen3.8-2.4T-A95B": "Qwen3.8-27B、Qwen3.8-Flash-Next、Qwen3.8-2.4T-A95B",
    "GLM-5.3, GLM-5.3-Flash": "GLM-5.3、GLM-5.3-Flash",
    "Kimi-K3": "Kimi-K3",
    "MiniMax-M3 in MXFP8 on a 950DT": "MiniMax-M3（950DT，MXFP8）",
    "Hy4-preview": "Hy4-preview",
    "Dots3-Note": "Dots3-Note",
    "Gemma4": "Gemma4",
    "DeepSeek-V4.1-Flash, DeepSeek-V4-Flash-Vision": "DeepSeek-V4.1-Flash、DeepSeek-V4-Flash-Vision",
    "DeepSeek-V4-Flash with DSpark, in FP8 on a 950DT": "DeepSeek-V4-Flash（带 DSpark；950DT，FP8）",
    "DeepSeek-V3.1 and GLM-5 in W4A4 on a 950DT": "DeepSeek-V3.1 和 GLM-5（950DT，W4A4）",
    "DeepSeek-V4-Pro and other launches over several machines": "DeepSeek-V4-Pro 以及其他多机启动",
    "Cohere-Transcribe, embeddings, rerankers, reward models, SigLIP2":
        "Cohere-Transcribe、嵌入模型、重排模型、奖励模型、SigLIP2",
    "GLM-5.2 with 1,024,000 tokens, Qwen3-32B with 135,000 by YaRN":
        "GLM-5.2（1,024,000 token）、Qwen3-32B（用 YaRN，135,000 token）",
    # why it is not
    "the shape of the model is not recorded here": "这里没有记录模型的结构参数",
    "weights of another kind, beside the two that are compared": "这是另一种权重，已有两种参加对照",
    "weights of other kinds, beside the W8A8 ones that are compared": "这是另外的权重，参加对照的是 W8A8",
    "the recipe does not say which of the Gemma 4 models it launches": "启动示例没有写明启动的是哪个 Gemma 4 模型",
    "the evaluation service has one machine": "评测服务只有一台机器",
    "they do not serve chat completions": "它们不提供 chat completions 接口",
    "second recipes of models that are compared": "模型已参加对照，这是它的另一个启动示例",
}  # fmt: skip

CHINESE = Words(
    page=_DOCS / "zh" / "recipes.md",
    say=_IN_CHINESE.__getitem__,
    options={"speculative-config with a draft model": "`speculative-config`，带草稿模型"},
    top="""\
# 启动计划与 vllm-ascend 的启动示例对照

<!-- Written by `python -m tests.adapter.recipe_page` from scripts/data/recipes.json and the adapter. -->

vllm-ascend 的文档给出了各个模型的启动示例。`scripts/data/recipes.json` 记录了其中的 {recipes} 个，涉及 {models} 个模型，取自 {releases} 发布包里的教程：都是单机启动，提供 chat completions 接口，权重的结构参数已公开。`tests/adapter/test_recipes.py` 按启动示例所用的机器，为每个模型生成启动计划。如果按 vllm-ascend 已知的行为，该计划无法启动，或者计划与启动示例不同却没有理由，测试就会失败。

这里只对照文字：一边是启动示例中记录的参数，一边是启动计划的参数。**没有启动任何服务器，也没有用到 NPU**。量化权重的大小是近似值。
""",
    copies="""\
## 模型的副本

如果只用一个副本会让一些设备闲置，计划就加上 `--data-parallel-size`：多个副本在同一个 `vllm serve` 里，用同一个端口。稠密模型的副本数，以设备放得下为准，能放几个就放几个。混合专家（MoE）模型的各副本分担专家；只有启动示例对这种架构用过多个副本，并且权重为 16 位或由 ModelSlim 量化时，才用多个副本。大型混合专家模型在 A3 上为 4 × 4 或 8 × 2，前提是启动示例也这样配置；在 A2 上只用一个副本，与启动示例相同。只想要一个副本，就设 `ADAPTER_DATA_PARALLEL_SIZE=1`。

根据 vLLM 0.23.0 的源码：每个副本是一个引擎进程，vLLM 只让它看到分给自己的设备；副本有几个，API 服务器就有几个，它们共用一个端口，另有一个进程在它们之间均衡负载。引擎与 API 服务器通过本地套接字通信；混合专家模型的各副本通过 vLLM 找到的空闲端口建立连接。每个副本预留的设备内存与只有一个副本时相同，每个进程占用若干 GB 主机内存。任何一个副本出错，服务器就会停止。
""",
    layouts="""\
## 设备与上下文

TP 是一个副本占用的设备数，DP 是副本数。有多个版本时，取最新版本的启动示例；同一版本对同一种机器有多个启动示例时，取第一个。

| 模型 | 机器 | 启动示例：TP × DP，上下文 | 计划：TP × DP，上下文 |
|---|---|---|---|
""",
    others="""\
## 余下的差异

下表列出：每个选项在多少个启动示例中与计划不同，计划为什么没有照做。计划的取值更大的（上下文更长、请求更多）不计入。

| 选项 | 启动示例数 | 理由 |
|---|---|---|
""",
    left_out="""\
## 没有对照的

""",
    unnamed="未指定",
    comma="、",
    either="；或者：",
    item="- {}：{}。",
)
