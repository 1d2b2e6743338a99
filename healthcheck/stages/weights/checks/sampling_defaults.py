"""weights/sampling-defaults: what the server samples with where a request says nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import At, Findings, NotApplicable, note
from healthcheck.core.records import Finding, JsonValue
from healthcheck.stages.plan.checks.chat_api import COMPLETION
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.text.messages import msg

FROM, OVERRIDE, FILE = "generation-config", "override-generation-config", "generation_config.json"
FILE_COUNTS_SINCE = "0.8.0"
"""The first release of vLLM whose --generation-config is "auto" by default; earlier ones ignore the file."""
TEMPERATURE, TOP_K, TOP_P, MIN_P = "temperature", "top_k", "top_p", "min_p"
PENALTY, LIMIT, DO_SAMPLE = "repetition_penalty", "max_new_tokens", "do_sample"
STRONG_PENALTY = 1.3
"""Vendors ship up to 1.1 (Qwen2.5-Coder)."""
STOCK_TEMPERATURE = 0.01
"""The temperature in AISBench's stock configuration (vllm_api_stream_chat)."""
LEAST_TOP_P = 0.01
"""Hardly more than one token has a share of the probability so small."""
_COPIES = msg("all samples of a problem are copies")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Default:
    """A sampling parameter as the server takes it where a request leaves it out, and the place that sets it."""

    name: str
    value: float
    place: str


@check(
    "weights/sampling-defaults",
    msg("The sampling defaults let the samples of a problem differ"),
    why=msg(
        "Where a request leaves out top_k or another parameter, vLLM takes it from generation_config.json."
    ),
    requires=("weights/present",),
)
def sampling_defaults(facts: WeightsFacts) -> Findings:
    """Six parameters that a request leaves out come from generation_config.json in vLLM
    (--generation-config auto, the default since 0.8.0), and from --override-generation-config on
    top of it: temperature, top_k, top_p, min_p, repetition_penalty and max_new_tokens. It does not
    read do_sample: `"do_sample": false` alone changes nothing, and a request without a temperature
    is sampled at the file's temperature, else at 1.

    What the service's client sends is not documented; its stock configuration sends a temperature
    of 0.01 and max_tokens, and nothing else of these. A parameter that the request has counts more
    than the default.

    All samples of a problem are copies, and pass@k is avg@n, with a default temperature of 0 (for
    requests without one), a top_k of 1, a top_p of 0.01 or less, or a min_p of 1 (at any
    temperature). A repetition penalty of 1.3 or more keeps a model from repeating the numbers of a
    problem in its calculation. A max_new_tokens is a limit for every request; below what the client
    requests (512 by default, which is inferred) it cuts answers.

    To repair: remove the value from --override-generation-config, correct generation_config.json
    from the model's original repository, or pass --generation-config vllm.

    Example:
    ```json generation_config.json
    {"temperature": 0.7, "top_k": 1}
    ```

    Use instead:

    ```json generation_config.json
    {"temperature": 0.7, "top_k": 20}
    ```
    """
    if not facts.engine.loading.generation_config:
        raise NotApplicable(msg("no server of vLLM is known"))
    values = _effective(facts)
    for default in _numbers(values):
        yield from _judged(facts, default)
    chosen, place = values.get(DO_SAMPLE, (None, ""))
    if chosen is False:
        temperature = str(values.get(TEMPERATURE, (1, ""))[0])
        yield note(
            msg(
                "{place} has do_sample false, which vLLM does not read: a request is sampled at its own "
                "temperature, else at {temperature}",
                place=place,
                temperature=temperature,
            )
        )


def _effective(facts: WeightsFacts) -> Mapping[str, tuple[JsonValue, str]]:
    """Each parameter of the file and the option, with the place that counts."""
    chosen = facts.option(FROM)
    by_default = not stacks.is_older(facts.row.vllm[0], FILE_COUNTS_SINCE)
    is_read = chosen == "auto" or (chosen is None and by_default)
    of_the_file = facts.weights.generation_config.value if is_read else {}
    of_the_option = facts.table(OVERRIDE)
    return {key: (value, FILE) for key, value in of_the_file.items()} | {
        key: (value, f"--{OVERRIDE}") for key, value in of_the_option.items()
    }


def _numbers(values: Mapping[str, tuple[JsonValue, str]]) -> Iterator[_Default]:
    for name in (TEMPERATURE, TOP_K, TOP_P, MIN_P, PENALTY, LIMIT):
        value, place = values.get(name, (None, ""))
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                continue
            if math.isfinite(number):
                yield _Default(name=name, value=number, place=place)


def _judged(facts: WeightsFacts, default: _Default) -> Iterator[Finding]:
    """A warning if the default spoils the samples, a note if the client's own temperature makes it harmless."""
    asked = contract.service().temperature
    expected = why = ""
    match default.name:
        case "temperature" if default.value == 0 and asked is not None:
            yield note(
                msg(
                    "{place} has temperature 0, which does not count: the service's client sends {asked}",
                    place=default.place,
                    asked=asked,
                )
            )
        case "temperature" if default.value == 0:
            expected = msg("a temperature above 0, or none")
            why = msg(
                "a request without a temperature is greedy, and {copies} (the client's stock configuration sends "
                "{stock}; what the service's sends is not documented)",
                copies=_COPIES,
                stock=STOCK_TEMPERATURE,
            )
        case "top_k" if default.value == 1:
            expected, why = msg("a top_k of more than 1, or none"), _COPIES
        case "top_p" if 0 <= default.value <= LEAST_TOP_P:
            expected = msg("a top_p above {least}, or none", least=LEAST_TOP_P)
            why = msg("only the likeliest token is left, so {copies}", copies=_COPIES)
        case "min_p" if default.value >= 1:
            expected = msg("a min_p below 1, or none")
            why = msg("only the likeliest token is left, so {copies}", copies=_COPIES)
        case "repetition_penalty" if default.value >= STRONG_PENALTY:
            expected = msg("a repetition_penalty below {most}", most=STRONG_PENALTY)
            why = msg("the model may not repeat the numbers of a problem")
        case "max_new_tokens" if default.value < _least():
            expected = msg("a max_new_tokens of {least} or more, or none", least=_least())
            why = msg("vLLM cuts every answer there")
    if expected:
        seen = msg(
            "{place} has {name} {value}: {why}",
            place=default.place,
            name=default.name,
            value=f"{default.value:g}",
            why=why,
        )
        fix = msg("remove {name} from {place}", name=default.name, place=default.place)
        if default.place == FILE:
            fix = msg("{fix}, or pass --generation-config vllm", fix=fix)
        yield At(facts.place).warn(expected=expected, seen=seen, fix=fix)


def _least() -> int:
    return contract.service().max_tokens or COMPLETION
