"""Findings of plan/fits-hardware about quantised weights: their method, and the option --quantization."""

from __future__ import annotations

import re
from collections.abc import Callable

from healthcheck.ascend import schemes, stacks
from healthcheck.core.check import Findings, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.weights.fit.load import Load, fp8_beside_schemes
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.stages.weights.repairs import with_option, without_option
from healthcheck.text.messages import msg

MODELSLIM = "ascend"
_PACKED = re.compile(
    r"\.(?:qweight|qzeros|g_idx|weight_packed|weight_scale(?:_inv)?|weight_offset|deq_scale)$"
)
_OF_GPUS = frozenset({"awq", "gptq", "bitsandbytes", "mxfp4"})
"""Methods that no release of vllm-ascend loads. What has another name may be new, or misspelt."""


def judge_quantization(facts: WeightsFacts, load: Load) -> Findings:
    """Findings for the weights' method and the option --quantization; none for SGLang, which has other methods."""
    if not facts.engine.loading.as_vllm:
        return
    packed = next(
        (tensor.name for tensor in facts.weights.tensors if _PACKED.search(tensor.name)), ""
    )
    if packed and not load.quantization:
        expected = msg(
            "quantization_config in config.json or quant_model_description.json, for quantised tensors"
        )
        seen = msg(
            "{name}, and neither of them: vLLM builds the model unquantised, and has no such tensor",
            name=packed,
        )
        yield fail(
            expected=expected,
            seen=seen,
            fix=msg("copy it from the repository that the weights are from"),
        )
        return
    flag, method = (facts.option("quantization") or "").lower(), load.quantization
    if flag == MODELSLIM and load.quantization != MODELSLIM:
        wanted = msg(
            "quant_model_description.json, as ModelSlim writes it, for --quantization ascend"
        )
        seen = msg(
            "{quantization_source}",
            quantization_source=load.quantization_source or msg("weights without quantization"),
        )
        yield _without_flag(facts, fail, wanted, seen)
    elif (
        flag and method and not (flag.startswith(method) or method.startswith(flag))
    ):  # awq_marlin, awq
        # Source: ModelConfig._verify_quantization compares the option with quantization_config of config.json.
        report = fail if load.quantization_source.startswith("quantization_config") else warn
        expected = msg(
            "--quantization {quantization}, or none: it is read from {quantization_source}",
            quantization=load.quantization,
            quantization_source=load.quantization_source,
        )
        repair = without_option(facts, "quantization")
        yield report(
            expected=expected,
            seen=f"--quantization {shown(flag)}",
            fix=repair.order,
            where=repair.where,
            edits=repair.edits,
        )
    elif flag and flag != MODELSLIM and not load.quantization:
        yield _nothing_to_load(facts, flag)
    row = facts.row
    if (
        load.quantization
        and load.quantization not in row.quantizations
        and not fp8_beside_schemes(facts)
    ):
        yield _not_loaded(facts, load)
    elif load.quantization == MODELSLIM and facts.engine.loading.by_vllm_ascend and not flag:
        yield from _not_told(facts, load)


def _nothing_to_load(facts: WeightsFacts, flag: str) -> Finding:
    """A method for unquantised weights: Ascend's platform rejects it, or its class finds no description.

    Source: verify_quantization of vllm/platforms/interface.py, and get_quant_config of
    vllm/model_executor/model_loader/weight_utils.py with the classes in vllm_ascend/quantization. For "mxfp8" the
    outcome is unknown: newer releases may apply it to unquantised weights while they load.
    """
    row = facts.row
    known = any(flag in each.methods for each in schemes.registries())
    seen = msg("--quantization {flag}, and weights that are not quantised", flag=shown(flag))
    if flag not in row.quantizations:
        seen += msg(
            ": {label} ends with “{flag} quantization is currently not supported in npu”",
            label=row.label(),
            flag=shown(flag),
        )
        report = _severity(facts) if known else fail
    else:
        seen += msg(": there is no description of the numbers that it could read")
        report = warn if flag == "mxfp8" else fail
    expected = msg(
        "no --quantization, or weights of a method of {label}: {quantizations}",
        label=row.label(),
        quantizations=", ".join(row.quantizations),
    )
    return _without_flag(facts, report, expected, seen)


def _without_flag(
    facts: WeightsFacts, report: Callable[..., Finding], expected: str, seen: str
) -> Finding:
    """A finding about an option for weights of another kind."""
    repair = without_option(facts, "quantization")
    fix = msg("{fix}, or submit ModelSlim weights", fix=repair.order)
    return report(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)


def _severity(facts: WeightsFacts) -> Callable[..., Finding]:
    """A failure if the user named the devices or the release, a warning if they are assumed."""
    return fail if facts.npu or facts.row.vllm_ascend != stacks.DEFAULT else warn


def _not_loaded(facts: WeightsFacts, load: Load) -> Finding:
    row = facts.row
    takers = [
        each.vllm_ascend for each in schemes.registries() if load.quantization in each.methods
    ]
    never = facts.engine.loading.by_vllm_ascend and load.quantization in _OF_GPUS
    first = msg("; {takers} is the first that does", takers=takers[-1]) if takers else ""
    later = (
        msg("; no release up to {newest} does", newest=stacks.rows()[0].vllm_ascend)
        if never
        else first
    )
    expected = msg(
        "a method that {label} loads: {quantizations}",
        label=row.label(),
        quantizations=", ".join(row.quantizations),
    )
    method, source = shown(load.quantization), load.quantization_source
    seen = msg(
        "{quantization} ({quantization_source}){later}",
        quantization=method,
        quantization_source=source,
        later=later,
    )
    fix = msg("submit the weights unquantized, or quantize them with ModelSlim (W8A8)")
    report = fail if never else _severity(facts)
    return report(expected=expected, seen=seen, fix=fix, where="config.json")


def _not_told(facts: WeightsFacts, load: Load) -> Findings:
    """Some releases take ModelSlim weights for unquantised ones if the option is absent.

    A "quantization_config" in config.json without a method makes them detect it (override_quantization_method).
    """
    label = facts.row.label()
    if not facts.row.detects_modelslim and not facts.weights.quantization_config:
        expected = msg(
            "--quantization ascend: {label} does not recognise ModelSlim weights by itself",
            label=label,
        )
        seen = msg(
            "{quantization_source}, and no --quantization",
            quantization_source=load.quantization_source,
        )
        repair = with_option(facts, "quantization", MODELSLIM)
        yield fail(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )
