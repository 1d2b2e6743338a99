"""plan/fits-hardware: what deploy.sh would launch fits the devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from healthcheck import contract
from healthcheck.ascend import hardware, stacks
from healthcheck.ascend.hardware import GIB, Family, Npu
from healthcheck.contract import Rule
from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.weights.fit import (
    BLOCK_TOKENS,
    MASK_BYTES,
    OVERHEAD_BYTES,
    YARN_WITH_FACTOR_SINCE,
    Demand,
    Shape,
    bytes_per_state_block,
    cache_per_sequence,
    judge_quantization,
    longest_context,
    longest_sequence,
    read_demand,
    room_of,
    sequences_with_state,
    stretched_context,
    weights_per_device,
)
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.inventory import MAIN_INDEX
from healthcheck.stages.weights.records import WeightsFacts, check, judge_only_launches
from healthcheck.stages.weights.repairs import (
    Repair,
    place_of,
    together,
    with_option,
    without_option,
    without_variable,
)
from healthcheck.text.messages import joined, msg

MAX_DIGITS = 9
"""Digits of the longest device number."""
TENSOR, LENGTH = "tensor-parallel-size", "max-model-len"
PARALLEL = (
    TENSOR,
    "pipeline-parallel-size",
    "data-parallel-size",
    "prefill-context-parallel-size",
)
"""The options whose product is the number of devices; the plan stage says why one of them has no number."""
SHORTEST = 1024
"""The fewest tokens of a context that is worth a repair."""
KIND_SIZES = (1, 2, 4, 8, 16)
WITH_MASK = ">=0.15.0rc1"
"""Releases of vllm-ascend with a mask of --max-model-len × --max-model-len on a 310P."""
TORCH_NPU_WITHOUT_MASK = "2.10.0.post4"
"""The release with the operators for a small one."""


@check(
    "plan/fits-hardware",
    msg("The model fits the devices"),
    why=msg(
        "The engine of a model that does not fit stops while it loads, or while it reserves the cache."
    ),
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def plan_fits_hardware(facts: WeightsFacts) -> Findings:
    """Each device holds its part of the weights, about 2 GiB of working memory, and the key-value cache: at least
    one sequence of --max-model-len tokens has to fit in what --gpu-memory-utilization leaves, or vLLM does not
    start. Weights are divided by tensor and pipeline parallel size; with --enable-expert-parallel, routed experts
    also by the data parallel size. The tensor parallel size has to divide the attention heads, and the key-value
    heads or be a multiple of them. 310P and 910A compute in float16 only; W8A8 weights fail with float16 on a 910B.

    On a 310P, vllm-ascend 0.18.0 and later give half of the free memory to the cache, and releases with a torch_npu
    before 2.10.0.post4 make an attention mask of the context's length squared in what vLLM leaves.

    Models with linear attention (Qwen3-Next, Qwen3.5 and later) also need a block of their state cache for each of
    --max-num-seqs sequences, or vLLM ends while it captures graphs.

    Which methods of quantisation load depends on the row of the version matrix (--stack): ModelSlim's in every
    release, compressed-tensors from 0.12.0rc1 on, FP8 from 0.21.0rc1 on, and not AWQ, GPTQ or bitsandbytes; which
    schemes of them run on which chip is judged by weights/quantization-scheme. ModelSlim weights need
    `--quantization ascend`, which only 0.15.0rc1 and releases from 0.17.0rc1 on find out by themselves. FP8 weights
    count 16 bits a number where the release expands them: from 0.27.1rc1 on, on all chips but the 950.

    Which NPUs the service has is not documented (910B4 with 32 GB and 910B with 64 GB have been seen). With --npu
    KIND and --npus N, or a profile of the service that says them, the check judges those devices; without them it
    lists which devices would fit.

    To repair: lower --max-model-len, raise --tensor-parallel-size, or quantize the weights; in a repository with an
    adapter.toml these are its keys max_model_len and tensor_parallel_size.

    Example:
    ```json config.json
    {
      "architectures": ["Qwen3ForCausalLM"],
      "model_type": "qwen3",
      "hidden_size": 4096,
      "num_attention_heads": 32,
      "num_key_value_heads": 8,
      "num_hidden_layers": 36
    }
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --tensor-parallel-size 3
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --tensor-parallel-size 4
    ```
    """
    if (
        facts.plan is None or not facts.plan.settings
    ):  # a planner that refuses the devices starts no server
        judge_only_launches(facts)
    for name in PARALLEL:
        size = facts.option(name)
        if (
            size is not None
            and not (size.isdecimal() and int(size[:MAX_DIGITS]) > 0)
            and UNRESOLVED not in size
        ):
            given = shown(size) or msg("empty")
            raise NotApplicable(
                msg(
                    "--{name} is {given}, so the number of devices is unknown",
                    name=name,
                    given=given,
                )
            )
    if facts.engine.memory is None:
        raise NotApplicable(
            msg("how {engine} uses memory is not known here", engine=facts.engine.name)
        )
    if facts.weights.announced_bytes == 0:
        seen = msg(
            "the weights are not here, and no {main_index} says how large they are",
            main_index=MAIN_INDEX,
        )
        fix = msg(
            "put {main_index} beside the configuration, or download the weights",
            main_index=MAIN_INDEX,
        )
        yield unsettled(expected=msg("the size of the weights"), seen=seen, fix=fix)
        return
    demand = read_demand(facts)
    for finding in _misfits(facts, demand):
        yield replace(finding, rule=finding.rule or _rule(facts))


def _rule(facts: WeightsFacts) -> Rule | None:
    """The rule of the service's profile about the devices, if these devices are judged."""
    judged = ((contract.NPUS, facts.npus), (contract.NPU, facts.npu))
    said = contract.service()
    return next((rule for rule, value in judged if value and value in {said.npu, said.npus}), None)


def _misfits(facts: WeightsFacts, demand: Demand) -> Findings:
    yield from _heads(facts, demand)
    too_long = list(_length(facts, demand))
    yield from too_long
    if too_long:  # what follows is judged with what is to be passed
        longest = longest_context(facts, demand.shape)
        demand = replace(demand, context=longest, context_source=msg("the model's own length"))
    yield from _visible(facts, demand)
    yield from judge_quantization(facts, demand.load)
    kinds = hardware.find(facts.npu) if facts.npu else ()
    if facts.npu and not kinds:
        expected = msg("one of {label}", label=", ".join(kind.label for kind in hardware.known()))
        yield warn(
            expected=expected, seen=f"--npu {shown(facts.npu)}", fix=msg("name a kind of that list")
        )
    if kinds:
        yield from _on(facts, demand, kinds[0])
    else:
        usual = max(_usual(), key=lambda kind: kind.usable_bytes)
        yield from _too_many(facts, demand, usual, facts.npus or demand.layout.devices)
        yield from _anywhere(facts, demand)
        yield from _states(facts, demand, usual, warn)


def _heads(facts: WeightsFacts, demand: Demand) -> Findings:
    shape, tensor = demand.shape, demand.layout.tensor
    if shape is None or tensor == 1:
        return
    fitting = [size for size in KIND_SIZES if _divides(shape, size)]
    if shape.heads % tensor:
        seen = msg(
            "{heads} attention heads, --tensor-parallel-size {tensor}",
            heads=shape.heads,
            tensor=tensor,
        )
    elif not _kv_fits(shape, tensor):
        seen = msg(
            "{kv_heads} key-value heads, --tensor-parallel-size {tensor}",
            kv_heads=shape.kv_heads,
            tensor=tensor,
        )
    else:
        return
    expected = msg("a tensor parallel size that divides the heads (vLLM refuses others)")
    beside = demand.layout.devices // demand.layout.tensor
    most = max((facts.npus or demand.layout.devices) // beside, 1)
    best = max(size for size in fitting if size <= most)
    repair = with_option(facts, TENSOR, str(best))
    others = [str(size) for size in fitting if size != best]
    fix = (
        msg(
            "{order} ({others} divide the heads, too)",
            order=repair.order,
            others=joined(", ", others),
        )
        if others
        else repair.order
    )
    yield fail(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)


def _length(facts: WeightsFacts, demand: Demand) -> Findings:
    limit, server = longest_context(facts, demand.shape), facts.server
    if server is None or limit is None or demand.context is None or demand.context <= limit:
        return
    seen = msg(
        "{context:,} tokens ({context_source})",
        context=demand.context,
        context_source=demand.context_source,
    )
    repair = with_option(facts, LENGTH, str(limit))
    fix = repair.order
    if server.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") not in {"", "0"}:
        expected = msg(
            "at most the {limit:,} tokens that the model is made for (beyond, answers may be nonsense)",
            limit=limit,
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)
        return
    if (longer := stretched_context(facts, demand.shape)) > limit:
        fix = msg(
            '{order}, or write "max_position_embeddings": {longer} in --hf-overrides: from '
            "vLLM {since} on it contains the factor of YaRN",
            order=repair.order,
            longer=longer,
            since=YARN_WITH_FACTOR_SINCE,
        )
    expected = msg(
        "at most the {limit:,} tokens that the model is made for (vLLM refuses more)", limit=limit
    )
    yield fail(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)


def _visible(facts: WeightsFacts, demand: Demand) -> Findings:
    """Judge the devices that deploy.sh makes visible to the engine."""
    listed = facts.server.env.get("ASCEND_RT_VISIBLE_DEVICES", "") if facts.server else ""
    numbers = [part.strip() for part in listed.split(",") if part.strip()]
    known = bool(numbers) and all(number.isdecimal() for number in numbers)
    ids = [int(number[:MAX_DIGITS]) for number in numbers] if known else []
    set_ = f"ASCEND_RT_VISIBLE_DEVICES={shown(listed)}"
    repair = without_variable(facts, "ASCEND_RT_VISIBLE_DEVICES")
    unset = msg("{order} (the service decides which devices there are)", order=repair.order)
    if 0 < len(numbers) < demand.layout.devices:
        expected = msg(
            "{devices} devices, for tensor × pipeline × data × prefill context parallel size",
            devices=demand.layout.devices,
        )
        seen = f"{set_}: {len(numbers)}"
        yield fail(expected=expected, seen=seen, fix=unset, where=repair.where, edits=repair.edits)
    elif ids != sorted(set(ids)):
        expected = msg(
            "devices in ascending order, each once (CANN refuses others with error 107001)"
        )
        yield fail(expected=expected, seen=set_, fix=unset, where=repair.where, edits=repair.edits)
    elif ids and ids[-1] >= (facts.npus or contract.service().npus or len(ids)):
        say: Callable[..., Finding] = fail
        if contract.NPUS.is_own:
            expected = msg("devices that the service has: {npus}", npus=contract.service().npus)
        elif facts.npus:
            expected = msg("at most the devices that there are: {npus} (--npus)", npus=facts.npus)
        else:
            say, expected = (
                warn,
                msg("devices that the service has: how many and which ones is not documented"),
            )
        seen = msg(
            "ASCEND_RT_VISIBLE_DEVICES={listed}, so at least {ids} devices are needed",
            listed=shown(listed),
            ids=ids[-1] + 1,
        )
        yield say(expected=expected, seen=seen, fix=unset, where=repair.where, edits=repair.edits)


def _kv_fits(shape: Shape, tensor: int) -> bool:
    """Source: vLLM's QKVParallelLinear divides key-value heads, or replicates them if there are too few."""
    if shape.latent:
        return True
    return (
        shape.kv_heads % tensor == 0 if shape.kv_heads >= tensor else tensor % shape.kv_heads == 0
    )


def _divides(shape: Shape, tensor: int) -> bool:
    return shape.heads % tensor == 0 and _kv_fits(shape, tensor)


def _largest(shape: Shape | None, npus: int) -> int:
    """The largest tensor parallel size for the heads on at most `npus` devices."""
    return max(
        size for size in KIND_SIZES if size <= npus and (shape is None or _divides(shape, size))
    )


def _numbers(
    facts: WeightsFacts, demand: Demand, npu: Npu, report: Callable[..., Finding]
) -> Findings:
    load = demand.load
    if not npu.bfloat16 and load.dtype in {"bfloat16", "float32"}:
        expected = msg("float16: a {label} computes in nothing else", label=npu.label)
        seen = msg("{dtype} ({dtype_source})", dtype=load.dtype, dtype_source=load.dtype_source)
        repair = with_option(facts, "dtype", "float16")
        yield report(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
    int8 = "I8" in load.stored[:1] or "w8a8" in load.quantization_source.lower()
    if (
        npu.family is Family.A2
        and load.dtype == "float16"
        and int8
        and load.quantization == "ascend"
    ):
        expected = msg("bfloat16 for W8A8 weights on a {label}", label=npu.label)
        seen = msg(
            "float16 ({dtype_source}): the quantized matrix product fails with it",
            dtype_source=load.dtype_source,
        )
        repair = with_option(facts, "dtype", "bfloat16")
        yield report(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )


def _on(facts: WeightsFacts, demand: Demand, npu: Npu) -> Findings:
    if not npu.served:
        expected = msg("an NPU that vllm-ascend supports (910B, 910C, 310P, 950)")
        seen = f"--npu {npu.label}"
        yield fail(
            expected=expected,
            seen=seen,
            fix=msg("use another machine; on this one serve with MindIE"),
        )
    yield from _numbers(facts, demand, npu, fail)
    npus = facts.npus or demand.layout.devices
    yield from _too_many(facts, demand, npu, npus)
    yield _verdict(facts, demand, npu)
    yield from _states(facts, demand, npu, fail)
    yield from _mask(facts, demand, npu)


def _states(
    facts: WeightsFacts, demand: Demand, npu: Npu, report: Callable[..., Finding]
) -> Findings:
    """Judge the sequences at a time; `report` is for more than the state cache holds without working memory."""
    wanted, shape = sequences_with_state(facts), demand.shape
    block = bytes_per_state_block(facts, shape, demand.layout) if shape else None
    if not wanted or block is None:
        return
    room = room_of(demand, npu)
    most, safe = room.most_cache // block, room.cache // block
    if 0 < safe < wanted:
        say = report if most < wanted else warn
        expected = msg("a block of the state cache for each sequence of --max-num-seqs")
        seen = msg(
            "{wanted} sequences{default}, and about {safe} blocks on a {label}: vLLM ends with “max_num_seqs "
            "({wanted}) exceeds available Mamba cache blocks”",
            wanted=wanted,
            default="" if facts.option("max-num-seqs") else msg(", vLLM's default"),
            safe=safe,
            label=npu.label,
        )
        repair = with_option(facts, "max-num-seqs", str(1 << (safe.bit_length() - 1)))
        yield say(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )


def _mask(facts: WeightsFacts, demand: Demand, npu: Npu) -> Findings:
    """Judge a 310P's attention mask, which is made after vLLM has taken its memory.

    Source: AttentionMaskBuilder310 in vllm_ascend/_310p/attention/attention_mask.py.
    """
    row, beside = facts.row, room_of(demand, npu).after_start
    has = stacks.in_range(row.vllm_ascend, WITH_MASK) and stacks.is_older(
        row.torch_npu, TORCH_NPU_WITHOUT_MASK
    )
    most = math.isqrt(beside // MASK_BYTES) // BLOCK_TOKENS * BLOCK_TOKENS
    if (
        npu.family is not Family.P310
        or not has
        or (demand.context or 0) <= most
        or not facts.engine.loading.as_vllm
    ):
        return
    made = MASK_BYTES * (demand.context or 0) ** 2
    expected = msg(
        "an attention mask of at most the {beside:.1f} GiB that vLLM leaves", beside=beside / GIB
    )
    seen = msg(
        "{made:.1f} GiB for {context:,} tokens ({source}) with vllm-ascend {release} on a {label}",
        made=made / GIB,
        context=demand.context,
        source=demand.context_source,
        release=row.vllm_ascend,
        label=npu.label,
    )
    repair = with_option(facts, LENGTH, str(most))
    fix = repair.order + msg(", or take vllm-ascend {repaired}", repaired=stacks.DEFAULT)
    yield warn(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)


def _too_many(facts: WeightsFacts, demand: Demand, npu: Npu, npus: int) -> Findings:
    if demand.layout.devices > npus:
        seen = msg(
            "{devices} needed: tensor × pipeline × data × prefill context parallel size",
            devices=demand.layout.devices,
        )
        needed = _smallest(demand, npu)
        repair = (
            _lack(facts, npu, needed)
            if needed is None or needed > npus
            else _on_devices(facts, _largest(demand.shape, npus))
        )
        expected = msg("at most --npus {npus}", npus=npus)
        yield fail(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )


def _on_devices(facts: WeightsFacts, size: int) -> Repair:
    """Divide the model by tensor parallelism alone."""
    others = [name for name in PARALLEL[1:] if facts.option(name) not in {None, "1"}]
    return together(
        with_option(facts, TENSOR, str(size)), *(without_option(facts, name) for name in others)
    )


def _smallest(demand: Demand, npu: Npu, above: int = 0) -> int | None:
    """The smallest tensor parallel size with which the weights fit; None if there is none."""
    shape, room = demand.shape, npu.usable_bytes * demand.utilization
    fitting = (
        size
        for size in KIND_SIZES
        if size > above and (shape is None or _divides(shape, size))
        if demand.load.total_bytes // size + OVERHEAD_BYTES < room
    )
    return next(fitting, None)


def _lack(facts: WeightsFacts, npu: Npu, needed: int | None) -> Repair:
    """The repair of weights that do not fit the stated devices, by hand: the kit cannot add devices."""
    order = msg("quantize the weights, or choose a smaller model")
    if needed is not None and contract.NPUS.is_own:
        order = msg(
            "submit smaller (quantized) weights: by the kit's estimate, these need {needed} NPUs like a {label}, "
            "and the service has {npus}",
            needed=needed,
            label=npu.label,
            npus=contract.service().npus,
        )
    elif needed is not None:
        order = msg(
            "by the kit's estimate, this model needs {needed} NPUs like a {label}. Find out whether the evaluation "
            "service offers that many. If it does, pass --tensor-parallel-size {needed} in deploy.sh and verify "
            "with --npus {needed}; if it does not, submit smaller (quantized) weights",
            needed=needed,
            label=npu.label,
        )
    return Repair(order=order, where=place_of(facts, TENSOR) or facts.where)


def _longest(demand: Demand, npu: Npu) -> int | None:
    """The longest sequence that fits with working memory; None if unknown."""
    if demand.shape is None or demand.context is None:
        return None
    return longest_sequence(demand.shape, room_of(demand, npu).cache, demand.layout, demand.context)


def _verdict(facts: WeightsFacts, demand: Demand, npu: Npu) -> Finding:
    layout, shape, room = demand.layout, demand.shape, room_of(demand, npu)
    weights = room.weights
    kind, usable = f"{npu.label}{hardware.doubt(facts.npu or npu.name)}", npu.usable_bytes / GIB
    have = msg(
        "{usable_bytes:.1f} GiB × {utilization:g} on a {kind}",
        usable_bytes=usable,
        utilization=demand.utilization,
        kind=kind,
    )
    if room.left <= 0:
        expected = msg("weights that fit a device ({have})", have=have)
        seen = msg(
            "{weights:.1f} GiB of weights on each of {devices} devices",
            weights=weights / GIB,
            devices=layout.devices,
        )
        repair = _spread(facts, demand, npu)
        return fail(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
    if shape is None or demand.context is None:
        return note(
            msg(
                "weights take {weights:.1f} GiB of {have}; the cache cannot be reckoned",
                weights=weights / GIB,
                have=have,
            )
        )
    cache = cache_per_sequence(shape, demand.context, layout)
    safe = longest_sequence(shape, room.cache, layout, demand.context)
    parts = msg(
        "weights {weights:.1f} GiB, cache of one sequence of {context:,} tokens ({context_source}) "
        "{cache:.1f} GiB, working memory about {overhead_bytes:.0f} GiB; {have}",
        weights=weights / GIB,
        context=demand.context,
        context_source=demand.context_source,
        cache=cache / GIB,
        overhead_bytes=OVERHEAD_BYTES / GIB,
        have=have,
    )
    if safe >= demand.context:
        many = room.cache // max(cache, 1)
        return note(
            msg(
                "by memory, it fits: {parts}; room for about {many:,} full sequences at a time",
                parts=parts,
                many=many,
            )
        )
    report = fail if cache > room.most_cache else warn
    expected = msg("weights and the cache of one sequence on each device")
    repair = _shorter(facts, demand, npu, safe)
    return report(
        expected=expected, seen=parts, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _shorter(facts: WeightsFacts, demand: Demand, npu: Npu, longest: int) -> Repair:
    if longest < SHORTEST:
        return _spread(facts, demand, npu, above=demand.layout.tensor)
    return with_option(facts, LENGTH, str(longest))


def _spread(facts: WeightsFacts, demand: Demand, npu: Npu, above: int = 0) -> Repair:
    """Suggest expert parallelism if it is enough, or the smallest tensor parallel size that fits the model.

    If it needs more devices than the user stated, say how many. The tensor parallel size is larger than `above`.
    """
    parallel = replace(demand.layout, experts=True)
    spread = weights_per_device(demand.load.total_bytes, demand.load.expert_bytes, parallel)
    enough = spread + OVERHEAD_BYTES < npu.usable_bytes * demand.utilization
    if (
        enough
        and demand.layout.data > 1
        and not demand.layout.experts
        and npu.family is not Family.P310
    ):
        return with_option(facts, "enable-expert-parallel")
    size = _smallest(demand, npu, above)
    if size is None or (facts.npus and size > facts.npus):
        return _lack(facts, npu, size)
    repair = with_option(facts, TENSOR, str(size))
    devices = size * (demand.layout.devices // demand.layout.tensor)
    if facts.npus and devices > facts.npus:
        repair = _on_devices(facts, size)
    order = msg("{order}, or quantize the weights", order=repair.order)
    if not facts.npus:
        order = msg(
            "{order} if the service has {devices} such NPUs; else quantize the weights",
            order=repair.order,
            devices=devices,
        )
    return replace(repair, order=order)


def _usual() -> list[Npu]:
    return [hardware.find(name)[0] for name in hardware.USUAL]


def _anywhere(facts: WeightsFacts, demand: Demand) -> Findings:
    """Without a kind of NPU: name the usual devices that fit, and warn if none does."""
    kinds = _usual()
    yield from _numbers(facts, demand, kinds[0], warn)
    devices = demand.layout.devices
    needs = f"{devices} NPUs" if devices > 1 else msg("one NPU")
    largest = max(kinds, key=lambda kind: kind.usable_bytes)
    if room_of(demand, largest).left <= 0:
        most = largest.memory_bytes / GIB
        expected = msg(
            "weights that fit {needs} of up to {memory_bytes:.0f} GiB",
            needs=needs,
            memory_bytes=most,
        )
        seen = msg("{total_bytes:.1f} GiB of weights", total_bytes=demand.load.total_bytes / GIB)
        repair = _spread(facts, demand, largest)
        yield warn(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
        return
    longest = _longest(demand, largest)
    if longest is not None and demand.context is not None and longest < demand.context:
        expected = msg(
            "room for one sequence of {context:,} tokens ({context_source}) on {needs}",
            context=demand.context,
            context_source=demand.context_source,
            needs=needs,
        )
        seen = msg(
            "room for {longest:,} on a {label}, the largest of the usual kinds",
            longest=longest,
            label=largest.label,
        )
        repair = _shorter(facts, demand, largest, longest)
        yield warn(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
    lines = joined("; ", (_line(demand, kind) for kind in kinds))
    yield note(
        msg(
            "deploy.sh needs {needs}; which ones the service has is unknown. {lines}",
            needs=needs,
            lines=lines,
        )
    )


def _line(demand: Demand, kind: Npu) -> str:
    name = f"{kind.name} ({kind.memory_bytes / GIB:.0f} GiB)"
    longest = _longest(demand, kind)
    if room_of(demand, kind).left <= 0:
        return msg("{name}: {value}", name=name, value=msg("the weights do not fit"))
    if longest is None:
        return msg("{name}: {value}", name=name, value=msg("the weights fit"))
    if longest == demand.context:
        return msg(
            "{name}: fits with {context:,} tokens ({context_source})",
            name=name,
            context=longest,
            context_source=demand.context_source,
        )
    if not longest:
        return msg("{name}: too small", name=name)
    return msg(
        "{name}: fits with --max-model-len {longest}, not {context:,}",
        name=name,
        longest=longest,
        context=demand.context,
    )
