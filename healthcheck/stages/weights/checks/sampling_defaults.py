"""weights/sampling-defaults: what the server samples with where a request says nothing."""

from __future__ import annotations

import math

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable
from healthcheck.core.records import JsonValue
from healthcheck.stages.plan.checks.chat_api import COMPLETION
from healthcheck.stages.weights.facts import WeightsFacts, check
from healthcheck.stages.weights.settings import in_settings
from healthcheck.text.messages import msg

FROM, OVERRIDE = "generation-config", "override-generation-config"
TOP_K, PENALTY, LIMIT = "top_k", "repetition_penalty", "max_new_tokens"
STRONG_PENALTY = 1.3
"""Vendors ship up to 1.1 (Qwen2.5-Coder)."""


@check(
    "weights/sampling-defaults",
    "The sampling defaults let the samples of a problem differ",
    why="Where a request names no top_k or repetition_penalty, vLLM takes those of generation_config.json.",
    requires=("weights/present",),
)
def sampling_defaults(facts: WeightsFacts) -> Findings:
    """The engine reads generation_config.json for what a request leaves open (--generation-config auto, its
    default), and --override-generation-config on top of it. What the service's client sends is not documented;
    its stock configuration sends a temperature and max_tokens. A top_k of 1 is greedy decoding at any temperature:
    all samples of a problem are copies, and pass@k is avg@n. A repetition penalty of 1.3 or more keeps a model
    from repeating the numbers of a problem in its calculation. A max_new_tokens is a limit for every request; below
    what the client requests (512 by default, which is inferred) it cuts answers.

    To repair: leave the value out of --override-generation-config, correct generation_config.json from the model's
    original repository, or pass --generation-config vllm.

    Example:
    ```json generation_config.json
    {"temperature": 0.7, "top_k": 1}
    ```

    Use instead:

    ```json generation_config.json
    {"temperature": 0.7, "top_k": 20}
    ```
    """
    if facts.engine not in {"", "vllm"}:
        raise NotApplicable(msg("no server of vLLM is known"))
    read = facts.option(FROM) in {None, "auto"}
    told = [("generation_config.json", facts.weights.generation_config.value if read else {})]
    told.append((f"--{OVERRIDE}", facts.table(OVERRIDE)))
    effective = {key: (value, place) for place, values in told for key, value in values.items()}
    for name, expected, why in (
        (TOP_K, msg("a top_k of more than 1, or none"), msg("all samples of a problem are copies")),
        (PENALTY, msg("a repetition_penalty below {most}", STRONG_PENALTY),
         msg("the model may not repeat the numbers of a problem")),
        (LIMIT, msg("a max_new_tokens of {least} or more, or none", _least()), msg("vLLM cuts every answer there")),
    ):  # fmt: skip
        value, place = effective.get(name, (None, ""))
        if _spoils(name, value):
            seen = msg("{place} has {name} {value}: {why}", place, name, str(value), why)
            fix = msg("take {name} out of {place}", name, place)
            yield in_settings(At(facts.place).warn(expected=expected, seen=seen, fix=fix), facts.plan)


def _spoils(name: str, value: JsonValue) -> bool:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return False
    return number < _least() if name == LIMIT else number == 1 if name == TOP_K else number >= STRONG_PENALTY


def _least() -> int:
    return contract.service().max_tokens or COMPLETION
