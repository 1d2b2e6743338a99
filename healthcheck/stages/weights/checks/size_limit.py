"""weights/size-limit: the weights are within the service's limit."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable, note, warn
from healthcheck.stages.weights.folder import MAX_ENTRIES, Entry
from healthcheck.stages.weights.inventory import Format, is_partial, of_format
from healthcheck.stages.weights.records import Weights, WeightsFacts, check
from healthcheck.stages.weights.words import gigabytes, some
from healthcheck.text.messages import msg


@check(
    "weights/size-limit",
    msg("The weights fit the size limit"),
    rule=contract.WEIGHT_LIMIT,
    why=msg("Above the limit the download of the weights fails, and so does the job."),
)
def size_limit(facts: WeightsFacts) -> Findings:
    """Everything in the weights folder counts: duplicates in another format, optimizer states, images. Files with
    several names (hard links, links into the download cache) count once. The .git folder does not count, because it
    is not downloaded.

    The service says "{limit}" and does not define the unit: read strictly, it is {limit_bytes} bytes. A folder
    between that and {limit_gb} GiB ({limit_gib_bytes} bytes) fails here, although the service may accept it.

    To repair: delete what no engine loads (pytorch_model*.bin beside safetensors, original/, *.gguf, checkpoints),
    quantize (W8A8 halves bfloat16 weights), or submit a smaller model. --weight-limit sets another limit.

    Example:
    ```text files
    config.json
    model.safetensors    65 GB
    pytorch_model.bin    65 GB
    ```

    Use instead:

    ```text files
    config.json
    model.safetensors    65 GB
    ```
    """
    weights, limit = facts.weights, facts.limit_bytes
    if weights.announced_bytes == 0:
        raise NotApplicable(msg("the weights are not here, and no index says how large they are"))
    total = weights.announced_bytes or weights.whole.total_bytes
    if weights.whole.truncated:
        countable = msg(
            "at most {max_entries:,} files, so that all can be counted", max_entries=MAX_ENTRIES
        )
        counted = msg(
            "more than that; those that were counted take {gigabytes}", gigabytes=gigabytes(total)
        )
        remove = msg("remove files that are not part of the model from the weights folder")
        yield warn(expected=countable, seen=counted, fix=remove)
    if total > limit:
        excess, unit = total - limit, _unit(total, limit)
        expected = msg(
            "at most {limit:,} bytes ({gigabytes})", limit=limit, gigabytes=gigabytes(limit)
        )
        seen = msg(
            "{total:,} bytes ({gigabytes}), {excess} too many{unit}",
            total=total,
            gigabytes=gigabytes(total),
            excess=gigabytes(excess),
            unit=unit,
        )
        fix = _what_to_delete(weights, excess)
        yield At(str(weights.whole.path)).fail(expected=expected, seen=seen, fix=fix)
    elif weights.whole.git_bytes > 10**6:
        yield note(
            msg(
                "{gigabytes}; .git takes {git_size} more and is not counted",
                gigabytes=gigabytes(total),
                git_size=gigabytes(weights.whole.git_bytes),
            )
        )


def _unit(total: int, limit: int) -> str:
    if limit != contract.MAX_WEIGHT_BYTES or total > contract.MAX_WEIGHT_GIB_BYTES:
        return ""
    return msg(
        ". That is below {limit_gb} GiB ({limit_gib_bytes:,} bytes), but the service does not document which unit "
        "its “{limit}” is, so the strict reading decides",
        limit_gb=contract.MAX_WEIGHT_GB,
        limit_gib_bytes=contract.MAX_WEIGHT_GIB_BYTES,
        limit=contract.MAX_WEIGHT,
    )


def _what_to_delete(weights: Weights, excess: int) -> str:
    for spare in _spares(weights):
        if sum(entry.size_bytes for entry in spare) >= excess:
            return msg(
                "delete what no engine loads here: {name}",
                name=some([entry.name for entry in spare]),
            )
    return msg("quantize the weights (W8A8 halves bfloat16) or choose a smaller model")


def _spares(weights: Weights) -> Iterator[tuple[Entry, ...]]:
    """Sets of files that can be deleted, the safest first, then all of them together."""
    partial = tuple(entry for entry in weights.whole.entries if is_partial(entry.name))
    foreign = of_format(weights.whole.entries, Format.FOREIGN, top=False)
    deeper = tuple(e for e in of_format(weights.whole.entries, *Format, top=False) if not e.at_top)
    has_safetensors = bool(of_format(weights.whole.entries, Format.SAFETENSORS))
    doubles = (
        of_format(weights.whole.entries, Format.PICKLE, Format.GGUF) if has_safetensors else ()
    )
    sets = [found for found in (partial, doubles, foreign, deeper) if found]
    yield from sets
    yield tuple({entry.name: entry for found in sets for entry in found}.values())
