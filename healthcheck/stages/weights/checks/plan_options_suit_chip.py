"""plan/options-suit-chip: the release runs the options on the chip, and together."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from healthcheck.ascend import stacks
from healthcheck.ascend.hardware import Family
from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.core.records import Finding, Level
from healthcheck.stages.weights.documents import text_of
from healthcheck.stages.weights.fit import (
    Cached,
    has_attention_options,
    has_experts,
    judge_attention,
    read_layout,
    read_shape,
)
from healthcheck.stages.weights.records import WeightsFacts, check, judge_only_launches
from healthcheck.stages.weights.repairs import (
    Repair,
    together,
    with_option,
    without_key,
    without_option,
    without_variable,
)
from healthcheck.system import json_text
from healthcheck.system.files import DATA
from healthcheck.text.messages import msg

_NOT_GIVEN = {"", "0", "off", "false"}
TABLE = DATA / "launch-rules.json"


class Model(enum.Enum):
    """The kind of launch that a rule applies to."""

    ANY = "any"
    EXPERTS = "experts-over-devices"
    STATE = "state-in-32-bits"
    STATE_AND_EXPERTS = "state-in-32-bits-and-experts"
    LINEAR = "linear-attention"
    COMPRESSED = "compressed-attention"
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRule:
    """A combination of options that a release refuses, or with which it hangs or answers wrongly.

    Attributes:
        chips: families, under vllm-ascend's names.
        releases: a specifier of vllm-ascend releases.
        options: patterns that must all match, by option, by key of an option's JSON ("option.key") or by variable;
            names with "|" between them are alternatives. `_setting` says what a pattern is matched with.
        level: FAIL or WARN.
        because: what happens, a text of the catalogue of messages.
        leave: what to leave out; `give` is what to pass instead.
        repaired: the first release without the fault, "" if none is known.
    """

    chips: tuple[Family, ...]
    releases: str
    options: Mapping[str, str]
    level: Level
    because: str
    source: str
    model: Model = Model.ANY
    leave: str = ""
    give: str = ""
    repaired: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    source: str
    rules: tuple[LaunchRule, ...]


@check(
    "plan/options-suit-chip",
    msg("The options suit the chip and the release"),
    why=msg(
        "vllm-ascend refuses some options on some chips, and hangs or answers wrongly with some together."
    ),
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def plan_options_suit_chip(facts: WeightsFacts) -> Findings:
    """A few options of vLLM work on some Ascend chips and not on others, in some releases of vllm-ascend, and some
    not together. The kit has a table of them with their sources (`healthcheck/data/launch-rules.json`); it is asked
    for the chip of --npu and the row of --stack.

    On a 310P, releases from 0.21.0rc1 to 0.23.0.post1 end with “Expert Parallel is not supported on 310P” if a
    mixture of experts runs on several devices with --enable-expert-parallel. Models with linear attention whose
    config.json asks for a state in 32 bits (mamba_ssm_dtype, in Qwen3.5 and Qwen3.6) need
    `--mamba-ssm-cache-dtype float16` there; with experts, it is a warning, as one tutorial leaves the option out.

    Known to make answers wrong: MTP with prefix caching, for models with linear attention (a failure on a 310P up
    to 0.23.0, whose successor's release notes say so), and copies of a DeepSeek-V4 up to 0.23.0. Known to hang at
    the start: FlashComm1 with multistream_overlap_shared_expert and copies. enable_reduce_sample makes
    log-probabilities wrong. These are warnings that name the issue: they happen under some loads only. A
    kv_producer or kv_consumer without the other is a warning, too.

    --kv-cache-dtype with another format than 16 bits (fp8, fp8_e5m2, int8 …) needs a 950, or weights that bring
    scales for the cache, or both: what a release does is read from its source. Elsewhere the server ends, at the
    latest with the first request. Where the source does not settle it (models with latent or sparse attention,
    quantised weights), the check is inconclusive. --attention-backend is a warning: vllm-ascend has an attention of
    its own and does not use the one that is named.

    To repair: take the option out, or give it, as the finding says. The example is one for `--npu 310P3-Duo`.

    Example:
    ```json config.json
    {
      "architectures": ["Qwen3_5ForConditionalGeneration"],
      "model_type": "qwen3_5",
      "text_config": {"mamba_ssm_dtype": "float32"}
    }
    ```

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --dtype float16
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --dtype float16 --mamba-ssm-cache-dtype float16
    ```
    """
    judge_only_launches(facts)
    if facts.plan is None or not facts.engine.is_catalogued:
        raise NotApplicable(msg("no command line of vLLM is known"))
    chip = facts.chip
    rules = _rules_of(chip.family, facts.row.vllm_ascend)
    if not rules and not has_attention_options(facts):
        raise NotApplicable(
            msg(
                "{release} has no such option on a {device}",
                release=facts.row.label(),
                device=chip.label,
            )
        )
    for rule in rules:
        if _is_launched(rule, facts) and _is_meant(rule.model, facts):
            yield _broken(facts, rule, chip.label)
    yield from judge_attention(facts)


def _broken(facts: WeightsFacts, rule: LaunchRule, chip: str) -> Finding:
    given = [
        f"--{name} {facts.option(name) or ''}".rstrip()
        for name in _options(rule)
        if facts.option(name) is not None
    ]
    wanted = rule.give or msg("no {leave}", leave=rule.leave)
    spelled = " ".join(given) if given else msg("no --{option}", option=next(_options(rule)))
    report, told = fail if rule.level is Level.FAIL else warn, {"source": rule.source}
    expected = msg(
        "{wanted}, for {label} on a {chip}", wanted=wanted, label=facts.row.label(), chip=chip
    )
    repair = _repair(facts, rule)
    fix = repair.order
    if rule.repaired:
        fix += msg(", or take vllm-ascend {repaired}", repaired=rule.repaired)
    seen = msg("{spelled}: {because}", spelled=spelled, because=msg(rule.because))
    return report(
        expected=expected,
        seen=seen,
        fix=fix,
        where=repair.where,
        evidence=told,
        edits=repair.edits,
    )


def _repair(facts: WeightsFacts, rule: LaunchRule) -> Repair:
    """Pass what the rule gives, or remove what it leaves out, as far as the launch has it."""
    if rule.give:
        option, _, value = rule.give.removeprefix("--").partition(" ")
        return with_option(facts, option, value)
    if rule.leave.startswith("--"):
        return without_option(facts, rule.leave.removeprefix("--"))
    names = (name for alternatives in rule.options for name in alternatives.split("|"))
    left_out = [
        name
        for name in dict.fromkeys(names)
        if re.search(rf"(?<!\w){re.escape(name.rpartition('.')[2])}(?!\w)", rule.leave)
        and _setting(facts, name) not in _NOT_GIVEN
    ]
    return together(*(_without(facts, name) for name in left_out))


def _without(facts: WeightsFacts, name: str) -> Repair:
    option, _, key = name.partition(".")
    if name.isupper():
        return without_variable(facts, name)
    return without_key(facts, option, key) if key else without_option(facts, option)


def _rules_of(family: Family, release: str) -> tuple[LaunchRule, ...]:
    rules = json_text.load_as(TABLE.read_bytes(), _Table).rules
    return tuple(
        rule for rule in rules if family in rule.chips and stacks.in_range(release, rule.releases)
    )


def _options(rule: LaunchRule) -> Iterator[str]:
    """The options that a rule looks at, without keys of their JSON."""
    names = (name.partition(".")[0] for names in rule.options for name in names.split("|"))
    return (name for name in dict.fromkeys(names) if not name.isupper())


def _is_launched(rule: LaunchRule, facts: WeightsFacts) -> bool:
    """Whether the server is launched with all the options of a rule."""
    return all(
        any(re.fullmatch(pattern, _setting(facts, name)) for name in names.split("|"))
        for names, pattern in rule.options.items()
    )


def _setting(facts: WeightsFacts, name: str) -> str:
    """The value in lower case; "on" or "off" for a switch or its opposite, "" if absent."""
    option, _, key = name.partition(".")
    if name.isupper():
        return facts.server.env.get(name, "").lower() if facts.server else ""
    if facts.option(f"no-{option}") is not None:
        return "off"
    value = facts.table(option).get(key) if key else facts.option(option)
    return "" if value is None else str(value).lower() or "on"


def _is_meant(model: Model, facts: WeightsFacts) -> bool:
    config = facts.weights.text_config
    if model is Model.ANY:
        return True
    if model is Model.ALONE:
        return facts.plan is not None and len(facts.plan.servers) == 1
    if model is Model.EXPERTS:
        layout = read_layout(facts)
        return has_experts(config) and layout.tensor * layout.data > 1
    if model is Model.LINEAR:
        shape = read_shape(config)
        return shape is not None and Cached.STATE in shape.layers
    if model is Model.COMPRESSED:
        return "compress_ratios" in config or text_of(config.get("model_type")).startswith(
            "deepseek_v4"
        )
    in_32_bits = text_of(config.get("mamba_ssm_dtype")) not in {"", "float16"}
    return in_32_bits and has_experts(config) == (model is Model.STATE_AND_EXPERTS)
