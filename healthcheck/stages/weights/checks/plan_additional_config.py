"""plan/additional-config: the release has the keys of --additional-config, for this model."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping

from healthcheck.ascend import additional_config, stacks
from healthcheck.ascend.additional_config import Keys, Needs, Rule
from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.core.records import Finding, JsonValue
from healthcheck.stages.weights.documents import JsonObject, text_of
from healthcheck.stages.weights.facts import WeightsFacts, check, judge_only_launches
from healthcheck.stages.weights.fit import is_dense, read_layout
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.repairs import renamed_key, without_key
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

OPTION = "additional-config"
SCHEDULER = "scheduler_config"
"""Its keys may also stand at the top of the option, in the releases that have it."""
_OMNI = re.compile(r"\bvllm[-_]omni\b")
_OFF = (None, False, 0, "", "0", "false", "False")


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
    values = dict(_values(given, keys))
    for path, value in values.items():
        yield from _unknown(path, value, keys, facts)
    for rule in additional_config.rules(release):
        named = [path for path, value in values.items() if _is_meant(rule, path, value)]
        if named and not _HAS[rule.needs](facts, values[named[0]]):
            yield _refused(named[0], values[named[0]], rule.sentence, facts)


def _values(given: JsonObject, keys: Keys, above: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Each key by its path, and what is below the objects of the release."""
    for key, value in given.items():
        path = f"{above}.{key}" if above else key
        yield path, value
        if isinstance(value, dict) and _group(path, keys) in keys.groups:
            yield from _values(value, keys, path)


def _group(path: str, keys: Keys) -> str:
    return path if path in keys.groups else f"{SCHEDULER}.{path}"


def _unknown(path: str, value: JsonValue, keys: Keys, facts: WeightsFacts) -> Findings:
    above, _, key = path.rpartition(".")
    group = _group(above, keys) if above else ""
    own = keys.groups.get(group, frozenset())
    if key in own:
        if _group(path, keys) in keys.groups and value is not None and not isinstance(value, dict):
            yield _refused(path, value, msg("{key} is an object", key=key), facts)
        return
    releases = additional_config.releases()
    having = [each.vllm_ascend for each in releases if key in each.groups.get(group, ())]
    spans = stacks.spans(having, (each.vllm_ascend for each in releases))
    others = msg("; vllm-ascend {spans} has it", spans=spans) if having else ""
    near = "" if having else hint(key, own) or _elsewhere(key, keys)
    refusal = keys.refusals.get(group) or keys.refusals.get("", "")
    because = msg("and ignores") if not refusal else msg("and ends: “{refusal}”", refusal=refusal)
    report = warn if not refusal or (not above and _has_omni(facts)) else fail
    expected = msg("keys of --{option} that {label} has", option=OPTION, label=facts.row.label())
    seen = msg(
        "{path}, which it does not have {because}{others}{near}",
        path=shown(path, 120),
        because=because,
        others=others,
        near=near,
    )
    repair = without_key(facts, OPTION, path)
    if not having and (meant := difflib.get_close_matches(key, own, n=1, cutoff=0.7)):
        repair = renamed_key(facts, OPTION, path, meant[0])
    yield report(
        expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _elsewhere(key: str, keys: Keys) -> str:
    """The place of a key like this one in another object."""
    places = {
        name: f"{group}.{name}" for group, names in keys.groups.items() if group for name in names
    }
    near = difflib.get_close_matches(key, places, n=1, cutoff=0.7)
    return msg("; did you mean {near}?", near=places[near[0]]) if near else ""


def _refused(path: str, value: JsonValue, sentence: str, facts: WeightsFacts) -> Finding:
    expected = msg(
        "a value of {path} that {label} takes for this launch", path=path, label=facts.row.label()
    )
    seen = msg(
        "{path}: {value}, and it ends: “{sentence}”",
        path=path,
        value=shown(str(value), 60),
        sentence=sentence,
    )
    repair = without_key(facts, OPTION, path)
    return fail(
        expected=expected, seen=seen, fix=repair.order, where=repair.where, edits=repair.edits
    )


def _has_omni(facts: WeightsFacts) -> bool:
    required = (facts.submission.requirements or b"") if facts.submission else b""
    script = facts.plan.script if facts.plan else ""
    return bool(_OMNI.search(f"{script}\n{required.decode(errors='replace')}"))


def _is_meant(rule: Rule, path: str, value: JsonValue) -> bool:
    holder = rule.key.removesuffix("*")
    named = (
        path.rpartition(".")[0] == holder[:-1]
        if holder.endswith(".")
        else f".{path}".endswith(f".{rule.key}")
    )
    return named and value not in _OFF


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


_HAS: Mapping[Needs, Callable[[WeightsFacts, JsonValue], bool]] = {
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
"""Whether the launch has what a key with a value needs; True where the configuration of the model is not known."""
