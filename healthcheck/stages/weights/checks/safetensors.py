"""weights/safetensors: the headers of the safetensors files are sound."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, NotApplicable, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import Shard, Weights, WeightsFacts, check
from healthcheck.text.messages import msg

MAX_REPORTED = 10


@check(
    "weights/safetensors",
    msg("The safetensors files are sound"),
    why=msg("The loader refuses a file whose header does not describe it exactly."),
    requires=("weights/present",),
)
def safetensors(facts: WeightsFacts) -> Findings:
    """A safetensors file is eight bytes of length, a JSON header of that length, and the tensors. The header gives
    each tensor's dtype, shape and range of bytes. The ranges must match dtype and shape, and fill the file without
    holes, overlaps or trailing bytes. The header has at most 100,000,000 bytes.

    Only the headers are read. An impossible length usually means that the file is something else: a web page with
    an error message, a zip file, a Git LFS pointer.

    To repair: download the file again, or write it again with safetensors.torch.save_file.

    Example:
    Two times three float16 values are 12 bytes, not 10:

    ```json header of model.safetensors
    {"lm_head.weight": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 10]}}
    ```

    Use instead:

    ```json header of model.safetensors
    {"lm_head.weight": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}}
    ```
    """
    shards = facts.weights.shards
    if not shards:
        raise NotApplicable(msg("there are no safetensors files"))
    faulty = [shard for shard in shards if shard.error or (shard.header and shard.header.faults)]
    here = (shard for shard in faulty if shard.entry.size_bytes and not shard.entry.problem)
    broken = [shard for shard in here if shard.entry.name not in facts.weights.pointers]
    loaded = {shard.entry.name for shard in facts.weights.loaded}
    for shard in broken[:MAX_REPORTED]:
        yield _fault(shard, loaded)
    if len(broken) > MAX_REPORTED:
        yield note(msg("{broken} more files are broken", broken=len(broken) - MAX_REPORTED))
    yield from _twice(facts.weights)


def _fault(shard: Shard, loaded: set[str]) -> Finding:
    faults = shard.header.faults if shard.header else (shard.error,)
    name = shown(shard.entry.name)
    more = msg(" (and {faults} more faults)", faults=len(faults) - 1) if len(faults) > 1 else ""
    seen = msg("{name} {faults}{more}", name=name, faults=faults[0], more=more)
    if shard.unread:
        report, expected = warn, msg("a header that can be read")
        fix = msg("split the file into shards, as save_pretrained does")
    elif shard.entry.name not in loaded:
        report, expected = warn, msg("sound files only")
        seen = msg("{seen}; the index does not name it, so it is not loaded", seen=seen)
        fix = msg("delete it, or repair the index if it is needed")
    else:
        report, expected = fail, msg("a header that describes the file exactly")
        fix = msg("download the file again, or write it again with safetensors.torch.save_file")
    return report(expected=expected, seen=seen, fix=fix, where=name)


def _twice(weights: Weights) -> Iterator[Finding]:
    """Warn about a tensor that is in two files without an index."""
    if any(index.name.endswith(".safetensors.index.json") for index in weights.indices):
        return
    holders: dict[str, str] = {}
    for shard in weights.shards:
        for tensor in shard.header.tensors if shard.header else ():
            other = holders.setdefault(tensor.name, shard.entry.name)
            if other != shard.entry.name:
                expected, fix = (
                    msg("each tensor in one file"),
                    msg("delete the file that is not meant"),
                )
                seen = msg(
                    "{name} is in {first} and in {second}, and no index says which one is meant",
                    name=repr(shown(tensor.name, 80)),
                    first=shown(other),
                    second=shown(shard.entry.name),
                )
                yield warn(expected=expected, seen=seen, fix=fix)
                return
