"""plan/options-suit-weights: the weights have the parts that the server's options require."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.core.records import Finding
from healthcheck.stages.weights.documents import (
    JsonObject,
    child,
    integer,
    positive,
    text_of,
    words,
)
from healthcheck.stages.weights.fit import is_dense
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.known_models import known_models
from healthcheck.stages.weights.records import (
    OVERRIDES,
    Weights,
    WeightsFacts,
    check,
    judge_only_launches,
)
from healthcheck.stages.weights.repairs import Repair, together, with_option, without_option
from healthcheck.text.messages import msg

EXPERTS, FORMAT, LOAD, TOKENIZER = (
    "enable-expert-parallel",
    "config-format",
    "load-format",
    "tokenizer-mode",
)
MISTRAL = "mistral"
LAST_WITHOUT = "0.23.0"
BY_PATTERN = re.compile(r"tekken\.json|tokenizer\.(?:mm\.)?model\.v.*")
"""Source: find_tokenizer_file of vllm/transformers_utils/tokenizers/mistral.py, 0.11.0."""
BY_SUFFIX = re.compile(r"tekken\.json|[^.]+\.model(?:\.v\d+(?:m\d+)?)?")
"""Source: get_one_valid_tokenizer_file of mistral-common, which vLLM calls since 0.12.0."""
FIRST_BY_SUFFIX = "0.12.0"
OPTION = "speculative-config"
_LAYER = re.compile(r"\.layers\.(\d{1,6})\.")
_OF_MTP = re.compile(r"mtp|nextn|(?:^|\.)(?:eh_proj|enorm|hnorm)\.", re.IGNORECASE)


@check(
    "plan/options-suit-weights",
    msg("The weights have what the options ask for"),
    why=msg(
        "vLLM ends while it builds its configuration if an option asks for a part that the model does not have."
    ),
    requires=("weights/present",),
    by_row=True,
)
def plan_options_suit_weights(facts: WeightsFacts) -> Findings:
    """Some options presume a kind of weights, and come along when a script is copied from another model's recipe:

    - --enable-expert-parallel needs a mixture of experts. vLLM counts num_experts, n_routed_experts,
      num_local_experts or moe_num_experts of config.json, and refuses a dense model.
    - --config-format mistral reads params.json, and --load-format mistral the files consolidated*.safetensors;
      weights in Hugging Face's format have neither.
    - --tokenizer-mode mistral reads tekken.json or a SentencePiece model (tokenizer.model.v3), and vLLM ends with
      “No tokenizer file found” if there is only a tokenizer.json.
    - --speculative-config with an MTP method and no other model drafts with the model's own layers for multi-token
      prediction (DeepSeek-V3, Qwen3-Next, Qwen3.5, GLM-4.5, MiMo and others). vLLM refuses other models; weights
      from which these layers were taken out, as some quantised ones, warn.

    - --hf-overrides with rope_scaling or rope_parameters replaces all of them under transformers 5, which keeps
      rope_theta there: without it the model runs with another base than it was trained with, or does not start.
      YaRN without original_max_position_embeddings ends the start. rope_parameters in full works with every
      release; transformers 4 does not read rope_scaling there.

    To repair: leave the option out; write rope_parameters in full.

    Example:
    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --enable-expert-parallel
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    judge_only_launches(facts)
    if not facts.engine.is_catalogued:
        raise NotApplicable(msg("no server of vLLM is known"))
    yield from _experts(facts)
    yield from _mistral(facts)
    yield from _tokenizer(facts)
    yield from _mtp(facts)
    yield from _rope(facts)


def _experts(facts: WeightsFacts) -> Findings:
    weights = facts.weights
    given = facts.option(EXPERTS) is not None and facts.option(FORMAT) != MISTRAL
    if given and weights.config.good and facts.overrides is not None and is_dense(weights):
        expected = msg("a mixture of experts for --{experts}", experts=EXPERTS)
        seen = msg(
            "{model}, and no number of experts in config.json: vLLM ends with “Number of experts in the "
            "model must be greater than 0 when expert parallelism is enabled”",
            model=_model(facts),
        )
        repair = without_option(facts, EXPERTS)
        yield fail(
            expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
        )


def _rope(facts: WeightsFacts) -> Findings:
    """Source: transformers 5, where rope_scaling is another name of rope_parameters, which contains rope_theta."""
    config, given = facts.uploaded.text_config, facts.overrides or {}
    theta = config.get("rope_theta") or child(config, "rope_parameters").get("rope_theta")
    own = {"rope_theta": theta} if isinstance(theta, (int, float)) and 0 < theta < math.inf else {}
    for outer, part in (("", given), ("text_config", child(given, "text_config"))):
        name = "rope_scaling" if "rope_scaling" in part else "rope_parameters"
        told = child(part, name)
        yarn = "yarn" in (told.get("rope_type"), told.get("type"))
        length = positive(config, "max_position_embeddings") if yarn else None
        needed = {**own, **({"original_max_position_embeddings": length} if length else {})}
        lost = [key for key in needed if key not in told]
        if not told or not lost or any(isinstance(value, dict) for value in told.values()):
            continue
        good: JsonObject = {"rope_parameters": {**told, **{key: needed[key] for key in lost}}}
        whole = json.dumps(_with_rope(given, outer, good))
        repair = with_option(facts, OVERRIDES, whole)
        expected = msg(
            "{lost} in the rope_parameters of --{option}", lost=lost[-1], option=OVERRIDES
        )
        if "original_max_position_embeddings" in lost:
            seen = msg("{name} without it: vLLM ends with a KeyError", name=name)
            yield _finding(fail, expected, seen, repair)
        else:
            seen = msg(
                "{name} without it: with transformers 5, {theta} of config.json is lost",
                name=name,
                theta=str(theta),
            )
            yield _finding(warn, expected, seen, repair)


def _with_rope(given: JsonObject, outer: str, good: JsonObject) -> JsonObject:
    """The object of --hf-overrides with whole rope_parameters, and with its other keys."""
    part = child(given, outer) if outer else given
    kept = {key: value for key, value in part.items() if key not in {"rope_scaling", *good}}
    return {**given, outer: {**kept, **good}} if outer else {**kept, **good}


def _mistral(facts: WeightsFacts) -> Findings:
    weights = facts.weights
    if facts.option(FORMAT) == MISTRAL and not weights.params.present:
        expected = msg("params.json in the weights, for --config-format mistral")
        seen = msg("no such file: vLLM ends with “Failed to load mistral 'params.json' config”")
        yield _finding(fail, expected, seen, _without_mistral(facts))
    if facts.option(LOAD) == MISTRAL and not weights.consolidated:
        expected = msg("consolidated*.safetensors in the weights, for --load-format mistral")
        seen = msg("no such file: vLLM ends with “Cannot find any model weights”")
        yield _finding(fail, expected, seen, _without_mistral(facts))


def _without_mistral(facts: WeightsFacts) -> Repair:
    """Remove those of the three options that read Mistral's own format."""
    given = [name for name in (FORMAT, LOAD, TOKENIZER) if facts.option(name) == MISTRAL]
    return together(*(without_option(facts, name) for name in given))


def _finding(
    report: Callable[..., Finding], expected: str, seen: str, repair: Repair, instead: str = ""
) -> Finding:
    """A finding with an exact repair; `instead` is another one by hand."""
    fix = msg("{fix}, or {instead}", fix=repair.order, instead=instead) if instead else repair.order
    return report(expected=expected, seen=seen, fix=fix, where=repair.where, edits=repair.edits)


def _tokenizer(facts: WeightsFacts) -> Findings:
    served = facts.server.model if facts.server else None
    elsewhere = facts.option("tokenizer") not in {None, served}
    if (
        facts.option(TOKENIZER) != MISTRAL
        or elsewhere
        or facts.option("skip-tokenizer-init") is not None
    ):
        return
    old = stacks.is_older(facts.row.vllm[0], FIRST_BY_SUFFIX)
    taken = BY_PATTERN if old else BY_SUFFIX
    if any(entry.at_top and taken.fullmatch(entry.name) for entry in facts.weights.files):
        return
    error = msg("Found 0 files matching the pattern") if old else msg("No tokenizer file found")
    expected = msg("tekken.json or tokenizer.model.v3 in the weights, for --tokenizer-mode mistral")
    seen = msg("no such file: vLLM {vllm} ends with “{error}”", vllm=facts.row.vllm[0], error=error)
    instead = msg("add the tekken.json of the model's publisher to the weights")
    yield _finding(fail, expected, seen, without_option(facts, TOKENIZER), instead)


def _mtp(facts: WeightsFacts) -> Findings:
    config = facts.table(OPTION)
    weights, names = facts.weights, _names_of(facts.weights)
    if not weights.config.good or not _drafts_for_itself(facts, config):
        return
    method = msg(
        '--{option} with the method "{get}"',
        option=OPTION,
        get=shown(str(config.get("method")), 40),
    )
    vllm = facts.row.vllm[0]
    old = not stacks.is_older(LAST_WITHOUT, vllm)
    known = known_models()
    if not names & (known.with_mtp if old else known.with_mtp | known.with_mtp_later):
        later = bool(names & known.with_mtp_later)
        report = warn if later and facts.row.vllm_ascend == stacks.DEFAULT else fail
        expected = msg(
            "a model with layers for multi-token prediction (MTP), for {method}", method=method
        )
        model, also = _model(facts), msg("; a later release does") if later else ""
        seen = msg(
            "{model}: vLLM {vllm} does not implement MTP for this model and raises NotImplementedError",
            model=model,
            vllm=vllm,
        )
        seen += also
        yield _finding(report, expected, seen, without_option(facts, OPTION))
    elif not _has_mtp_tensors(weights):
        expected = msg(
            "tensors of the layers for multi-token prediction (MTP) in the weights, for {method}",
            method=method,
        )
        seen = msg("none in the safetensors files")
        instead = msg("submit the weights with these layers")
        yield _finding(warn, expected, seen, without_option(facts, OPTION), instead)


def _model(facts: WeightsFacts) -> str:
    kind = shown(str(facts.weights.config.value.get("model_type")), 60)
    return msg('"model_type": "{kind}" in config.json', kind=kind)


def _drafts_for_itself(facts: WeightsFacts, config: JsonObject) -> bool:
    """Whether the served model is its own draft model: an MTP method without another draft model."""
    model = text_of(config.get("model"))
    own = not model or (facts.plan is not None and model == facts.plan.model_path)
    return own and text_of(config.get("method")).endswith("mtp")


def _names_of(weights: Weights) -> frozenset[str]:
    """The names by which vLLM recognises a model with MTP: its type and its first architecture."""
    config = weights.config.value
    return frozenset((text_of(config.get("model_type")), *words(config.get("architectures"))[:1]))


def _has_mtp_tensors(weights: Weights) -> bool:
    """Whether a loaded file has a tensor of an MTP layer; True if no header could be read."""
    names = [tensor.name for tensor in weights.tensors]
    layers = integer(weights.text_config.get("num_hidden_layers")) or 0
    beyond = (int(found[1]) >= layers for name in names if (found := _LAYER.search(name)))
    return not names or any(map(_OF_MTP.search, names)) or (layers > 0 and any(beyond))
