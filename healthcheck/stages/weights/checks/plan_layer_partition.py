"""plan/layer-partition: VLLM_PP_LAYER_PARTITION divides the layers of this model."""

from __future__ import annotations

from functools import partial

from healthcheck.core.check import Findings, NotApplicable, fail
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.weights.documents import positive
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.repairs import Repair, with_variable, without_variable
from healthcheck.text.messages import msg

VARIABLE = "VLLM_PP_LAYER_PARTITION"
"""Source: get_pp_indices of vllm/distributed/utils.py."""
_SIZE = "pipeline-parallel-size"
MAX_SHOWN = 120
MAX_PARTS = 1024


@check(
    "plan/layer-partition",
    msg("The pipeline partition fits the model"),
    why=msg(
        "vLLM ends with a ValueError if the partition does not have as many layers as the model."
    ),
    requires=("weights/present", "weights/config"),
)
def plan_layer_partition(facts: WeightsFacts) -> Findings:
    """VLLM_PP_LAYER_PARTITION has the number of layers of each pipeline stage, separated by commas.
    vLLM compares it with the model while it starts, even without pipeline parallelism:

    - as many numbers as --pipeline-parallel-size, which is 1 by default.
    - their sum is num_hidden_layers of config.json.

    A script that is copied from another model's recipe has that model's partition.

    Example:
    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 28}
    ```

    ```sh deploy.sh
    export VLLM_PP_LAYER_PARTITION=32,29
    exec vllm serve "$MODEL_PATH" --port {port} --pipeline-parallel-size 2
    ```

    Use instead:

    ```sh deploy.sh
    export VLLM_PP_LAYER_PARTITION=14,14
    exec vllm serve "$MODEL_PATH" --port {port} --pipeline-parallel-size 2
    ```
    """
    plan, server = facts.plan, facts.server
    value = server.env.get(VARIABLE) if server else None
    if plan is None or not facts.engine.is_catalogued or value is None or UNRESOLVED in value:
        raise NotApplicable(msg("no {variable} is set for a server of vLLM", variable=VARIABLE))
    size = facts.option(_SIZE) or "1"
    stages = int(size) if size.isdecimal() and len(size) < 6 else None
    layers = positive(facts.weights.text_config, "num_hidden_layers")
    seen = msg("{variable}={value}", variable=VARIABLE, value=value[:MAX_SHOWN])
    repair = _repair(facts, stages, layers)
    report = partial(fail, fix=repair.order, where=repair.where, edits=repair.edits)
    parts = _parts(value)
    if parts is None:
        expected = msg("{variable} as whole numbers, separated by commas", variable=VARIABLE)
        yield report(expected=expected, seen=seen)
    elif stages is not None and len(parts) != stages:
        expected = msg(
            "{count} numbers in {variable}, one for each pipeline stage",
            count=stages,
            variable=VARIABLE,
        )
        seen += msg(", which has {count} numbers", count=len(parts))
        yield report(expected=expected, seen=seen)
    elif layers is not None and sum(parts) != layers:
        expected = msg(
            "{layers} layers in {variable}, as in config.json", layers=layers, variable=VARIABLE
        )
        seen += msg(", which has {sum} layers", sum=sum(parts))
        yield report(expected=expected, seen=seen)


def _parts(value: str) -> tuple[int, ...] | None:
    """The numbers of a partition; None if vLLM cannot read it."""
    words = value.split(",")
    try:
        return tuple(map(int, words)) if len(words) <= MAX_PARTS else None
    except ValueError:
        return None


def _repair(facts: WeightsFacts, stages: int | None, layers: int | None) -> Repair:
    """An even partition, or the removal of the variable if there is one stage."""
    if stages is None or layers is None or not 1 < stages <= min(layers, MAX_PARTS):
        return without_variable(facts, VARIABLE)
    each, left = divmod(layers, stages)
    even = ",".join(str(each + (at < left)) for at in range(stages))
    return with_variable(facts, VARIABLE, even)
