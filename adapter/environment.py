"""Environment variables that improve a launch; a variable that is already set is left alone."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping

from adapter.chips import A310P, Chip
from adapter.decision import Decision
from adapter.device import Machine
from adapter.memory import GIB, MARGIN, Layout, cache_bytes
from adapter.models import WITHOUT_NZ
from adapter.serving import CPU_CACHE_BYTES, DOCUMENTS, LONGEST_CPU
from adapter.weights import Weights


def variables(
    weights: Weights, machine: Machine, chip: Chip | None, layout: Layout
) -> tuple[Decision, ...]:
    """The variables for these weights on this machine; the key of a decision is the variable's name."""
    chosen = [Decision("VLLM_NO_USAGE_STATS", "1", "no network is needed", "vLLM's documents")]
    if not weights.remote_code:
        chosen.append(
            Decision("HF_HUB_OFFLINE", "1", "everything is in MODEL_PATH", "vllm-ascend's CI")
        )
    if not machine.devices:
        return (*chosen, _cpu_cache(weights))
    return (*chosen, *_npu(weights, chip, layout))


def exports(decisions: tuple[Decision, ...], environment: Mapping[str, str]) -> str:
    """Shell commands that set the variables that are not set yet."""
    absent = (decision for decision in decisions if decision.key not in environment)
    return "\n".join(
        f"export {decision.key}={shlex.quote(str(decision.value))}" for decision in absent
    )


def _npu(weights: Weights, chip: Chip | None, layout: Layout) -> tuple[Decision, ...]:
    chosen = [
        Decision(
            "VLLM_WORKER_MULTIPROC_METHOD",
            "spawn",
            "a forked process loses the NPU",
            "vllm-ascend's CI",
        ),
        Decision(
            "VLLM_ENGINE_READY_TIMEOUT_S", "1800", "large weights load slowly", "vllm-ascend's CI"
        ),
        Decision("OMP_PROC_BIND", "false", "workers share the cores", DOCUMENTS),
        Decision("OMP_NUM_THREADS", "10", "for each worker", DOCUMENTS),
        Decision("TASK_QUEUE_ENABLE", "1", "operators are queued", DOCUMENTS),
    ]
    if not (chip and chip.family == A310P):
        chosen.append(
            Decision(
                "PYTORCH_NPU_ALLOC_CONF",
                "expandable_segments:True",
                "less fragmentation",
                DOCUMENTS,
            )
        )
        shared = weights.experts > 0 and layout.devices > 1
        if shared or layout.tensor > 1:
            chosen.append(
                Decision("HCCL_OP_EXPANSION_MODE", "AIV", "faster collectives", DOCUMENTS)
            )
        if shared:
            chosen.append(
                Decision("HCCL_BUFFSIZE", "1024", "experts exchange much (MB)", DOCUMENTS)
            )
    if weights.architecture in WITHOUT_NZ:
        chosen.append(
            Decision("VLLM_ASCEND_ENABLE_NZ", "0", "weight_nz_mode, before 0.23.0", DOCUMENTS)
        )
    return tuple(chosen)


def _cpu_cache(weights: Weights) -> Decision:
    """Memory for the cache on a CPU, enough for four full sequences; vLLM would take a share of the machine's."""
    key = "VLLM_CPU_KVCACHE_SPACE"
    if weights.attention is None:
        return Decision(
            key, str(CPU_CACHE_BYTES // GIB), "GiB; the shape is unknown", "adapter/environment.py"
        )
    tokens = min(weights.context or LONGEST_CPU, LONGEST_CPU)
    wanted = math.ceil(cache_bytes(weights.attention, tokens, 1) * 4 * MARGIN / GIB)
    gib = min(CPU_CACHE_BYTES // GIB, max(1, wanted))
    return Decision(key, str(gib), f"GiB; {tokens} tokens a sequence", "adapter/environment.py")
