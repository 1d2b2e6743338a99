"""weights/complete: every file of the weights is present and complete."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from healthcheck.core.check import At, Findings, fail, note, unsettled, warn
from healthcheck.core.commands import Commanded
from healthcheck.core.records import Finding
from healthcheck.stages.weights import words
from healthcheck.stages.weights.documents import Document, JsonObject, child
from healthcheck.stages.weights.folder import Entry, shown
from healthcheck.stages.weights.inventory import (
    MAIN_INDEX,
    SHARD,
    Format,
    format_of,
    is_partial,
    missing_numbers,
    of_format,
    unfinished_target,
)
from healthcheck.stages.weights.records import Shard, Weights, WeightsFacts, check
from healthcheck.stages.weights.words import gigabytes, some
from healthcheck.text.messages import joined, msg

AGAIN = msg("download the file again, to the end")
READ = re.compile(
    r"config\w*\.json$|\.index\.json$|^(tokenizer|vocab|added_tokens|special_tokens|quant_model_|chat_template|tekken|params|modules)"
    r"|^merges\.txt$|\.(model|tiktoken|jinja|py)$"
)
MAY_BE_EMPTY = (".py", ".jinja")
MAX_RENAMED = 4
COPY = re.compile(
    r"^Copy of | \(\d{1,3}\)(?=\.\w+$)|(?: - Copy| copy| - \u526f\u672c)(?: ?\(?\d{1,3}\)?)?(?=\.\w+$)|\.\d{1,3}$"
)
"""How browsers, file managers and wget mark a file whose name was taken (\u526f\u672c: copy)."""


@check(
    "weights/complete",
    msg("Every file of the weights is present and complete"),
    why=msg(
        "The engine stops at the first missing or truncated shard, often after minutes of loading."
    ),
    requires=("weights/present",),
)
def complete(facts: WeightsFacts) -> Findings:
    """Every shard that an index (model.safetensors.index.json) or a numbered name (model-00002-of-00005) implies
    must be in the folder, be as long as its header says, and hold the tensors that the index assigns to it.

    Usual causes: an interrupted download (files that end in .incomplete, .aria2, .part, or that are too short); a
    clone without Git LFS, which has text files of 130 bytes in place of the weights; links into another folder,
    which are not part of the weights repository.

    To repair: run the download again (huggingface-cli download, modelscope download, git lfs pull) until it fetches
    nothing more, and delete the partial files.

    Example:
    ```text files
    config.json
    model-00001-of-00003.safetensors
    model-00003-of-00003.safetensors
    ```

    Use instead:

    ```text files
    config.json
    model-00001-of-00003.safetensors
    model-00002-of-00003.safetensors
    model-00003-of-00003.safetensors
    ```
    """
    weights = facts.weights
    yield from _pointers(weights)
    yield from _unusable(weights)
    yield from _empty(weights)
    yield from _cut_off(weights)
    for index in weights.indices:
        yield from _index(weights, index)
    yield from _numbered(weights)
    yield from _remains(weights)


def _needed(entry: Entry) -> bool:
    """Whether an engine would read the file: weights, configurations, tokenizers and code at the top level."""
    return entry.at_top and (
        format_of(entry.name) is not None or READ.search(entry.name) is not None
    )


def _pointers(weights: Weights) -> Iterator[Finding]:
    sizes = weights.pointers
    needed = [e.name for e in weights.files if e.name in sizes and _needed(e)]
    if needed:
        seen = msg(
            "{sizes} Git LFS pointers in their place ({gigabytes} are missing): {needed}",
            sizes=len(sizes),
            gigabytes=gigabytes(sum(size or 0 for size in sizes.values())),
            needed=some(needed),
        )
        fix = Commanded(
            msg(
                "pull them, if the folder is a clone; or download them with the client of their site"
            ),
            "git lfs install && git lfs pull",
        )
        yield At(shown(needed[0])).fail(expected=msg("the files themselves"), seen=seen, fix=fix)
    elif sizes:
        spare = msg("Git LFS pointers in place of {sizes}", sizes=some(list(sizes)))
        pull = Commanded(msg("pull them, or delete what the model does not need"), "git lfs pull")
        yield warn(expected=msg("the files themselves"), seen=spare, fix=pull)


def _unusable(weights: Weights) -> Iterator[Finding]:
    for entry in [entry for entry in weights.files if entry.problem][:20]:
        name, needed = shown(entry.name), _needed(entry)
        if entry.problem.startswith("cannot be read"):
            report, where = unsettled if needed else warn, ""
            fix: str = Commanded(msg("make it readable"), f"chmod a+r -- {_quoted(entry.name)}")
            if not entry.name.isprintable():
                fix = msg("make it readable")
        elif needed:
            report, where, fix = fail, name, msg("put the file itself there")
        else:
            report, where, fix = warn, "", msg("put the file itself there, or delete the name")
        expected = msg("a regular file in the weights folder")
        yield report(
            expected=expected,
            seen=msg("{name} {problem}", name=name, problem=entry.problem),
            fix=fix,
            where=where,
        )
    for folder in weights.folder.unlisted[:5]:
        yield warn(
            expected=msg("a folder that can be listed"), seen=folder, fix=msg("make it readable")
        )


def _empty(weights: Weights) -> Iterator[Finding]:
    bare = [
        entry
        for entry in weights.files
        if not entry.size_bytes and not entry.problem and _needed(entry)
    ]
    names = (entry.name for entry in bare if not is_partial(entry.name))
    empty = [name for name in names if not name.lower().endswith(MAY_BE_EMPTY)]
    if empty:
        seen = msg("0 bytes: {empty}", empty=some(empty))
        yield At(shown(empty[0])).fail(expected=msg("files with content"), seen=seen, fix=AGAIN)


def _cut_off(weights: Weights) -> Iterator[Finding]:
    for shard in weights.loaded:
        if shard.cut_off and shard.entry.size_bytes and shard.entry.name not in weights.pointers:
            header, name = shard.header, shown(shard.entry.name)
            whole = (
                msg("{file_bytes:,} bytes", file_bytes=header.file_bytes)
                if header
                else msg("at least its own header")
            )
            seen = msg("{name} has {size_bytes:,}", name=name, size_bytes=shard.entry.size_bytes)
            yield At(name).fail(expected=whole, seen=seen, fix=AGAIN)
    for pickled in weights.pickles:
        name = shown(pickled.entry.name)
        if pickled.cut_off:
            seen = msg("{name} is a zip file (as torch.save writes it) without its end", name=name)
            yield At(name).fail(expected=msg("a whole zip file"), seen=seen, fix=AGAIN)
        elif (
            pickled.foreign and pickled.entry.size_bytes and _is_loaded(weights, pickled.entry.name)
        ):
            seen = msg("{name} is neither a pickle nor a zip file with one in it", name=name)
            yield At(name).fail(expected=msg("what torch.save writes"), seen=seen, fix=AGAIN)


def _is_loaded(weights: Weights, name: str) -> bool:
    """Whether an engine would load the file as weights."""
    return name.startswith("pytorch_model") and not weights.loaded and name not in weights.pointers


def _index(weights: Weights, index: Document) -> Iterator[Finding]:
    weight_map, name = child(index.value, "weight_map"), shown(index.name)
    if index.error or not weight_map:
        report = fail if index.name == MAIN_INDEX else warn
        expected = msg('an index: {"weight_map": {tensor: file}}')
        seen = msg(
            "{name} {seen}", name=name, seen=index.error or msg("has no weight_map with entries")
        )
        yield report(expected=expected, seen=seen, fix=words.AGAIN, where=name)
        return
    strange = next((file for file in weight_map.values() if not _is_inside(file)), None)
    if strange is not None:
        said = repr(shown(str(strange)))
        seen = msg(
            "{name} names {strange}, which leads out of it or is not a name",
            name=name,
            strange=said,
        )
        fix = msg("take the index from the model's original repository again")
        yield At(name).fail(
            expected=msg("names of files in the weights folder"), seen=seen, fix=fix
        )
        return
    named = sorted({str(name) for name in weight_map.values()})
    missing = [name for name in named if not weights.folder.has(name)]
    copies = _copies(weights, weight_map, missing) if missing else {}
    if missing:
        yield _missing(weights, index, named, missing, copies)
    yield from _tensors(weights, index, {key: str(name) for key, name in weight_map.items()})
    if index.name == MAIN_INDEX:
        yield from _beside(weights, {*named, *copies.values()})


def _is_inside(name: object) -> bool:
    if not isinstance(name, str) or not name or "\0" in name or "\\" in name:
        return False
    return not name.startswith(("/", "~")) and ".." not in name.split("/")


def _missing(
    weights: Weights,
    index: Document,
    named: list[str],
    missing: list[str],
    copies: Mapping[str, str],
) -> Finding:
    remains, name = [e.name for e in weights.files if is_partial(e.name)], shown(index.name)
    also = msg("; remains of a download: {remains}", remains=some(remains, 3)) if remains else ""
    seen = msg(
        "{count} of {named} are missing: {examples}{also}",
        count=len(missing),
        named=len(named),
        examples=some(missing),
        also=also,
    )
    spare = index.name != MAIN_INDEX and missing == named
    if spare and of_format(weights.files, Format.SAFETENSORS):
        return note(
            msg(
                "{name} names files that are not there; the engine loads the safetensors instead",
                name=name,
            )
        )
    expected = msg("the {named} files that {name} names", named=len(named), name=name)
    copied = [_same(source, target) for target, source in copies.items()][:MAX_RENAMED]
    return At(name).fail(
        expected=expected, seen=joined("; ", (seen, *copied)), fix=_renaming(copies, missing)
    )


def _copies(weights: Weights, weight_map: JsonObject, missing: list[str]) -> dict[str, str]:
    """Missing files that are there under another name, with that name.

    A whole file with exactly the tensors that the index assigns to a missing one is that file. A file whose header
    was not read counts by its name.
    """
    tensors = defaultdict[str, set[str]](set)
    for tensor, file in weight_map.items():
        tensors[str(file)].add(tensor)
    spare = [shard for shard in weights.shards if shard.entry.name not in tensors]
    whole = [
        shard
        for shard in spare
        if shard.header and not shard.cut_off and not is_partial(shard.entry.name)
    ]
    held = {frozenset(_tensor_names(shard)): shard.entry.name for shard in reversed(whole)}
    read = {shard.entry.name for shard in spare if shard.header}
    marked = {target: name for target, name in _marked(weights).items() if name not in read}
    found = {
        target: held.get(frozenset(tensors[target])) or marked.get(target) for target in missing
    }
    return {target: source for target, source in found.items() if source}


def _marked(weights: Weights) -> dict[str, str]:
    """The files with the mark of a copy in their names, such as "(1)", by the name without it."""
    cut_off = {shard.entry.name for shard in weights.shards if shard.cut_off}
    names = [entry.name for entry in weights.files if entry.size_bytes and not entry.problem]
    return {
        COPY.sub("", name): name
        for name in reversed(names)
        if COPY.search(name) and name not in cut_off
    }


def _tensor_names(shard: Shard) -> Iterator[str]:
    return (tensor.name for tensor in shard.header.tensors) if shard.header else iter(())


def _same(source: str, target: str) -> str:
    if COPY.sub("", source) == target:
        return msg(
            "{source} has the name of {target} with the mark of a copy",
            source=shown(source),
            target=shown(target),
        )
    return msg("{source} has the tensors of {target}", source=shown(source), target=shown(target))


def _renaming(renamed: Mapping[str, str], missing: list[str]) -> str:
    """How to give files the names of missing ones; the others have to be downloaded."""
    if not renamed or not all(map(str.isprintable, (*renamed, *renamed.values()))):
        return msg("download the missing files")
    others = [name for name in missing if name not in renamed]
    moves = " && ".join(
        f"mv -- {_quoted(source)} {_quoted(target)}" for target, source in renamed.items()
    )
    words = msg("rename the files")
    if others:
        words = msg("rename the files, and download {others}", others=some(others))
    return Commanded(words, moves)


def _quoted(name: str) -> str:
    """The name in single quotes, also where the shell needs none."""
    return "'" + name.replace("'", "'\\''") + "'"


def _tensors(weights: Weights, index: Document, weight_map: dict[str, str]) -> Iterator[Finding]:
    shards = {shard.entry.name: shard.header.tensors for shard in weights.shards if shard.header}
    held = {file: {tensor.name for tensor in tensors} for file, tensors in shards.items()}
    absent = [name for name, file in weight_map.items() if file in held and name not in held[file]]
    if absent:
        first, name = absent[0], shown(index.name)
        expected = msg("each tensor in the file that {name} names for it", name=name)
        seen = msg(
            "{absent} are not there, {name} not in {weight_map} for one",
            absent=len(absent),
            name=repr(shown(first, 80)),
            weight_map=shown(weight_map[first]),
        )
        fix = msg("index and shards are of different downloads: download all of them again")
        yield At(name).fail(expected=expected, seen=seen, fix=fix)


def _beside(weights: Weights, named: set[str]) -> Iterator[Finding]:
    """Safetensors that the index does not name; vLLM does not load them."""
    others = [e.name for e in of_format(weights.files, Format.SAFETENSORS) if e.name not in named]
    stems = {found["stem"] for name in named if (found := SHARD.match(name))}
    mixed = [name for name in others if (found := SHARD.match(name)) and found["stem"] in stems]
    if mixed:
        expected = msg("only the shards that {main_index} names", main_index=MAIN_INDEX)
        seen = msg(
            "shards of another set beside them, which are not loaded: {mixed}", mixed=some(mixed)
        )
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("delete the set that does not belong to the model"),
        )
    elif others:
        yield note(
            msg(
                "{main_index} does not name {others}: vLLM does not load them",
                main_index=MAIN_INDEX,
                others=some(others),
            )
        )


def _numbered(weights: Weights) -> Iterator[Finding]:
    """Gaps in numbered shards that no index names."""
    indexed = {
        str(name) for index in weights.indices for name in child(index.value, "weight_map").values()
    }
    numbered = of_format(weights.files, Format.SAFETENSORS, Format.PICKLE, Format.GGUF)
    single = [entry.name for entry in numbered if not entry.problem and not COPY.search(entry.name)]
    names = [name for name in single if name not in indexed]
    main = any(index.name == MAIN_INDEX for index in weights.indices)
    marked = _marked(weights)
    for pattern, missing in missing_numbers(names).items():
        if main and pattern.endswith(".safetensors"):
            continue
        seen = msg("{count} are missing: {examples}", count=len(missing), examples=some(missing))
        renamed = {target: marked[target] for target in missing if target in marked}
        copies = [_same(source, target) for target, source in renamed.items()]
        seen = joined("; ", (seen, *copies[:MAX_RENAMED]))
        fix = _renaming(renamed, missing)
        yield fail(expected=msg("all of {pattern}", pattern=shown(pattern)), seen=seen, fix=fix)


def _remains(weights: Weights) -> Iterator[Finding]:
    remains = [entry for entry in weights.files if is_partial(entry.name)]
    names = [entry.name for entry in remains if entry.name.lower().endswith(".aria2")]
    running = [name for name in names if weights.folder.has(unfinished_target(name))]
    if running:
        said, fix = some(running), msg("run aria2c again until the .aria2 file is gone")
        seen = msg(
            "{running}: aria2 has not finished the file of that name, though it may have its full size",
            running=said,
        )
        yield At(shown(running[0])).fail(expected=msg("finished downloads"), seen=seen, fix=fix)
    others = [entry for entry in remains if entry.name not in running]
    if others:
        size = gigabytes(sum(entry.size_bytes for entry in others))
        expected = msg("no remains of interrupted downloads")
        seen = msg(
            "{name} ({size}, which count towards the limit)",
            name=some([entry.name for entry in others]),
            size=size,
        )
        yield warn(expected=expected, seen=seen, fix=msg("finish the download, then delete them"))
