"""weights/config: the engine can serve the model of config.json."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Iterator
from typing import TypeGuard

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.ascend.stacks import spans
from healthcheck.core.check import At, Findings, NotApplicable, fail, note
from healthcheck.core.records import Finding, JsonValue
from healthcheck.stages.weights.documents import JsonObject, child, text_of, words
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.inventory import Format
from healthcheck.stages.weights.nature import Family
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.registry import DRAFT, Release
from healthcheck.stages.weights.words import AGAIN, broken
from healthcheck.text.messages import msg

COUNTS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
"""Keys with a positive integer, in every part of a configuration."""
FIGURES = (
    "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_eps", "rope_theta",
    "initializer_range", "attention_dropout", "max_position_embeddings", "intermediate_size", "num_key_value_heads",
    "head_dim",
)  # fmt: skip
"""Keys with a number or a list with one for each layer; null means the default."""
PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "vision_config")


@check(
    "weights/config",
    msg("config.json is readable, and the engine supports its architecture"),
    why=msg(
        "The engine reads config.json first, and does not start if it does not support the architecture."
    ),
    requires=("weights/present",),
)
def config(facts: WeightsFacts) -> Findings:
    """config.json must be a JSON object in UTF-8 (without a byte order mark) that names the model's
    "architectures", with numbers for numeric values. vLLM looks the architecture up in its registry. One that is
    not registered is served only by the Transformers backend, or by code that comes with the weights (auto_map,
    with --trust-remote-code). An architecture in --hf-overrides goes before that of config.json.

    The registry is that of the installed vLLM; without one, it is the catalogue of the vLLM releases that current
    vllm-ascend releases use. The service's release is not documented: an architecture that only some of them
    support warns.

    To repair: copy config.json from the model's original repository; for a new architecture, wait for the
    vllm-ascend release that supports it, or choose an engine that does.

    Example:
    ```json config.json
    {"model_type": "qwen3", "num_hidden_layers": 36}
    ```

    Use instead:

    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 36}
    ```
    """
    weights = facts.uploaded
    if facts.nature().family in {Family.DIFFUSES, Family.ADAPTS}:
        raise NotApplicable(
            msg(
                "the weights are {value} (see task/matches-weights)",
                value=facts.nature().family.value,
            )
        )
    if not weights.config.present:
        yield from _without_config(facts)
        return
    if weights.config.error:
        yield broken(weights.config)
        return
    if weights.generation_config.error:
        yield broken(
            weights.generation_config, msg("{again}, or delete it: it is optional", again=AGAIN)
        )
    yield from _numbers(facts)
    if facts.engine.loading.by_architecture:
        yield from _architectures(facts)


def _numbers(facts: WeightsFacts) -> Findings:
    for key, expected, seen in itertools.islice(wrong(facts.uploaded.config.value), 5):
        wanted, found = (
            msg("{key}: {expected}", key=key, expected=expected),
            msg("config.json: {key} is {seen}", key=key, seen=seen),
        )
        fix = msg("write it as the original model's config.json has it")
        yield At("config.json").fail(expected=wanted, seen=found, fix=fix)


def _without_config(facts: WeightsFacts) -> Findings:
    weights = facts.uploaded
    formats = weights.formats()
    if weights.params.good:
        yield note(
            msg(
                "params.json: the configuration of Mistral's own format, which vLLM finds by itself"
            )
        )
    elif weights.params.present:
        yield broken(weights.params)
    elif formats == {Format.GGUF} and facts.engine.loading.gguf_alone:
        raise NotApplicable(msg("a GGUF file carries its own configuration"))
    elif formats == {Format.GGUF}:
        expected = msg("config.json, as vLLM needs it for a folder of weights")
        fix = msg(
            "submit the safetensors weights, or serve the file with llama.cpp (llama-server -m <file>)"
        )
        yield fail(
            expected=expected, seen=msg("GGUF files alone; vllm-ascend supports no GGUF"), fix=fix
        )
    else:
        fix = msg("copy config.json of the original model into the weights folder")
        yield fail(
            expected=msg("config.json in {path}", path=weights.folder.path),
            seen=msg("there is none"),
            fix=fix,
        )


def _architectures(facts: WeightsFacts) -> Findings:
    value = facts.weights.config.value
    declared = value.get("architectures")
    architectures = words(declared)
    if not architectures:
        named = "architectures" in value
        said = (
            msg("architectures is {declared}", declared=shown(repr(declared)))
            if named
            else msg("there is no such key")
        )
        expected = msg('"architectures": ["<class name>"], for example ["Qwen3ForCausalLM"]')
        seen = msg(
            "config.json: {seen}; model_type {model_type}",
            seen=said,
            model_type=repr(text_of(value.get("model_type"))),
        )
        fix = msg('add "architectures" to config.json as the original model has it')
        yield At("config.json").fail(expected=expected, seen=seen, fix=fix)
        return
    yield from _registered(facts, architectures)
    yield from _model_type(facts)


def _model_type(facts: WeightsFacts) -> Findings:
    """Source: AutoConfig looks up the configuration class by model_type, before any architecture."""
    value, assumed = facts.uploaded.config.value, facts.releases()[0]
    model_type = text_of(value.get("model_type"))
    if model_type in assumed.model_types or value.get("auto_map"):
        return
    known = [release.vllm for release in facts.releases() if model_type in release.model_types]
    also = msg("; only vLLM {spans} does", spans=_spans(facts, known)) if known else ""
    expected = msg(
        "a model_type that transformers {transformers} or vLLM {vllm} knows",
        transformers=assumed.transformers,
        vllm=assumed.vllm,
    )
    without = msg("no model_type")
    seen: str = f"config.json: {without}"
    if model_type:
        said = msg("model_type {model_type}", model_type=repr(shown(model_type)))
        seen = msg("config.json: {seen}, which none of them does{also}", seen=said, also=also)
    fix = msg(
        'write "model_type" as the original model has it: without a known one the engine does not start'
    )
    yield At("config.json").warn(expected=expected, seen=seen, fix=fix)


def _registered(facts: WeightsFacts, architectures: tuple[str, ...]) -> Findings:
    releases = facts.releases()
    if facts.chosen_vllm and facts.chosen_vllm != releases[0].vllm:
        chosen, by = facts.chosen_vllm, releases[0].vllm
        yield note(
            msg(
                "vLLM {chosen_vllm} is not catalogued: judged by the registry of {vllm}",
                chosen_vllm=chosen,
                vllm=by,
            )
        )
    knowing = [
        release for release in releases if any(release.groups_of(name) for name in architectures)
    ]
    if knowing == list(releases):
        return
    named = shown(", ".join(architectures))
    if releases[0] in knowing:
        others = _spans(facts, [release.vllm for release in releases if release not in knowing])
        yield note(
            msg(
                "{named}: known to vLLM {vllm}, not to {others}",
                named=named,
                vllm=releases[0].vllm,
                others=others,
            )
        )
        return
    yield _unknown(facts, named, architectures, knowing)


def _spans(facts: WeightsFacts, some: list[str]) -> str:
    return spans(some, (release.vllm for release in facts.releases()))


def _unknown(
    facts: WeightsFacts, named: str, architectures: tuple[str, ...], knowing: list[Release]
) -> Finding:
    assumed = facts.releases()[0]
    seen, fix = _nowhere(facts, named, architectures)
    if knowing:
        have = _spans(facts, [release.vllm for release in knowing])
        seen = msg(
            "{named}, which of the catalogued releases only vLLM {have} knows",
            named=named,
            have=have,
        )
        fix = msg(
            "find out which vLLM the service has; with {vllm}, choose another model",
            vllm=assumed.vllm,
        )
    vllm, at = assumed.vllm, At("config.json")
    if "architectures" in (facts.overrides or {}):
        at, fix = At(facts.where), msg("take architectures out of --hf-overrides")
    if stacks.is_of_the_service(facts.row):
        expected = msg(
            "an architecture of vLLM {vllm}'s registry, the release of the service", vllm=vllm
        )
        return at.fail(expected=expected, seen=seen, fix=fix, rule=contract.RELEASE)
    expected = msg(
        "an architecture of vLLM {vllm}'s registry, the release that is assumed on the service",
        vllm=vllm,
    )
    return at.warn(expected=expected, seen=seen, fix=fix)


def _nowhere(facts: WeightsFacts, named: str, architectures: tuple[str, ...]) -> tuple[str, str]:
    """What is known about architectures that no release registers, and the repair."""
    assumed = facts.releases()[0]
    has = assumed.transformers
    removed = next((name for name in architectures if name in assumed.removed), "")
    if removed:
        until = msg("{name} until {removed}", name=removed, removed=assumed.removed[removed])
        return msg("vLLM served {removed} and dropped it", removed=until), msg(
            "choose a model that current vLLM serves"
        )
    plugin = next((assumed.plugins[name] for name in architectures if name in assumed.plugins), "")
    if plugin:
        seen = msg("{named}, which only a plug-in serves ({plugin})", named=named, plugin=plugin)
        return seen, msg("install the plug-in through requirements.txt, or choose another model")
    if any(name in assumed.causal for name in architectures):
        seen = msg(
            "{named}, which transformers {transformers} has: vLLM would serve it through its slower "
            "Transformers backend, if the class allows it",
            named=named,
            transformers=has,
        )
        return seen, msg(
            "try it with --model-impl transformers on the real stack before you submit"
        )
    if facts.uploaded.config.value.get("auto_map"):
        fix = msg(
            "vLLM serves it only if that code supports the Transformers backend: try it on the real stack"
        )
        return msg(
            "{named}, which only the code that comes with the weights defines (auto_map)",
            named=named,
        ), fix
    near = _near(architectures[0], assumed)
    seen = msg(
        "{named}, which neither that registry nor transformers {transformers} knows",
        named=named,
        transformers=has,
    )
    other = msg("compare config.json with the original model's")
    return seen, msg("write {near}, if that was meant", near=near) if near else other


def _near(architecture: str, release: Release) -> str:
    known = sorted(
        set().union(*(members for name, members in release.groups.items() if name != DRAFT))
    )
    return next(iter(difflib.get_close_matches(architecture, known, n=1, cutoff=0.85)), "")


def wrong(value: JsonObject, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The keys of a configuration and its parts ("text_config.hidden_size") that should have a number but do not.

    Each key comes with the expected kind of value and the actual value.
    """
    for key in COUNTS:
        if key in value and not _is_count(value[key]):
            yield prefix + key, msg("a whole number above zero"), _written(value[key])
    for key in FIGURES:
        if value.get(key) is not None and not _are_numbers(value[key]):
            yield prefix + key, msg("a number"), _written(value[key])
    for name in PARTS if not prefix else ():
        yield from wrong(child(value, name), f"{name}.")


def _is_count(value: JsonValue) -> bool:
    """Whether the value is a count, or a list with one for each layer or modality."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, int) for each in value)
    return _is_number(value) and value > 0 and value == int(value)


def _are_numbers(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and all(each is None or _is_number(each) for each in value)
    if isinstance(value, dict):
        return bool(value)  # one for each kind of layer, as in some models
    return _is_number(value)


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _written(value: JsonValue) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return "null" if value is None else shown(repr(value))[:60]
