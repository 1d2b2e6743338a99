"""Checks that there are weights, and not too many of them."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.check import Findings, check, fail, note, warn
from healthcheck.records import Finding, JsonValue, Stage
from healthcheck.weights.facts import Weights, WeightsFacts
from healthcheck.weights.folder import MAX_ENTRIES, Entry, shown
from healthcheck.weights.inventory import Format, format_of, is_partial, of_format
from healthcheck.weights.words import gigabytes, some

GIB_LIMIT = 100 * 2**30
SERVED = "*.safetensors (or *.bin, *.gguf) files"


@check(
    "weights/present",
    "The folder holds a model",
    stage=Stage.WEIGHTS,
    rule=contract.WEIGHTS_FROM_MODEL_PATH,
    why="The service downloads the weights repository to $MODEL_PATH; the server loads what is there.",
)
def present(facts: WeightsFacts) -> Findings:
    """The folder that MODEL_PATH will name has to hold a whole model: weights at its top level, with their
    configuration and tokenizer beside them.

    Engines look at the top level only: weights in a subfolder are not found. A folder of the Hugging Face cache
    (models--org--name) holds blobs and snapshots: the model is in snapshots/<revision>. A LoRA adapter
    (adapter_config.json) is no model: merge it into its base model first. Formats of other frameworks (ONNX, OM,
    TensorFlow) are not loaded by an engine that serves chat completions.

    To repair: give the folder with config.json in it as --weights, or move the files to the top of the weights
    repository.
    """
    weights = facts.weights
    yield from _no_folder(facts)
    a_pipeline = weights.diffusers_index.present
    if of_format(weights.files, Format.SAFETENSORS, Format.PICKLE, Format.GGUF, top=not a_pipeline):
        return
    names = [entry.name for entry in weights.files]
    expected = f"{SERVED} at the top of {weights.folder.path}"
    yield _why_absent(weights, expected, names)


def _no_folder(facts: WeightsFacts) -> Iterator[Finding]:
    """What deploy.sh serves from inside MODEL_PATH, where the weights have no such folder."""
    below = facts.plan.served_below if facts.plan else ""
    whole = facts.weights.whole
    real = whole.real_name(below)
    if not below or "<unresolved" in below or real == "." or whole.has_folder(real):
        return
    entry = whole.entry(below)
    if entry is None or format_of(below) is not Format.GGUF:
        what = (entry.problem or "is one file") if entry else "is not there"
        yield fail(
            expected="a folder of the weights, or MODEL_PATH itself",
            seen=f"deploy.sh serves {shown(below)!r} below it, which {what}",
            fix='name "$MODEL_PATH" as the model',
            where=facts.plan.server.where if facts.plan and facts.plan.server else "",
        )


def _why_absent(weights: Weights, expected: str, names: list[str]) -> Finding:
    if not names:
        return fail(
            expected=expected,
            seen="the folder is empty",
            fix="download the weights into it, or give the folder that holds them",
        )
    if weights.adapter_config.present:
        base = weights.adapter_config.value.get("base_model_name_or_path")
        seen = f"adapter_config.json: a LoRA adapter of {base!r}, without the base model"
        return fail(
            expected="a whole model",
            seen=seen,
            fix="merge the adapter into its base model (peft: merge_and_unload) and submit the result",
            where="adapter_config.json",
        )
    deeper = of_format(weights.files, Format.SAFETENSORS, Format.PICKLE, Format.GGUF, top=False)
    if deeper:
        folders = sorted({entry.name.rpartition("/")[0] for entry in deeper})
        snapshot = next((folder for folder in folders if "snapshots/" in folder), folders[0])
        seen = f"weights only in {some(folders)}"
        return fail(
            expected=expected,
            seen=seen,
            fix=f"give the folder {shown(snapshot)!r} below it, or move its files to the top",
        )
    partial = [name for name in names if is_partial(name)]
    if partial:
        return fail(
            expected=expected,
            seen=f"only remains of a download: {some(partial)}",
            fix="download the weights again, to the end",
        )
    foreign = of_format(weights.files, Format.FOREIGN, top=False)
    if foreign:
        seen = f"weights of other frameworks only: {some([entry.name for entry in foreign])}"
        return fail(expected=expected, seen=seen, fix="submit the safetensors weights of the model")
    return fail(
        expected=expected,
        seen=f"no weights among {len(names)} files: {some(names)}",
        fix="download the weights; a clone without Git LFS leaves them out",
    )


@check(
    "weights/size-limit",
    "The weights fit the size limit",
    stage=Stage.WEIGHTS,
    rule=contract.WEIGHT_LIMIT,
    why="Above the limit the download of the weights fails, and the job with it.",
)
def size_limit(facts: WeightsFacts) -> Findings:
    """Everything in the weights folder counts: duplicates in another format, optimizer states, images. Files with
    several names (hard links, links into the download cache) count once; the .git folder is left out, because a
    download does not bring it.

    The service says "100 GB" and not which kind: read strictly that is 100,000,000,000 bytes. A folder between
    that and 100 GiB (107,374,182,400 bytes) may pass there, but nothing says so, and the check fails it.

    To repair: delete what no engine loads (pytorch_model*.bin beside safetensors, original/, *.gguf, checkpoints),
    quantize (W8A8 halves bfloat16 weights), or submit a smaller model. --weight-limit sets another limit.
    """
    weights, limit = facts.weights, facts.limit_bytes
    total = weights.total_bytes
    if weights.whole.truncated:
        yield warn(
            expected=f"at most {MAX_ENTRIES:,} files, so that all can be counted",
            seen=f"more than that; those that were counted take {gigabytes(total)}",
            fix="remove what is no part of the model from the weights folder",
        )
    if total > limit:
        yield fail(
            expected=f"at most {limit:,} bytes ({gigabytes(limit)})",
            seen=f"{total:,} bytes ({gigabytes(total)}), {gigabytes(total - limit)} too many{_unit(total, limit)}",
            fix=_what_to_delete(weights, total - limit),
            where=str(weights.whole.path),
            evidence={"bytes": total, "limit_bytes": limit, "largest": _largest(weights)},
        )
    elif weights.whole.git_bytes > 10**6:
        yield note(f"{gigabytes(total)}; .git takes {gigabytes(weights.whole.git_bytes)} more and is not counted")


def _unit(total: int, limit: int) -> str:
    if limit != contract.MAX_WEIGHT_BYTES or total > GIB_LIMIT:
        return ""
    return (
        f". That is below 100 GiB ({GIB_LIMIT:,} bytes), but the service does not document which unit its “100 GB” "
        "is, so the strict reading decides"
    )


def _largest(weights: Weights) -> list[JsonValue]:
    largest = sorted(weights.whole.entries, key=lambda entry: -entry.size_bytes)[:5]
    return [{"name": entry.name, "bytes": entry.size_bytes} for entry in largest]


def _what_to_delete(weights: Weights, excess: int) -> str:
    for spare in _spares(weights):
        if sum(entry.size_bytes for entry in spare) >= excess:
            return f"delete what no engine loads here: {some([entry.name for entry in spare])}"
    return (
        "quantize the weights (W8A8 halves bfloat16) or choose a smaller model; --weight-limit sets another limit"
    )


def _spares(weights: Weights) -> Iterator[tuple[Entry, ...]]:
    """Sets of files that can go, the surest first, then all of them together."""
    partial = tuple(entry for entry in weights.whole.entries if is_partial(entry.name))
    foreign = of_format(weights.whole.entries, Format.FOREIGN, top=False)
    deeper = tuple(e for e in of_format(weights.whole.entries, *Format, top=False) if not e.at_top)
    has_safetensors = bool(of_format(weights.whole.entries, Format.SAFETENSORS))
    doubles = of_format(weights.whole.entries, Format.PICKLE, Format.GGUF) if has_safetensors else ()
    sets = [found for found in (partial, doubles, foreign, deeper) if found]
    yield from sets
    yield tuple({entry.name: entry for found in sets for entry in found}.values())
