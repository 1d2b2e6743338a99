"""weights/present: the folder has weights."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, fail
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.inventory import Format, format_of, is_partial, of_format
from healthcheck.stages.weights.records import Weights, WeightsFacts, check
from healthcheck.stages.weights.words import some
from healthcheck.text.messages import msg

SERVED = msg("*.safetensors (or *.bin, *.gguf) files")


@check(
    "weights/present",
    msg("The folder holds a model"),
    rule=contract.WEIGHTS_FROM_MODEL_PATH,
    why=msg(
        "The service downloads the weights repository to $MODEL_PATH, from which the server loads it."
    ),
)
def present(facts: WeightsFacts) -> Findings:
    """The folder that MODEL_PATH will name must hold a complete model: weights, configuration and tokenizer, at its
    top level.

    Engines do not look into subfolders. A folder of the Hugging Face cache (models--org--name) holds blobs and
    snapshots: the model is in snapshots/<revision>. A LoRA adapter (adapter_config.json) must be merged into its
    base model first. Engines that serve chat completions do not load formats of other frameworks (ONNX, OM,
    TensorFlow).

    To repair: pass the folder that contains config.json as --weights, or move the files to the top of the weights
    repository.

    Example:
    ```text files
    Qwen3-8B/config.json
    Qwen3-8B/model.safetensors
    Qwen3-8B/tokenizer.json
    Qwen3-8B/tokenizer_config.json
    ```

    Use instead:

    ```text files
    config.json
    model.safetensors
    tokenizer.json
    tokenizer_config.json
    ```
    """
    weights = facts.weights
    yield from _no_folder(facts)
    a_pipeline = weights.diffusers_index.present
    if of_format(weights.files, Format.SAFETENSORS, Format.PICKLE, Format.GGUF, top=not a_pipeline):
        return
    if weights.adapter_config.present:
        base = repr(weights.adapter_config.value.get("base_model_name_or_path"))
        seen = msg(
            "adapter_config.json: a LoRA adapter of {base}, without the base model", base=base
        )
        fix = msg(
            "merge the adapter into its base model (peft: merge_and_unload) and submit the result"
        )
        yield At("adapter_config.json").fail(expected=msg("a whole model"), seen=seen, fix=fix)
        return
    expected = msg("{served} at the top of {path}", served=SERVED, path=weights.folder.path)
    instead, repair = _why_absent(weights, [entry.name for entry in weights.files])
    yield fail(expected=expected, seen=instead, fix=repair)


def _no_folder(facts: WeightsFacts) -> Findings:
    """Fail if deploy.sh serves a folder inside MODEL_PATH that the weights do not have."""
    below = facts.plan.served_below if facts.plan else ""
    whole = facts.weights.whole
    real = whole.real_name(below)
    if not below or "<unresolved" in below or real == "." or whole.has_folder(real):
        return
    entry = whole.entry(below)
    if entry is None or format_of(below) is not Format.GGUF:
        what = (entry.problem or msg("is one file")) if entry else msg("is not there")
        expected = msg("a folder of the weights, or MODEL_PATH itself")
        seen = msg(
            "deploy.sh serves {below} below it, which {what}", below=repr(shown(below)), what=what
        )
        yield At(facts.where).fail(
            expected=expected, seen=seen, fix=msg('name "$MODEL_PATH" as the model')
        )


def _why_absent(weights: Weights, names: list[str]) -> tuple[str, str]:
    """What the folder has instead of weights, and the repair."""
    if not names:
        seen = msg("the folder is empty")
        return seen, msg("download the weights into it, or give the folder that holds them")
    deeper = of_format(weights.files, Format.SAFETENSORS, Format.PICKLE, Format.GGUF, top=False)
    if deeper:
        folders = sorted({entry.name.rpartition("/")[0] for entry in deeper})
        snapshot = next((folder for folder in folders if "snapshots/" in folder), folders[0])
        seen = msg("weights only in {folders}", folders=some(folders))
        return seen, msg(
            "give the folder {snapshot} below it, or move its files to the top",
            snapshot=repr(shown(snapshot)),
        )
    partial = [name for name in names if is_partial(name)]
    if partial:
        seen = msg("only remains of a download: {partial}", partial=some(partial))
        return seen, msg("download the weights again, to the end")
    foreign = of_format(weights.files, Format.FOREIGN, top=False)
    if foreign:
        seen = msg(
            "weights of other frameworks only: {name}", name=some([entry.name for entry in foreign])
        )
        return seen, msg("submit the safetensors weights of the model")
    seen = msg("no weights among {count} files: {examples}", count=len(names), examples=some(names))
    return seen, msg("download the weights; a clone without Git LFS does not contain them")
