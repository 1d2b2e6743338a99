"""weights/pickle: a pickle can run code while it is loaded."""

from __future__ import annotations

from healthcheck.core.check import At, Findings, NotApplicable, note
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.inventory import Format
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.words import gigabytes, some
from healthcheck.text.messages import msg


@check(
    "weights/pickle",
    msg("No weights are pickles"),
    why=msg("A pickle is a program: loading an untrusted one runs its code."),
    requires=("weights/present",),
)
def pickle(facts: WeightsFacts) -> Findings:
    """Files that torch.save wrote (.bin, .pt, .pth, .ckpt) hold a pickle, and unpickling calls whatever the pickle
    names. Engines load them with restrictions and refuse unknown names; they also load slower than safetensors,
    and need the memory twice. The kit never unpickles: it reads the names that a pickle would call.

    Beside safetensors, pickles are not loaded; they only count towards the size limit.

    To repair: write the weights again with model.save_pretrained(folder), which writes safetensors today, and
    delete the pickles.

    Example:
    ```text files
    config.json
    pytorch_model.bin
    ```

    Use instead:

    ```text files
    config.json
    model.safetensors
    ```
    """
    pickles = facts.weights.pickles
    if not pickles:
        raise NotApplicable(msg("there are no pickles"))
    names = [pickled.entry.name for pickled in pickles]
    size = gigabytes(sum(pickled.entry.size_bytes for pickled in pickles))
    for pickled in pickles:
        if pickled.dangerous:
            name = shown(pickled.entry.name)
            seen = msg(
                "{name} calls {dangerous} when it is loaded",
                name=name,
                dangerous=", ".join(pickled.dangerous[:3]),
            )
            fix = msg(
                "do not load this file; take the weights from a source that you trust, as safetensors"
            )
            yield At(name).fail(expected=msg("a pickle of tensors"), seen=seen, fix=fix)
    said = some(names)
    if Format.SAFETENSORS in facts.weights.formats():
        beside = msg(
            "{names} ({size}) beside safetensors: not loaded, but counted; they can be deleted",
            names=said,
            size=size,
        )
        yield note(beside)
        return
    called = {call for pickled in pickles for call in pickled.calls}
    calls = sorted(call for call in called if not call.startswith(("torch.", "collections.")))
    also = msg("; beyond tensors it names {calls}", calls=some(calls, 3)) if calls else ""
    seen = msg("pickles only: {names} ({size}){also}", names=said, size=size, also=also)
    fix = msg("write them again as safetensors: model.save_pretrained(folder)")
    yield At(shown(names[0])).warn(expected="safetensors", seen=seen, fix=fix)
