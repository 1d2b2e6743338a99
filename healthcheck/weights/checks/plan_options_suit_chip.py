"""plan/options-suit-chip: the options are ones that the release takes on the chip."""

from __future__ import annotations

from healthcheck.check import Findings, NotApplicable, check, fail, warn
from healthcheck.messages import msg
from healthcheck.records import Finding, Level, Stage
from healthcheck.weights.attention import is_asked, judge_attention
from healthcheck.weights.chip_options import OptionRule, rules_of
from healthcheck.weights.facts import WeightsFacts
from healthcheck.weights.settings import in_settings


@check(
    "plan/options-suit-chip",
    "The options suit the chip",
    stage=Stage.WEIGHTS,
    why="vllm-ascend refuses some options on some chips, and needs others there, when the model is loaded.",
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def plan_options_suit_chip(facts: WeightsFacts) -> Findings:
    """A few options of vLLM work on some Ascend chips and not on others, in some releases of vllm-ascend. The kit
    has a table of them with their sources (`healthcheck/data/chip-options.json`); it is asked for the chip of --npu
    and the row of --stack.

    On a 310P, releases from 0.21.0rc1 to 0.23.0.post1 end with “Expert Parallel is not supported on 310P” if a
    mixture of experts runs on several devices with --enable-expert-parallel. Models with linear attention whose
    config.json asks for a state in 32 bits (mamba_ssm_dtype, in Qwen3.5 and Qwen3.6) need
    `--mamba-ssm-cache-dtype float16` there; with experts, it is a warning, as one tutorial leaves the option out.

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
    if facts.plan is None or facts.engine not in {"vllm", "unknown"}:
        raise NotApplicable(msg("no command line of vLLM is known"))
    chip = facts.chip
    rules = rules_of(chip.family, facts.row.vllm_ascend)
    if not rules and not is_asked(facts):
        raise NotApplicable(msg("{label} has no such option on a {label2}", facts.row.label(), chip.label))
    for rule in rules:
        if not rule.holds(facts):
            yield in_settings(_broken(facts, rule, chip.label), facts.plan)
    if facts.engine == "vllm":
        yield from judge_attention(facts)


def _broken(facts: WeightsFacts, rule: OptionRule, chip: str) -> Finding:
    given = facts.option(rule.option)
    spelled = f"--{rule.option} {given or ''}".rstrip() if given is not None else msg("no --{option}", rule.option)
    wanted = msg("--{option} {value}", rule.option, rule.value) if rule.value else msg("no --{option}", rule.option)
    report = fail if rule.level is Level.FAIL else warn
    return report(
        expected=msg("{wanted}, for {label} on a {chip}", wanted, facts.row.label(), chip),
        seen=msg("{spelled}: {because}", spelled, rule.because),
        fix=msg("pass {wanted}", wanted) if rule.value else msg("leave --{option} out", rule.option),
        where=facts.where,
        evidence={"source": rule.source},
    )
