"""weights/quantization-scheme: the release has the weights' schemes for the chip and the layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from healthcheck.ascend import schemes, stacks
from healthcheck.ascend.hardware import Family
from healthcheck.ascend.schemes import IN_GROUPS, Registry
from healthcheck.core.check import At, Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.stages.weights.documents import JsonObject, text_of
from healthcheck.stages.weights.fit import (
    Layer,
    NamedScheme,
    compressed_tensors_schemes,
    fp8_beside_schemes,
    modelslim_schemes,
    read_load,
    schemes_of_method,
)
from healthcheck.stages.weights.records import Weights, WeightsFacts, check
from healthcheck.stages.weights.words import broken
from healthcheck.text.messages import msg

W8A8 = msg("submit W8A8 weights that ModelSlim made, or the unquantized ones")
SERVED = (Family.A2, Family.A3, Family.A5, Family.P310)


@check(
    "weights/quantization-scheme",
    msg("The release has the quantization scheme of the weights"),
    why=msg(
        "A layer whose scheme vllm-ascend does not have for its chip ends the engine while it loads."
    ),
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def quantization_scheme(facts: WeightsFacts) -> Findings:
    """Quantised weights name a scheme for their layers: ModelSlim for each layer in quant_model_description.json
    ("W8A8_DYNAMIC"), llm-compressor for groups of layers in quantization_config of config.json. vllm-ascend has a
    registry of schemes by kind of layer (linear layers, routed experts), and another one for the 310P. The kit has
    read these registries in the source of each release, and looks the scheme up for the row of --stack and the chip
    of --npu, a 910B if none is named.

    MXFP8, MXFP4 and FP8 are formats that only a 950 computes in. FP8 weights as publishers ship them
    (`"quant_method": "fp8"`) run from 0.27.1rc1 on if they are quantised in blocks: a 950 takes them as they are,
    other chips expand them to 16 bits. Releases before it read keys that DeepSeek-V4 alone has, and end with
    AttributeError; for MiniMax-M2, some of them expand the weights without a scheme. W4A16 of compressed-tensors is
    there for routed experts alone.

    To repair: use an image whose release has the scheme, or submit W8A8 weights made with ModelSlim, which every
    chip and release runs.

    Example:
    ```json quant_model_description.json
    {
      "model_quant_type": "W8A8_MXFP8",
      "model.layers.0.self_attn.q_proj.weight": "W8A8_MXFP8"
    }
    ```

    Use instead:

    ```json quant_model_description.json
    {
      "model_quant_type": "W8A8_DYNAMIC",
      "model.layers.0.self_attn.q_proj.weight": "W8A8_DYNAMIC"
    }
    ```
    """
    if not facts.engine.loading.as_vllm:
        raise NotApplicable(
            msg("which schemes {engine} has is not known here", engine=facts.engine.name)
        )
    method, row = read_load(facts).quantization, facts.row
    if not method:
        raise NotApplicable(msg("the weights are not quantised"))
    if beside := fp8_beside_schemes(facts):
        yield from _beside_schemes(beside, row)
        return
    if method not in row.quantizations:
        why = msg(
            "{label} does not load {method} at all (see plan/fits-hardware)",
            label=row.label(),
            method=method,
        )
        raise NotApplicable(why)
    registry = schemes.registry(row.vllm_ascend)
    if registry is None or not registry.known:
        expected = msg("a catalogue of the schemes of {label}", label=row.label())
        fix = msg(
            "choose another row with --stack, or try the weights on a machine with that release"
        )
        yield unsettled(
            expected=expected, seen=msg("none; the weights are {method}", method=method), fix=fix
        )
        return
    if method == "ascend" and facts.weights.description.error:
        yield broken(facts.weights.description)
        return
    for named in _named(facts.weights, method):
        yield from _judged(facts, named, registry, method)


def _beside_schemes(beside: str, row: stacks.Row) -> Iterator[Finding]:
    """Judge the release's special code for FP8 weights of MiniMax-M2."""
    if beside == schemes.EXPANDED:
        yield note(
            msg(
                "{label} turns FP8 weights of MiniMax-M2 into 16 bits while it loads them",
                label=row.label(),
            )
        )
        return
    expected = msg("FP8 weights of MiniMax-M2 that are read as FP8")
    seen = msg(
        "{label} first forgets their quantization and then finds it again; vllm-ascend's pull "
        "request 16569 says that it loads wrong numbers without an error",
        label=row.label(),
    )
    fix = msg(
        "use vllm-ascend {default}, which turns them into 16 bits, or {alternative}",
        default=stacks.DEFAULT,
        alternative=W8A8,
    )
    yield At("config.json").unsettled(expected=expected, seen=seen, fix=fix)


def _named(weights: Weights, method: str) -> tuple[NamedScheme, ...]:
    if method == "ascend":
        return modelslim_schemes(weights.description.value)
    if method == "compressed-tensors":
        return tuple(compressed_tensors_schemes(weights))
    return schemes_of_method(weights, method)


def _judged(
    facts: WeightsFacts, named: NamedScheme, registry: Registry, method: str
) -> Iterator[Finding]:
    chip = facts.chip
    if not chip.served:
        raise NotApplicable(
            msg("vllm-ascend does not run on a {label} (see plan/fits-hardware)", label=chip.label)
        )
    config = facts.weights.config.value
    why = _refusal(config, named, registry, chip.family, method)
    if not why:
        return
    report: Callable[..., Finding] = fail if named.sure else unsettled
    assumed = schemes.registries() if registry.vllm_ascend == stacks.DEFAULT else (registry,)
    if (
        report is fail
        and not facts.npu
        and any(_is_run(config, named, each, method) for each in assumed)
    ):
        report = warn
    expected = msg(
        "a scheme that vllm-ascend {vllm_ascend} has for {words} on a {label}",
        vllm_ascend=registry.vllm_ascend,
        words=named.layer.words,
        label=chip.label,
    )
    fix = _remedy(config, named, registry, chip.family, method)
    yield report(
        expected=expected,
        seen=msg("{quoted}: {why}", quoted=named.quoted, why=why),
        fix=fix,
        where=named.where,
    )


def _is_run(config: JsonObject, named: NamedScheme, registry: Registry, method: str) -> bool:
    """Whether the release runs the scheme on any chip."""
    return registry.known and any(
        _takes(config, named, registry, family, method) for family in SERVED
    )


def _refusal(
    config: JsonObject, named: NamedScheme, registry: Registry, family: Family, method: str
) -> str:
    """Why the release does not run the scheme on the chip; "" if it does."""
    if family is Family.P310 and "310P" in registry.schemes and method != "ascend":
        return msg("on a 310P the release runs ModelSlim's weights alone")
    if not named.scheme or (
        method == "compressed-tensors" and named.scheme not in registry.compressed_tensors
    ):
        return msg("the release has no scheme for these numbers")
    label = _label(config, named, registry)
    demand = _demands(config, label, registry)
    if demand or label in registry.of_chip(family):
        return demand
    if registry.only_on_950(label):
        return msg(
            "the release has {scheme} for {words} on a 950 alone",
            scheme=named.scheme,
            words=named.layer.words,
        )
    other = msg(" on this chip") if registry.has(label) else ""
    return msg(
        "the release has no {scheme} for {words}{other}",
        scheme=named.scheme,
        words=named.layer.words,
        other=other,
    )


def _label(config: JsonObject, named: NamedScheme, registry: Registry) -> str:
    """The scheme's label in the registry, which for FP8 has schemes of DeepSeek-V4 besides the general ones."""
    usual = f"{named.scheme.removesuffix(f' {IN_GROUPS}')} {named.layer.value}"
    if named.scheme != "FP8" or (registry.fp8_in_blocks and not _is_deepseek_v4(config)):
        return usual
    of_experts = (label for label in ("FP8 ds_w4a8_moe", "FP8 w4a8_moe") if registry.has(label))
    return "FP8 ds_linear" if named.layer is Layer.LINEAR else next(of_experts, usual)


def _is_deepseek_v4(config: JsonObject) -> bool:
    return text_of(config.get("model_type")).startswith("deepseek_v4")


def _demands(config: JsonObject, label: str, registry: Registry) -> str:
    """What the scheme's class needs in config.json but does not find; "" if nothing."""
    key = next((key for key in registry.reads.get(label, ()) if key not in config), "")
    if key and not _is_deepseek_v4(config):
        return msg(
            "the release reads {absent} of config.json, which DeepSeek-V4 alone has, and ends: AttributeError",
            absent=key,
        )
    if label.startswith("FP8 ") and registry.fp8_in_blocks and not _is_deepseek_v4(config):
        settings = config.get("quantization_config")
        given = settings if isinstance(settings, dict) else {}
        if not given.get("weight_block_size"):
            return msg("the release takes FP8 in blocks alone, and there is no weight_block_size")
        if given.get("activation_scheme") != "dynamic":
            return msg("the release takes FP8 with dynamic activations alone")
    return ""


def _remedy(
    config: JsonObject, named: NamedScheme, registry: Registry, family: Family, method: str
) -> str:
    newest_first = schemes.registries()
    newer = newest_first[: next(at for at, each in enumerate(newest_first) if each is registry)]
    takes = [each for each in newer if _takes(config, named, each, family, method)]
    if takes:
        last = [each.vllm_ascend for each in takes]
        since = msg("{last} or newer", last=last[-1])
        only = stacks.spans(last, [each.vllm_ascend for each in newest_first])
        which = since if takes == list(newer[: len(takes)]) else only
        return msg(
            "use vllm-ascend {since}{limits}, or {alternative}",
            since=which,
            limits=stacks.limits(last),
            alternative=W8A8,
        )
    if not _refusal(config, named, registry, Family.A5, method):
        return msg("serve these weights on a 950, or {alternative}", alternative=W8A8)
    return W8A8


def _takes(
    config: JsonObject, named: NamedScheme, registry: Registry, family: Family, method: str
) -> bool:
    """Whether a release runs the scheme on the chip, or has special code for the model that needs no scheme."""
    beside = registry.fp8_of(text_of(config.get("model_type")), family) if method == "fp8" else ""
    if beside:
        return beside == schemes.EXPANDED
    return method in registry.methods and not _refusal(config, named, registry, family, method)
