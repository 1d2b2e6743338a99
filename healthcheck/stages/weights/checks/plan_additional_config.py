"""plan/additional-config: the release has the keys of --additional-config, for this model."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from healthcheck.ascend import additional_config, stacks
from healthcheck.ascend.additional_config import Keys, Needs
from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.core.records import Finding, JsonValue
from healthcheck.stages.weights.documents import JsonObject, text_of
from healthcheck.stages.weights.fit import is_dense, read_layout
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import WeightsFacts, check, judge_only_launches
from healthcheck.stages.weights.repairs import renamed_key, without_key
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

OPTION = "additional-config"
SCHEDULER = "scheduler_config"
"""Releases that have this object also accept its keys at the top of the option."""
_OMNI = re.compile(r"\bvllm[-_]omni\b")
_OFF = (None, False, 0, "", "0", "false", "False")
"""Values that leave a setting off; the release then does not ask for what the setting needs."""
_CLOSE = 0.7
"""The least similarity of a misspelled key, as difflib measures it."""


@check(
    "plan/additional-config",
    msg("The release has the keys of --additional-config"),
    why=msg(
        "From 0.27.1rc1 on, vllm-ascend ends over a key that it does not have; older releases ignore it."
    ),
    by_row=True,
)
def plan_additional_config(facts: WeightsFacts) -> Findings:
    """--additional-config has the settings of vllm-ascend itself, and its keys change from release to release:
    vllm-ascend's own tutorials contain some that were taken out. The kit has the keys of each release from its
    source, those of nested objects too (`healthcheck/data/additional-config.json`); --stack chooses the row.

    From 0.27.1rc1 on, an unknown key ends the start (“Unknown keys are rejected”), as it does in `eplb_config` from
    0.14.0rc1 on. Elsewhere it is ignored, which is a warning. It is one as well where vllm_omni is installed, which
    has keys of its own.

    Some keys depend on the model or on other options: `finegrained_tp_config` needs a mixture of experts,
    `enable_kv_nz` latent attention (MLA) and a decode node, `dynamic_eplb` the variable DYNAMIC_EPLB. Such a
    refusal is judged where the source of the release has its sentence.

    To repair: take the key out, or spell it as the release does.

    Example:
    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --additional-config '{"enable_kv_nz": true}'
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --additional-config '{"enable_cpu_binding": true}'
    ```
    """
    judge_only_launches(facts)
    given = facts.whole(OPTION)
    if not facts.engine.is_catalogued or not given:
        raise NotApplicable(msg("no --{option} for vLLM is known", option=OPTION))
    release = facts.row.vllm_ascend
    keys = next(
        (each for each in additional_config.releases() if each.vllm_ascend == release), None
    )
    if keys is None:
        raise NotApplicable(
            msg("{label} does not read --{option}", label=facts.row.label(), option=OPTION)
        )
    values = dict(_keys_by_path(given, keys))
    for path, value in values.items():
        yield from _judge_key(path, value, keys, facts)
    for rule in additional_config.rules(release):
        paths = [
            path for path, value in values.items() if _matches(rule.key, path) and value not in _OFF
        ]
        if paths and not _IS_MET[rule.needs](facts, values[paths[0]]):
            yield _refused_value(paths[0], values[paths[0]], rule.sentence, facts)


def _keys_by_path(
    given: JsonObject, keys: Keys, above: str = ""
) -> Iterator[tuple[str, JsonValue]]:
    """Each key by its dotted path, with those inside the objects whose keys the catalogue has."""
    for key, value in given.items():
        path = f"{above}.{key}" if above else key
        yield path, value
        if isinstance(value, dict) and _group_of(path, keys) in keys.groups:
            yield from _keys_by_path(value, keys, path)


def _group_of(path: str, keys: Keys) -> str:
    """The object at a path as the catalogue names it: it may be one of SCHEDULER at the top of the option."""
    return path if path in keys.groups else f"{SCHEDULER}.{path}"


def _judge_key(path: str, value: JsonValue, keys: Keys, facts: WeightsFacts) -> Findings:
    """A finding if the release does not have a key, or if an object of it has another value."""
    above, _, key = path.rpartition(".")
    group = _group_of(above, keys) if above else ""
    if key not in keys.groups.get(group, ()):
        yield _unknown_key(path, group, keys, facts)
        return
    is_object = _group_of(path, keys) in keys.groups
    if is_object and value is not None and not isinstance(value, dict):
        yield _refused_value(path, value, msg("{key} is an object", key=key), facts)


def _unknown_key(path: str, group: str, keys: Keys, facts: WeightsFacts) -> Finding:
    """The finding for a key that the release does not have in this group."""
    key = path.rpartition(".")[2]
    spans = _releases_with(key, group)
    refusal = keys.refusals.get(group) or keys.refusals.get("", "")
    may_be_omni = not group and _has_omni(facts)
    report = fail if refusal and not may_be_omni else warn
    repair = without_key(facts, OPTION, path)
    if spans:
        advice: str = msg("; vllm-ascend {spans} has it", spans=spans)
    else:
        own = keys.groups.get(group, frozenset())
        advice = hint(key, own) or _in_another_object(key, keys)
        if closest := _closest(key, own):
            repair = renamed_key(facts, OPTION, path, closest)
    return report(
        expected=msg("keys of --{option} that {label} has", option=OPTION, label=facts.row.label()),
        seen=_unknown_in_words(shown(path, 120), refusal, advice),
        fix=repair.order,
        where=repair.where,
        edits=repair.edits,
    )


def _releases_with(key: str, group: str) -> str:
    """The releases that have a key in this group, in words; "" if none has."""
    releases = additional_config.releases()
    having = [each.vllm_ascend for each in releases if key in each.groups.get(group, ())]
    return stacks.spans(having, (each.vllm_ascend for each in releases)) if having else ""


def _unknown_in_words(path: str, refusal: str, advice: str) -> str:
    """What the release does with an unknown key; `refusal` is its sentence, "" if it ignores the key."""
    if not refusal:
        return msg("{path}, which it does not have and ignores{advice}", path=path, advice=advice)
    return msg(
        "{path}, which it does not have and ends: “{refusal}”{advice}",
        path=path,
        refusal=refusal,
        advice=advice,
    )


def _in_another_object(key: str, keys: Keys) -> str:
    """The question whether a similar key of another object was meant; "" if there is none."""
    places = {
        name: f"{group}.{name}" for group, names in keys.groups.items() if group for name in names
    }
    closest = _closest(key, places)
    return msg("; did you mean {near}?", near=places[closest]) if closest else ""


def _closest(key: str, names: Iterable[str]) -> str:
    """The most similar of the names, "" if none is close."""
    return next(iter(difflib.get_close_matches(key, list(names), n=1, cutoff=_CLOSE)), "")


def _refused_value(path: str, value: JsonValue, sentence: str, facts: WeightsFacts) -> Finding:
    """The finding for a value over which the release ends with this sentence."""
    repair = without_key(facts, OPTION, path)
    return fail(
        expected=msg(
            "a value of {path} that {label} takes for this launch",
            path=path,
            label=facts.row.label(),
        ),
        seen=msg(
            "{path}: {value}, and it ends: “{sentence}”",
            path=path,
            value=shown(str(value), 60),
            sentence=sentence,
        ),
        fix=repair.order,
        where=repair.where,
        edits=repair.edits,
    )


def _has_omni(facts: WeightsFacts) -> bool:
    required = (facts.submission.requirements or b"") if facts.submission else b""
    script = facts.plan.script if facts.plan else ""
    return bool(_OMNI.search(f"{script}\n{required.decode(errors='replace')}"))


def _matches(pattern: str, path: str) -> bool:
    """Whether the key of a rule means the key at this path.

    "finegrained_tp_config.*" means each key of that object at the top of the option, such as
    finegrained_tp_config.mlp_tensor_parallel_size. Without "*", the path has to end in the parts of the pattern:
    "profiling_chunk_config.enabled" also means scheduler_config.profiling_chunk_config.enabled.
    """
    if pattern.endswith(".*"):
        return path.rpartition(".")[0] == pattern.removesuffix(".*")
    return f".{path}".endswith(f".{pattern}")


def _is_decode_node(facts: WeightsFacts) -> bool:
    return text_of(facts.table("kv-transfer-config").get("kv_role")) in {"kv_consumer", "kv_both"}


def _has_eplb_variable(facts: WeightsFacts) -> bool:
    env = facts.server.env if facts.server else {}
    return (
        env.get("DYNAMIC_EPLB", "").lower() in {"true", "1"}
        or env.get("EXPERT_MAP_RECORD") == "true"
    )


def _configures(facts: WeightsFacts, key: str) -> bool:
    return not facts.weights.config.good or bool(facts.weights.text_config.get(key))


_IS_MET: Mapping[Needs, Callable[[WeightsFacts, JsonValue], bool]] = {
    Needs.EXPERTS: lambda facts, _: not facts.weights.config.good or not is_dense(facts.weights),
    Needs.LATENT_ATTENTION: lambda facts, _: _configures(facts, "kv_lora_rank"),
    Needs.INDEXER: lambda facts, _: _configures(facts, "index_topk"),
    Needs.DECODE_NODE: lambda facts, _: _is_decode_node(facts),
    Needs.DATA_PARALLEL: lambda facts, size: (
        not isinstance(size, int) or read_layout(facts).data % size == 0
    ),
    Needs.PIPELINE: lambda facts, _: read_layout(facts).pipeline > 1,
    Needs.EPLB_VARIABLE: lambda facts, _: _has_eplb_variable(facts),
}
"""Whether the launch has what a key with this value needs; True if the model's configuration is unknown."""
