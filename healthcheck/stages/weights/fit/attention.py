"""Findings of plan/options-suit-chip about --attention-backend and --kv-cache-dtype in vllm-ascend."""

from __future__ import annotations

from healthcheck.ascend import schemes
from healthcheck.ascend.hardware import Family, Npu
from healthcheck.ascend.schemes import Attention
from healthcheck.core.check import Findings, fail, unsettled, warn
from healthcheck.stages.plan.vllm_cli.catalogue import nearest
from healthcheck.stages.weights.documents import text_of
from healthcheck.stages.weights.fit.load import read_load
from healthcheck.stages.weights.fit.memory import latent_rank
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.stages.weights.repairs import without_option
from healthcheck.text.messages import msg

BACKEND, CACHE = "attention-backend", "kv-cache-dtype"
CHOSEN_BY_ITSELF = {"", "auto", "none"}
IN_16_BITS = {"", "auto", "bfloat16", "float16"}
BATCH_INVARIANT = "VLLM_BATCH_INVARIANT"
WITH_FP8_ATTENTION = {Family.A5}
SEEN_TO_FAIL = {Family.A2, Family.A3}
"""Source: vllm-ascend issue 8102: a Qwen3 on a 910B2, and a maintainer's remark that an A3 has no FP8 either."""


def judge_attention(facts: WeightsFacts) -> Findings:
    """Findings for the two options; none for an unknown release."""
    registry = schemes.registry(facts.row.vllm_ascend)
    if registry is not None:
        yield from _backend(facts, registry.attention)
        yield from _cache(facts, registry.attention)


def has_attention_options(facts: WeightsFacts) -> bool:
    """Whether the command has one of the two options."""
    return any(facts.option(name) is not None for name in (BACKEND, CACHE))


def _backend(facts: WeightsFacts, attention: Attention) -> Findings:
    named = facts.option(BACKEND) or ""
    known = nearest(facts.row.vllm[0]).known.get(f"--{BACKEND}", ())
    if (
        named.lower() in CHOSEN_BY_ITSELF
        or not attention.backend
        or named.upper() not in (known or {named.upper()})
    ):
        return
    server = facts.server
    flash = attention.backend == "flash-attn" and named.upper() == "FLASH_ATTN"
    if flash and server and server.env.get(BATCH_INVARIANT, "0") not in {"", "0"}:
        report, expected = (
            unsettled,
            msg("no --{backend}, for {label}", backend=BACKEND, label=facts.row.label()),
        )
        seen = msg(
            "--{backend} {named} with {batch_invariant}: the release ends with “flash_attn_npu_v3 is not "
            "installed”, unless the image has that package",
            backend=BACKEND,
            named=shown(named, 40),
            batch_invariant=BATCH_INVARIANT,
        )
    else:
        report, expected = (
            warn,
            msg("no --{backend}: vllm-ascend has an attention of its own", backend=BACKEND),
        )
        seen = msg(
            "--{backend} {named}: {label} does not use it",
            backend=BACKEND,
            named=shown(named, 40),
            label=facts.row.label(),
        )
    repair = without_option(facts, BACKEND)
    yield report(
        expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _cache(facts: WeightsFacts, attention: Attention) -> Findings:
    named = (facts.option(CACHE) or "").lower()
    if named in IN_16_BITS or (_is_sparse(facts) and attention.sparse_keeps_dtype):
        return
    if named == "int8" and attention.needs_scales and _brings_scales(facts):
        return
    chip = facts.chip
    seen, sure = _end(facts, attention, named, chip)
    report = fail if sure else unsettled
    expected = msg(
        "no --{option} {value}, for {release} on a {device}",
        option=CACHE,
        value=shown(named, 40),
        release=facts.row.label(),
        device=chip.label,
    )
    repair = without_option(facts, CACHE)
    yield report(
        expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _end(facts: WeightsFacts, attention: Attention, named: str, chip: Npu) -> tuple[str, bool]:
    """How the server fails, and whether that is certain."""
    given = msg("--{cache} {named}", cache=CACHE, named=shown(named, 40))
    plain = not read_load(facts).quantization
    own_rules = _is_latent(facts) or _is_sparse(facts)
    kind = text_of(facts.weights.text_config.get("model_type"))
    v4 = kind.startswith(
        "deepseek_v4"
    )  # the release may replace the cache format before it checks it
    if (
        named == "fp8"
        and attention.fp8_needs_950
        and chip.family not in WITH_FP8_ATTENTION
        and not v4
    ):
        seen = msg(
            "{given}: the release takes it on a 950 alone, and ends with an AssertionError elsewhere",
            given=given,
        )
    elif attention.needs_scales and plain and not own_rules and named != "mxfp8":
        seen = msg(
            "{given}, and weights without scales for the cache: the release ends with “KV quantization "
            "is configured via `--kv-cache-dtype` upon service startup, and the corresponding quantized "
            "weights are required”",
            given=given,
        )
    elif attention.writes_16_bits and plain and not own_rules and chip.family in SEEN_TO_FAIL:
        seen = msg(
            "{given}: the release writes the cache with an operator that takes 16 bits alone, and ends "
            "with “ReshapeAndCacheOperation setup failed!” (vllm-ascend issue 8102)",
            given=given,
        )
    else:
        return msg(
            "{given}: whether the release takes it on this chip, for this model, is not known",
            given=given,
        ), False
    return seen, True


def _brings_scales(facts: WeightsFacts) -> bool:
    """Whether these are ModelSlim weights with scales for an int8 cache, of a model with ordinary attention."""
    if _is_latent(facts) or _is_sparse(facts):
        return False
    return text_of(facts.weights.description.value.get("kv_cache_type")) == "C8"


def _is_sparse(facts: WeightsFacts) -> bool:
    return facts.weights.text_config.get("index_topk") is not None


def _is_latent(facts: WeightsFacts) -> bool:
    return latent_rank(facts.weights.text_config) is not None
